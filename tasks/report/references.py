"""Which papers a study stands on: the studies themselves, its methods, metrics and data sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tasks.report.names import data_name, method_name, metric_name


@dataclass(frozen=True)
class Reference:
    """A paper, and what of the study it is cited for."""

    text: str
    url: str
    cited_for: tuple[str, ...] = ()


PAPERS = {
    "locatello-2019": Reference(
        "Locatello et al. 2019. Challenging common assumptions in the unsupervised learning of "
        "disentangled representations. ICML.",
        "https://arxiv.org/abs/1811.12359",
    ),
    "duan-2020": Reference(
        "Duan et al. 2020. Unsupervised model selection for variational disentangled "
        "representation learning. ICLR.",
        "https://arxiv.org/abs/1905.12614",
    ),
    "higgins-2017": Reference(
        "Higgins et al. 2017. β-VAE: learning basic visual concepts with a constrained "
        "variational framework. ICLR.",
        "https://openreview.net/forum?id=Sy2fzU9gl",
    ),
    "kim-2018": Reference(
        "Kim and Mnih 2018. Disentangling by factorising. ICML.",
        "https://arxiv.org/abs/1802.05983",
    ),
    "burgess-2018": Reference(
        "Burgess et al. 2018. Understanding disentangling in β-VAE.",
        "https://arxiv.org/abs/1804.03599",
    ),
    "chen-2018": Reference(
        "Chen et al. 2018. Isolating sources of disentanglement in variational autoencoders. "
        "NeurIPS.",
        "https://arxiv.org/abs/1802.04942",
    ),
    "kumar-2018": Reference(
        "Kumar, Sattigeri and Balakrishnan 2018. Variational inference of disentangled latent "
        "concepts from unlabeled observations. ICLR.",
        "https://arxiv.org/abs/1711.00848",
    ),
    "eastwood-2018": Reference(
        "Eastwood and Williams 2018. A framework for the quantitative evaluation of disentangled "
        "representations. ICLR.",
        "https://openreview.net/forum?id=By-7dz-AZ",
    ),
    "ridgeway-2018": Reference(
        "Ridgeway and Mozer 2018. Learning deep disentangled embeddings with the F-statistic "
        "loss. NeurIPS.",
        "https://arxiv.org/abs/1802.05312",
    ),
    "suter-2019": Reference(
        "Suter et al. 2019. Robustly disentangled causal mechanisms. ICML.",
        "https://arxiv.org/abs/1811.00007",
    ),
    "kim-2019": Reference(
        "Kim et al. 2019. Relevance factor VAE: learning and identifying disentangled factors.",
        "https://arxiv.org/abs/1902.01568",
    ),
    "do-2020": Reference(
        "Do and Tran 2020. Theory and evaluation metrics for learning disentangled "
        "representations. ICLR.",
        "https://arxiv.org/abs/1908.09961",
    ),
    "li-2020": Reference(
        "Li et al. 2020. Progressive learning and disentanglement of hierarchical "
        "representations. ICLR.",
        "https://arxiv.org/abs/2002.10549",
    ),
    "sepliarskaia-2019": Reference(
        "Sepliarskaia, Kiseleva and de Rijke 2019. How to not measure disentanglement.",
        "https://arxiv.org/abs/1910.05587",
    ),
    "locatello-2019b": Reference(
        "Locatello et al. 2019. On the fairness of disentangled representations. NeurIPS.",
        "https://arxiv.org/abs/1905.13662",
    ),
    "matthey-2017": Reference(
        "Matthey et al. 2017. dSprites: disentanglement testing sprites dataset.",
        "https://github.com/google-deepmind/dsprites-dataset",
    ),
    "lecun-2004": Reference(
        "LeCun, Huang and Bottou 2004. Learning methods for generic object recognition with "
        "invariance to pose and lighting. CVPR.",
        "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/",
    ),
    "reed-2015": Reference(
        "Reed et al. 2015. Deep visual analogy-making. NeurIPS.",
        "https://papers.nips.cc/paper/5845-deep-visual-analogy-making",
    ),
    "burgess-kim-2018": Reference(
        "Burgess and Kim 2018. 3D Shapes dataset.",
        "https://github.com/google-deepmind/3d-shapes",
    ),
    "gondal-2019": Reference(
        "Gondal et al. 2019. On the transfer of inductive bias from simulation to the real "
        "world: a new disentanglement dataset. NeurIPS.",
        "https://arxiv.org/abs/1906.03292",
    ),
}
OF_METHOD = {
    "beta_vae": "higgins-2017",
    "factor_vae": "kim-2018",
    "beta_tcvae": "chen-2018",
    "dip_vae_i": "kumar-2018",
    "dip_vae_ii": "kumar-2018",
    "annealed_vae": "burgess-2018",
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
    "dcimig": "sepliarskaia-2019",
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


def references(
    methods: Iterable[str], metrics: Iterable[str], data: Iterable[str], ranked: bool
) -> Sequence[Reference]:
    """The papers of exactly what the study uses, each once with all that it is cited for."""
    uses = [("locatello-2019", "the study's design")]
    uses += [("duan-2020", "UDR")] if ranked else []
    uses += [(OF_METHOD[m], method_name(m)) for m in methods if m in OF_METHOD]
    uses += [(OF_METRIC[m], metric_name(m)) for m in metrics if m in OF_METRIC]
    uses += [(key, data_name(d)) for d in data for key in OF_DATA.get(d, ())]
    found: dict[str, list[str]] = {}
    for key, what in uses:
        found.setdefault(key, []).append(what)
    return [
        Reference(PAPERS[key].text, PAPERS[key].url, tuple(dict.fromkeys(what)))
        for key, what in found.items()
    ]
