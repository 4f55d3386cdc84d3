"""Scores of a representation: functions of arrays, one file per metric.

Adding a metric is one file, metrics/<name>.py with NEEDS and evaluate(), and one line here. This
module imports nothing, so that a command line may list the metrics without waiting for numpy.
"""

METRICS: tuple[str, ...] = (
    "beta_vae",
    "factor_vae",
    "rf_vae",
    "irs",
    "dci",
    "dci_lasso",
    "dci_forest",
    "explicitness",
    "sap",
    "mig",
    "mig_sup",
    "jemmig",
    "modularity",
    "dcimig",
    "downstream_logistic",
    "downstream_trees",
    "fairness",
    "unsupervised",
)

# Of latents of two models, for UDR: metrics/similarity_<name>.py, and a line here.
SIMILARITIES: tuple[str, ...] = ("lasso", "lasso_cv", "spearman")
