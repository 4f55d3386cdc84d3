"""What the report answers: one file per question, and one line here.

questions/NAME.py holds QUESTION and answer(results). An answer is a list of sentences, tables,
figures and pictures in the order in which they are read, and published numbers with ours.
page.py lays out any list of questions, a page for each section; NAME is the question's anchor.

Conventions:
- Whatever the store lacks, a question answers, if only by a `missing` sentence that says what.
- Texts are plain text, which the page escapes, or markupsafe's Markup; labels.py makes it.
- Numbers are kept next to their texts (Cell.value, Figure.data, Published), so that they can be
  exported and none is read back from a text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Literal, get_args

from markupsafe import Markup

from tasks.citations import PAPERS
from tasks.report.intervals import Interval
from tasks.words import number

if TYPE_CHECKING:
    import pandas as pd

    from tasks.report.figures.axes import Drawing
    from tasks.report.results import Results

# In the order of the page.
QUESTIONS = (
    "run",
    "failures",
    "hours",
    "best",
    "scores",
    "distributions",
    "factors",
    "udr",
    "udr_and_score",
    "ranking",
    "per_informative",
    "latents",
    "quality",
    "udr_versions",
    "fairness",
    "fewer_comparisons",
    "strengths",
    "independence",
    "agreement",
    "label_noise",
    "what_decides",
    "compare_methods",
    "unlabelled_choice",
    "which_ranking",
    "dynamics",
    "joint_embeddings",
    "dynamics_and_scores",
    "dynamics_and_udr",
    "across_data",
    "model_selection",
    "downstream",
    "label_savings",
    "clustering",
    "kinds_of_models",
    "importances",
    "codes_and_factors",
    "traversals_by_factor",
    "zero_shot",
    "curves",
    "pictures",
    "traversals_by_udr",
    "examples",
    "prior_samples",
    "papers",
    "variance_explained",
    "metrics_agree",
    "udr_with_mig",
    "transfer",
)
# Only where they are asked for: they need no store, and take some time.
ON_REQUEST = ("theorem",)


@dataclass(frozen=True)
class Question:
    """A heading of the page, and the papers that ask the same."""

    title: str
    menu: str = ""  # its entry in the page's menu, if it opens a section
    section: str = ""  # the question whose section it is in; empty: it has its own
    papers: tuple[tuple[str, str], ...] = ()  # (key of tasks.citations.PAPERS, place in it)
    needs_factors: bool = False  # left out, with its section, where pictures have none
    needs_real_factors: bool = (
        False  # likewise, where no data set has factors that are real numbers
    )

    @property
    def place(self) -> str:
        """`Duan et al. 2020, Table 2`."""
        return "; ".join(f"{PAPERS[key].short}, {place}" for key, place in self.papers)


@dataclass(frozen=True)
class Sentence:
    """One or more sentences. A finding holds the numbers that answer the question."""

    text: str
    kind: Literal["finding", "about", "note", "missing"] = "about"


@dataclass(frozen=True)
class Heading:
    """The head of a table's column."""

    text: str
    numeric: bool = False
    style: str = ""


@dataclass(frozen=True)
class Cell:
    text: str
    value: float | str | None = None  # by which rows are sorted, and what is exported
    below: tuple[str, ...] = ()  # further lines, smaller
    style: str = ""  # classes of report.css
    mark: str = ""  # an SVG that is drawn next to the text


@dataclass(frozen=True)
class Row:
    """A row of a table, or words across its whole width."""

    cells: tuple[Cell, ...] = ()
    style: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)  # what the filters choose by
    across: str = ""


@dataclass(frozen=True)
class Filter:
    """A choice above a table that hides the rows with another value of a key."""

    key: str
    title: str
    options: tuple[tuple[str, str], ...]  # value, text


@dataclass(frozen=True)
class FilterBar:
    """A choice above several tables, by their ids, that hides rows of all of them."""

    filters: tuple[Filter, ...]
    tables: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    headings: tuple[Heading, ...]
    rows: tuple[Row, ...]
    id: str = ""  # needed for filters
    style: str = ""
    caption: str = ""
    row_headings: bool = False  # the first cell of each row is its heading
    sortable: bool = False
    filters: tuple[Filter, ...] = ()
    summary: str = ""  # with a summary the table can be folded
    open: bool = True


@dataclass(frozen=True)
class Figure:
    """A figure with words for those who cannot see it, and the numbers that it shows.

    coverage.py counts the models behind it, out of all that have the same data set and source, or
    the same of the columns that `among` names.
    """

    title: str
    description: str
    drawing: Drawing
    data: pd.DataFrame = field(compare=False)
    subtitle: str = ""
    # ids of the models behind it; None: those of the data that have all its numbers
    models: pd.Series[str] | None = field(default=None, compare=False)
    among: tuple[str, ...] = ("data", "source")


@dataclass(frozen=True)
class FigureGroup:
    """Figures under one heading that can be folded, mostly those of a data set."""

    title: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Figures:
    groups: tuple[FigureGroup, ...]
    legend: tuple[tuple[Markup, str], ...] = ()  # marker, meaning


@dataclass(frozen=True)
class Picture:
    """A picture of the store, as the report holds it, and the latent of each of its rows with its
    KL, which methods without a posterior have not."""

    name: str  # of its file below report/pictures
    content: bytes = field(repr=False)
    width: int
    height: int
    rows: tuple[tuple[int, float | None], ...]
    columns: int = 0  # of the grid that a traversal is; each row is played over them


@dataclass(frozen=True)
class Portrait:
    """One model: a heading, facts, its traversal, its reconstructions, also of pictures that were
    left out of the training, and its samples of the prior."""

    heading: str
    facts: tuple[tuple[str, str], ...]
    caption: str  # of the traversal; empty if there is to be none
    description: str  # of the traversal
    traversal: Picture | None
    reconstruction: Picture | None
    informative: float  # latents with a KL of at most this are greyed
    samples: Picture | None = None
    zero_shot: Picture | None = None
    captured: Mapping[int, str] | None = None  # by latent, in place of its KL; others are greyed

    @property
    def rows_hold(self) -> str:
        """What `rows` says of each row of the traversal."""
        if self.captured is not None:
            return "Latent and factor"
        has_kl = any(kl is not None for _, kl in self.traversal.rows) if self.traversal else False
        return "Latent and KL" if has_kl else "Latent"

    @property
    def rows(self) -> list[tuple[int, str, bool]]:
        """Of the traversal: the latent, the words next to it, whether it is greyed."""
        found = []
        for latent, kl in self.traversal.rows if self.traversal else ():
            if self.captured is not None:
                text = self.captured.get(latent, "")
                found.append((latent, text, not text))
            elif kl is None:
                found.append((latent, "", False))
            else:
                found.append((latent, number(kl, 2), kl <= self.informative))
        return found


@dataclass(frozen=True)
class PortraitGroup:
    title: str
    portraits: tuple[Portrait, ...]
    about: str = ""
    columns: int = 2  # portraits in a row of a wide page


@dataclass(frozen=True)
class Portraits:
    groups: tuple[PortraitGroup, ...]


# How a study's models compare with a paper's, the gravest first.
GridKind = Literal[
    "not computed",
    "look-alike data",
    "other architecture",
    "fewer steps",
    "other settings",
    "partial grid",
    "full",
]
GRIDS: tuple[GridKind, ...] = get_args(GridKind)


@dataclass(frozen=True)
class Facts:
    """Terms, and what is to say of each."""

    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Sheet:
    """A picture of pictures, as they are in a data set."""

    picture: Picture
    description: str


@dataclass(frozen=True)
class Published:
    """A number of a paper, ours of the same statistic, and why the two are not comparable.

    comparable.with_grid fills in `grid` and `why_not`. Intervals are of 95%.
    """

    what: str
    ours: float | None
    published: float | None  # None: a whole table, which is not computed
    place: str  # paper and table
    n: int | None = None  # models behind ours
    why_not: str = ""  # empty: they are comparable
    percent: bool = False
    digits: int = 2
    deviation: float | None = None  # of the published number, where the paper gives one
    published_n: int | None = None  # models behind the published number
    interval: Interval | None = None  # of ours
    published_interval: Interval | None = None  # where the paper's models allow one
    grid: GridKind = "full"


Content = Sentence | FilterBar | Table | Figures | Portraits | Facts | Sheet


@dataclass(frozen=True)
class Answer:
    """What a question comes to, in the order in which it is read."""

    content: tuple[Content, ...]
    published: tuple[Published, ...] = ()

    @property
    def is_missing(self) -> bool:
        """Whether it only says what is missing."""
        return all(isinstance(c, Sentence) and c.kind == "missing" for c in self.content)


def missing(text: str) -> Answer:
    """The answer of a question that cannot be answered, and why."""
    return Answer((Sentence(text, "missing"),))


def load(name: str) -> tuple[Question, Callable[[Results], Answer]]:
    """The question, and the function that answers it."""
    module = import_module(f"tasks.report.questions.{name}")
    return module.QUESTION, module.answer
