"""Scores of a representation: functions of arrays, one file per metric.

Adding a metric is one file, metrics/NAME.py with NEEDS and evaluate(), and one line in METRICS. A
similarity likewise: metrics/udr/NAME.py and one line in SIMILARITIES. Another package adds a metric
by an entry point (CONTRIBUTING.md, "In a package of your own").

This module imports nothing heavy, so that a command line may list the metrics without waiting for
numpy.
"""

import warnings
from dataclasses import dataclass
from importlib.metadata import entry_points
from math import inf
from typing import Literal

INFORMATIVE_KL = 0.01  # nats; Duan et al. 2020, equation 3: latents with more are informative
HEADLINE = "score"  # the part that holds a metric's one number of a model, without a factor


# Added to the name of a part: its deviation over repeated draws (n - 1).
DEVIATION = " deviation"
# Added to "score", and followed by the name of a regime: the headline where metrics are told of
# factors with noise (tasks/study/label_noise.py).
LABEL_NOISE = " with label noise "


def is_headline(part: str, factor: object) -> bool:
    return part == HEADLINE and factor is None


Better = Literal["more", "less", "neither"]
Kind = Literal["disentanglement", "task", "unsupervised"]


@dataclass(frozen=True)
class Metric:
    """The facts of a metric; `better` is which values of its headline are good, and `bounds` are
    the lowest and the highest possible."""

    title: str
    paper: str  # a key of tasks.citations.PAPERS, or "" without a paper
    better: Better
    kind: Kind = "disentanglement"
    as_in: tuple[str, ...] = ()  # further papers whose definition is used, keys of PAPERS
    protocol: int = 1  # of its rows: raised when a change makes its numbers incomparable
    bounds: tuple[float, float] = (0, 1)
    data: tuple[str, ...] = ()  # the only data sets whose models have it; without any, all
    cost: float = 0.1  # core-seconds for 10,000 codes of 10 latents and 5 factors: bars, plans


REVIEW = ("carbonneau-2022",)

METRICS: dict[str, Metric] = {
    "beta_vae": Metric("BetaVAE score", "higgins-2017", better="more", as_in=REVIEW, cost=1),
    "factor_vae": Metric("FactorVAE score", "kim-2018", better="more", as_in=REVIEW),
    "rf_vae": Metric("RF-VAE score", "kim-2019", better="more", as_in=REVIEW),
    "irs": Metric("IRS", "suter-2019", better="more", as_in=REVIEW, protocol=2),
    "dci": Metric("DCI disentanglement", "eastwood-2018", better="more", protocol=2, cost=9),
    "dci_lasso": Metric("DCI, lasso", "eastwood-2018", better="more", as_in=REVIEW, cost=3),
    "dci_forest": Metric(
        "DCI, random forest", "eastwood-2018", better="more", as_in=REVIEW, cost=6
    ),
    "explicitness": Metric("Explicitness", "ridgeway-2018", better="more", as_in=REVIEW, cost=6),
    "sap": Metric("SAP", "kumar-2018", better="more", as_in=REVIEW, cost=0.6),
    "mig": Metric("MIG", "chen-2018", better="more"),
    "mig_sup": Metric("MIG-sup", "li-2020", better="more", as_in=REVIEW),
    "jemmig": Metric("JEMMIG", "do-2020", better="less", as_in=REVIEW, bounds=(0, inf)),
    "modularity": Metric("Modularity", "ridgeway-2018", better="more", as_in=REVIEW),
    "dcimig": Metric("DCIMIG", "sepliarskaia-2020", better="more", as_in=REVIEW),
    "downstream_logistic": Metric(
        "Downstream, logistic", "locatello-2019", better="more", kind="task", cost=40
    ),
    "downstream_trees": Metric(
        "Downstream, trees", "locatello-2019", better="more", kind="task", protocol=2, cost=1
    ),
    "fairness": Metric(
        "Unfairness",
        "locatello-2019b",
        better="less",
        kind="task",
        as_in=("duan-2020", "holtz-2022"),
        protocol=2,
        cost=1,
    ),
    "clustering": Metric(
        "Steps to learn clustering",
        "watters-2019",
        better="less",
        kind="task",
        as_in=("duan-2020", "holtz-2022"),
        bounds=(0, inf),
        data=("scene",),
        cost=300,
    ),
    "unsupervised": Metric(
        "Total correlation",
        "locatello-2019",
        better="neither",
        kind="unsupervised",
        bounds=(0, inf),
    ),
}


@dataclass(frozen=True)
class Similarity:
    """How two models are compared: metrics/udr/NAME.py."""

    title: str
    paper: str
    ranking: str = "UDR"  # what a ranking by it is called
    # a model's score is the mean of both directions of its pairs, not the median of one
    symmetric: bool = False
    as_in: tuple[str, ...] = ()  # further papers whose definition is used, keys of PAPERS


SIMILARITIES: dict[str, Similarity] = {
    "lasso": Similarity("lasso", "duan-2020"),
    "lasso_cv": Similarity("lasso_cv", "duan-2020"),
    "spearman": Similarity("spearman", "duan-2020"),
    "centrality": Similarity("centrality", "lin-2020", ranking="ModelCentrality", symmetric=True),
    "cka": Similarity("linear", "kornblith-2019", ranking="CKA", symmetric=True),
    "cca": Similarity(
        "mean of squares", "kornblith-2019", ranking="CCA", symmetric=True, as_in=("raghu-2017",)
    ),
}


BUILT_IN = tuple(METRICS)
OF_ALL_DATA = tuple(name for name, facts in METRICS.items() if not facts.data)
MODULES = {name: f"metrics.{name}" for name in METRICS}
PLUG_INS = "tolstoy.metrics"  # group of entry points: a metric's name, and a module with METRIC


def add_plug_ins() -> None:
    """Add the metrics of other packages. One that cannot be used is left out, with a warning."""
    for point in entry_points(group=PLUG_INS):
        try:
            facts = point.load().METRIC
            if point.name in METRICS:
                raise ValueError("there is a metric of this name")
            if not isinstance(facts, Metric):
                raise TypeError("its METRIC is no metrics.Metric")
        except Exception as error:
            text = f"metric {point.name} ({point.value}) is left out: {error!r}"
            warnings.warn(text, stacklevel=2)
        else:
            METRICS[point.name], MODULES[point.name] = facts, point.module


add_plug_ins()
