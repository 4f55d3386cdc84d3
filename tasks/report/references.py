"""Which papers a study stands on: the studies themselves, its methods, metrics and data sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tasks.report.bibliography import PAPERS
from tasks.report.names import data_name, method_name, metric_name


@dataclass(frozen=True)
class Reference:
    """A paper, and what it is cited for."""

    key: str
    text: str
    url: str
    cited_for: tuple[str, ...]


OF_METHOD = {
    "beta_vae": "higgins-2017",
    "factor_vae": "kim-2018",
    "beta_tcvae": "chen-2018",
    "dip_vae_i": "kumar-2018",
    "dip_vae_ii": "kumar-2018",
    "annealed_vae": "burgess-2017",
}
OF_METRIC = {
    "beta_vae": "higgins-2017",
    "factor_vae": "kim-2018",
    "rf_vae": "kim-2019",
    "irs": "suter-2019",
    "dci": "eastwood-2018",
    "dci_lasso": "eastwood-2018",
    "dci_forest": "eastwood-2018",
    "explicitness": "ridgeway-2018",
    "sap": "kumar-2018",
    "mig": "chen-2018",
    "mig_sup": "li-2020",
    "jemmig": "do-2020",
    "modularity": "ridgeway-2018",
    "dcimig": "sepliarskaia-2020",
    "downstream_logistic": "locatello-2019",
    "downstream_trees": "locatello-2019",
    "fairness": "locatello-2019b",
    "unsupervised": "locatello-2019",
}
OF_DATA = {
    "dsprites": ("matthey-2017",),
    "color_dsprites": ("matthey-2017", "locatello-2019"),
    "noisy_dsprites": ("matthey-2017", "locatello-2019"),
    "scream_dsprites": ("matthey-2017", "locatello-2019"),
    "smallnorb": ("lecun-2004",),
    "cars3d": ("reed-2015",),
    "shapes3d": ("burgess-kim-2018",),
    "mpi3d_toy": ("gondal-2019",),
    "mpi3d_realistic": ("gondal-2019",),
    "mpi3d_real": ("gondal-2019",),
    "teapots": ("eastwood-2018",),
}
OF_SIMILARITY = {"lasso": "duan-2020", "lasso_cv": "duan-2020", "spearman": "duan-2020"}


def references(
    methods: Iterable[str],
    metrics: Iterable[str],
    data: Iterable[str],
    ranked: bool,
    similarities: Iterable[str] = (),
) -> Sequence[Reference]:
    """The papers of exactly what is used, each once with all that it is cited for."""
    uses = [("locatello-2019", "the study's design")]
    uses += [("duan-2020", "UDR")] if ranked else []
    uses += [(OF_METHOD[m], method_name(m)) for m in methods if m in OF_METHOD]
    uses += [(OF_METRIC[m], metric_name(m)) for m in metrics if m in OF_METRIC]
    uses += [(key, data_name(d)) for d in data for key in OF_DATA.get(d, ())]
    uses += [(OF_SIMILARITY[s], f"UDR ({s})") for s in similarities if s in OF_SIMILARITY]
    found: dict[str, list[str]] = {}
    for key, what in uses:
        found.setdefault(key, []).append(what)
    return [
        Reference(key, PAPERS[key].text, PAPERS[key].url, tuple(dict.fromkeys(what)))
        for key, what in found.items()
    ]
