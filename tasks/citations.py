"""The papers, and which of them a study uses: one source for the report and for BibTeX.

Authors, titles, years, venues and pages are as the bibliographies of the two studies and of the
reviews that followed them have them; a note marks what none of them has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from data import DATA_SETS
from metrics import METRICS, SIMILARITIES
from models import METHODS

VENUES = {
    "CVPR": "IEEE Conference on Computer Vision and Pattern Recognition",
    "ICLR": "International Conference on Learning Representations",
    "ICML": "International Conference on Machine Learning",
    "ICML workshop": "Workshop on Topology, Algebra, and Geometry in Machine Learning at the 39th "
    "International Conference on Machine Learning",
    "NeurIPS": "Advances in Neural Information Processing Systems",
    "NeurIPS workshop": "Workshop on Learning Disentangled Representations at the 31st Conference "
    "on Neural Information Processing Systems",
}
AS_LATEX = {
    "β": r"{$\beta$}",
    "é": r"{\'e}",
    "ï": r"{\"\i}",
    "ö": r"{\"o}",
    "ä": r"{\"a}",
    "–": "--",
}


@dataclass(frozen=True)
class Paper:
    """One paper. Braces in a title keep capitals, as in BibTeX."""

    authors: str  # Last, First and Last, First
    year: int
    title: str
    url: str
    venue: str = ""
    pages: str = ""
    note: str = ""

    @property
    def short(self) -> str:
        """For a sentence: Kim and Mnih 2018."""
        return f"{_short(self.authors)} {self.year}"

    @property
    def text(self) -> str:
        """For a list: Kim and Mnih 2018. Disentangling by factorising. ICML."""
        title = self.title.replace("{", "").replace("}", "")
        venue = f" {self.venue}." if self.venue else ""
        return f"{self.short}. {title}.{venue}"

    def bibtex(self, key: str) -> str:
        fields = {
            "author": self.authors,
            "title": self.title,
            "booktitle": VENUES.get(self.venue, self.venue),
            "pages": self.pages,
            "year": str(self.year),
            "url": self.url,
            "note": self.note,
        }
        kind = "inproceedings" if self.venue else "misc"
        lines = [f"  {name} = {{{_latex(text)}}}," for name, text in fields.items() if text]
        return "\n".join([f"@{kind}{{{key},", *lines, "}"])


def _short(authors: str) -> str:
    names = [author.partition(",")[0] for author in authors.split(" and ")]
    if len(names) > 3 or names[-1] == "others":
        return f"{names[0]} et al."
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[:-1] else names)


def _latex(text: str) -> str:
    for letter, written in AS_LATEX.items():
        text = text.replace(letter, written)
    return text


PAPERS = {
    "locatello-2019": Paper(
        "Locatello, Francesco and Bauer, Stefan and Lucic, Mario and Rätsch, Gunnar and "
        "Gelly, Sylvain and Schölkopf, Bernhard and Bachem, Olivier",
        2019,
        "Challenging common assumptions in the unsupervised learning of disentangled "
        "representations",
        "https://arxiv.org/abs/1811.12359",
        "ICML",
        "4114–4124",
    ),
    "duan-2020": Paper(
        "Duan, Sunny and Matthey, Loic and Saraiva, Andre and Watters, Nick and Burgess, Chris "
        "and Lerchner, Alexander and Higgins, Irina",
        2020,
        "Unsupervised model selection for variational disentangled representation learning",
        "https://arxiv.org/abs/1905.12614",
        "ICLR",
    ),
    "higgins-2017": Paper(
        "Higgins, Irina and Matthey, Loic and Pal, Arka and Burgess, Christopher and Glorot, "
        "Xavier and Botvinick, Matthew and Mohamed, Shakir and Lerchner, Alexander",
        2017,
        "{β-VAE}: learning basic visual concepts with a constrained variational framework",
        "https://openreview.net/forum?id=Sy2fzU9gl",
        "ICLR",
    ),
    "kornblith-2019": Paper(
        "Kornblith, Simon and Norouzi, Mohammad and Lee, Honglak and Hinton, Geoffrey",
        2019,
        "Similarity of neural network representations revisited",
        "https://arxiv.org/abs/1905.00414",
        "ICML",
        "3519–3529",
    ),
    "raghu-2017": Paper(
        "Raghu, Maithra and Gilmer, Justin and Yosinski, Jason and Sohl-Dickstein, Jascha",
        2017,
        "{SVCCA}: singular vector canonical correlation analysis for deep learning dynamics and "
        "interpretability",
        "https://arxiv.org/abs/1706.05806",
        "NeurIPS",
    ),
    "lin-2020": Paper(
        "Lin, Zinan and Thekumparampil, Kiran and Fanti, Giulia and Oh, Sewoong",
        2020,
        "{InfoGAN-CR} and {ModelCentrality}: self-supervised model training and selection for "
        "disentangling {GANs}",
        "https://arxiv.org/abs/1906.06034",
        "ICML",
        "6127–6139",
    ),
    "chen-2016": Paper(
        "Chen, Xi and Duan, Yan and Houthooft, Rein and Schulman, John and Sutskever, Ilya and "
        "Abbeel, Pieter",
        2016,
        "{InfoGAN}: interpretable representation learning by information maximizing generative "
        "adversarial nets",
        "https://arxiv.org/abs/1606.03657",
        "NeurIPS",
        "2172–2180",
    ),
    "kim-2018": Paper(
        "Kim, Hyunjik and Mnih, Andriy",
        2018,
        "Disentangling by factorising",
        "https://arxiv.org/abs/1802.05983",
        "ICML",
        "2649–2658",
    ),
    "burgess-2017": Paper(
        "Burgess, Christopher P. and Higgins, Irina and Pal, Arka and Matthey, Loic and Watters, "
        "Nick and Desjardins, Guillaume and Lerchner, Alexander",
        2017,
        "Understanding disentangling in {β-VAE}",
        "https://arxiv.org/abs/1804.03599",
        "NeurIPS workshop",
    ),
    "chen-2018": Paper(
        "Chen, Ricky T. Q. and Li, Xuechen and Grosse, Roger B. and Duvenaud, David K.",
        2018,
        "Isolating sources of disentanglement in variational autoencoders",
        "https://arxiv.org/abs/1802.04942",
        "NeurIPS",
        "2615–2625",
    ),
    "kumar-2018": Paper(
        "Kumar, Abhishek and Sattigeri, Prasanna and Balakrishnan, Avinash",
        2018,
        "Variational inference of disentangled latent concepts from unlabeled observations",
        "https://arxiv.org/abs/1711.00848",
        "ICLR",
    ),
    "watters-2019": Paper(
        "Watters, Nicholas and Matthey, Loic and Bosnjak, Matko and Burgess, Christopher P. and "
        "Lerchner, Alexander",
        2019,
        "{COBRA}: data-efficient model-based {RL} through unsupervised object discovery and "
        "curiosity-driven exploration",
        "https://arxiv.org/abs/1905.09275",
    ),
    "eastwood-2018": Paper(
        "Eastwood, Cian and Williams, Christopher K. I.",
        2018,
        "A framework for the quantitative evaluation of disentangled representations",
        "https://openreview.net/forum?id=By-7dz-AZ",
        "ICLR",
    ),
    "ridgeway-2018": Paper(
        "Ridgeway, Karl and Mozer, Michael C.",
        2018,
        "Learning deep disentangled embeddings with the {F}-statistic loss",
        "https://arxiv.org/abs/1802.05312",
        "NeurIPS",
        "185–194",
    ),
    "suter-2019": Paper(
        "Suter, Raphael and Miladinovic, Dorde and Schölkopf, Bernhard and Bauer, Stefan",
        2019,
        "Robustly disentangled causal mechanisms: validating deep representations for "
        "interventional robustness",
        "https://arxiv.org/abs/1811.00007",
        "ICML",
    ),
    "kim-2019": Paper(
        "Kim, M. and Wang, Y. and Sahu, P. and Pavlovic, V.",
        2019,
        "Relevance factor {VAE}: learning and identifying disentangled factors",
        "https://arxiv.org/abs/1902.01568",
    ),
    "do-2020": Paper(
        "Do, K. and Tran, T.",
        2020,
        "Theory and evaluation metrics for learning disentangled representations",
        "https://arxiv.org/abs/1908.09961",
        "ICLR",
    ),
    "li-2020": Paper(
        "Li, Z. and Murkute, J. V. and Gyawali, P. K. and Wang, L.",
        2020,
        "Progressive learning and disentanglement of hierarchical representations",
        "https://arxiv.org/abs/2002.10549",
        "ICLR",
    ),
    "sepliarskaia-2020": Paper(
        "Sepliarskaia, A. and Kiseleva, J. and de Rijke, M.",
        2020,
        "Evaluating disentangled representations",
        "https://arxiv.org/abs/1910.05587",
    ),
    "locatello-2019b": Paper(
        "Locatello, Francesco and Abbati, Gabriele and Rainforth, Tom and Bauer, Stefan and "
        "Schölkopf, Bernhard and Bachem, Olivier",
        2019,
        "On the fairness of disentangled representations",
        "https://arxiv.org/abs/1905.13662",
        "NeurIPS",
    ),
    "carbonneau-2022": Paper(
        "Carbonneau, Marc-André and Zaïdi, Julian and Boilard, Jonathan and Gagnon, Ghyslain",
        2022,
        "Measuring disentanglement: a review of metrics",
        "https://arxiv.org/abs/2012.09276",
    ),
    "holtz-2022": Paper(
        "Holtz, Chester and Mishne, Gal and Cloninger, Alexander",
        2022,
        "Evaluating disentanglement in generative models without knowledge of latent factors",
        "https://arxiv.org/abs/2210.01760",
        "ICML workshop",
    ),
    "matthey-2017": Paper(
        "Matthey, Loic and Higgins, Irina and Hassabis, Demis and Lerchner, Alexander",
        2017,
        "{dSprites}: disentanglement testing sprites dataset",
        "https://github.com/google-deepmind/dsprites-dataset",
    ),
    "lecun-2004": Paper(
        "LeCun, Y. and Huang, Fu Jie and Bottou, L.",
        2004,
        "Learning methods for generic object recognition with invariance to pose and lighting",
        "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/",
        "CVPR",
    ),
    "reed-2015": Paper(
        "Reed, S. E. and Zhang, Y. and Zhang, Y. and Lee, H.",
        2015,
        "Deep visual analogy-making",
        "https://papers.nips.cc/paper/5845-deep-visual-analogy-making",
        "NeurIPS",
        "1252–1260",
    ),
    "burgess-kim-2018": Paper(
        "Burgess, Chris and Kim, Hyunjik",
        2018,
        "{3D} Shapes dataset",
        "https://github.com/google-deepmind/3d-shapes",
    ),
    "gondal-2019": Paper(
        "Gondal and others",
        2019,
        "On the transfer of inductive bias from simulation to the real world: a new "
        "disentanglement dataset",
        "https://arxiv.org/abs/1906.03292",
        note="Unchecked: complete authors, title and venue from the address",
    ),
}


@dataclass(frozen=True)
class Reference:
    """A paper, and what it is cited for."""

    key: str
    text: str
    url: str
    cited_for: tuple[str, ...]


def references(
    methods: Iterable[str],
    metrics: Iterable[str],
    data: Iterable[str],
    ranked: bool,
    similarities: Iterable[str] = (),
) -> Sequence[Reference]:
    """The papers of exactly what is used, each once with all that it is cited for."""
    uses = [("locatello-2019", "the study's design")]
    rankings = [SIMILARITIES[name] for name in similarities if name in SIMILARITIES]
    uses += [("duan-2020", "UDR")] if ranked else []
    uses += [(METHODS[name].paper, METHODS[name].title) for name in methods if name in METHODS]
    for name in (name for name in metrics if name in METRICS):
        papers = (METRICS[name].paper, *METRICS[name].as_in)
        uses += [(paper, METRICS[name].title) for paper in papers]
    known = [DATA_SETS[name] for name in data if name in DATA_SETS]  # the others are the user's own
    uses += [(paper, entry.title) for entry in known for paper in entry.papers]
    uses += [
        (paper, f"{by.ranking} ({by.title})") for by in rankings for paper in (by.paper, *by.as_in)
    ]
    cited_for: dict[str, list[str]] = {}
    for key, what in uses:
        if key in PAPERS:  # a method or metric of your own may name none of them
            cited_for.setdefault(key, []).append(what)
    return [
        Reference(key, PAPERS[key].text, PAPERS[key].url, tuple(dict.fromkeys(what)))
        for key, what in cited_for.items()
    ]
