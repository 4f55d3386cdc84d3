"""Numbers of the papers, with their places, for a study that trained at the papers' scale.

L: Locatello et al. 2019, "Challenging common assumptions in the unsupervised learning of
disentangled representations". D: Duan et al. 2020, "Unsupervised model selection for variational
disentangled representation learning". H: Holtz et al. 2022, "Evaluating disentanglement in
generative models without knowledge of latent factors". E: Eastwood & Williams 2018, "A framework
for the quantitative evaluation of disentangled representations".
"""

from __future__ import annotations

METHODS, STRENGTHS, SEEDS = 6, 6, 50  # L, section 4 and Table 3
SIX = ("beta_vae", "dci", "factor_vae", "mig", "modularity", "sap")  # L, section 4

SEVEN = (  # L, section 4; in the order of Table 5
    "cars3d",
    "color_dsprites",
    "noisy_dsprites",
    "scream_dsprites",
    "shapes3d",
    "smallnorb",
    "dsprites",
)


def _per_data_set(rows: dict[str, tuple[int, ...]]) -> dict[tuple[str, str], float]:
    return {
        (data, metric): percent / 100
        for data, percents in rows.items()
        for metric, percent in zip(SIX, percents, strict=True)
    }


# L, Table 5a: variance of the scores explained by the objective
EXPLAINED_BY_METHOD = _per_data_set(
    {
        "cars3d": (1, 36, 26, 34, 37, 13),
        "color_dsprites": (30, 39, 52, 26, 23, 29),
        "noisy_dsprites": (17, 21, 17, 11, 41, 6),
        "scream_dsprites": (89, 50, 76, 45, 60, 56),
        "shapes3d": (31, 21, 14, 20, 26, 10),
        "smallnorb": (68, 71, 58, 71, 62, 62),
        "dsprites": (29, 41, 47, 26, 29, 31),
    }
)
# L, Table 5b: by the Cartesian product of objective and strength
EXPLAINED_BY_CELL = _per_data_set(
    {
        "cars3d": (4, 69, 42, 59, 51, 17),
        "color_dsprites": (69, 80, 61, 76, 40, 56),
        "noisy_dsprites": (26, 42, 25, 29, 50, 20),
        "scream_dsprites": (93, 74, 83, 66, 68, 75),
        "shapes3d": (61, 78, 53, 59, 49, 35),
        "smallnorb": (87, 89, 81, 88, 72, 82),
        "dsprites": (59, 77, 54, 72, 39, 56),
    }
)
# L, Figure 2: rank correlations of the metrics on Noisy-dSprites
METRICS_DATA = "noisy_dsprites"
METRICS_AGREE = {
    ("beta_vae", "factor_vae"): 0.80,
    ("beta_vae", "mig"): 0.44,
    ("beta_vae", "dci"): 0.41,
    ("beta_vae", "modularity"): 0.46,
    ("beta_vae", "sap"): 0.37,
    ("factor_vae", "mig"): 0.49,
    ("factor_vae", "dci"): 0.52,
    ("factor_vae", "modularity"): 0.25,
    ("factor_vae", "sap"): 0.38,
    ("mig", "dci"): 0.76,
    ("mig", "modularity"): 0.06,
    ("mig", "sap"): 0.42,
    ("dci", "modularity"): -0.08,
    ("dci", "sap"): 0.38,
    ("modularity", "sap"): 0.13,
}
# L, Table 1: probability of doing at least as well as a random model, by what the hyperparameters
# were chosen on: (same metric, same data set)
BEATS_RANDOM = {
    (True, True): 0.807,
    (True, False): 0.593,
    (False, True): 0.626,
    (False, False): 0.549,
}
# L, Table 5: the average of each half
EXPLAINED_ON_AVERAGE_BY_METHOD, EXPLAINED_ON_AVERAGE_BY_CELL = 0.37, 0.59
# D: the methods of its tables. It does not say which DIP-VAE it took, so both are compared with it.
CLASSES = {
    "beta_vae": ("beta_vae",),
    "beta_tcvae": ("beta_tcvae",),
    "dip_vae": ("dip_vae_i", "dip_vae_ii"),
}
DUAN_DATA = ("dsprites", "shapes3d", "cars3d")  # D, section 5
TABLE_7_DATA = ("dsprites", "shapes3d")
# D, Table 1: rank correlation of MIG with UDR: (data set, class, similarity, pool)
UDR_WITH_MIG = {
    ("dsprites", "beta_vae", "lasso", "cell"): 0.60,
    ("dsprites", "beta_vae", "lasso", "method"): 0.76,
    ("dsprites", "beta_vae", "spearman", "cell"): 0.54,
    ("dsprites", "beta_vae", "spearman", "method"): 0.72,
    ("dsprites", "beta_tcvae", "lasso", "cell"): 0.40,
    ("dsprites", "beta_tcvae", "lasso", "method"): 0.67,
    ("dsprites", "beta_tcvae", "spearman", "cell"): 0.37,
    ("dsprites", "beta_tcvae", "spearman", "method"): 0.60,
    ("dsprites", "dip_vae", "lasso", "cell"): 0.61,
    ("dsprites", "dip_vae", "lasso", "method"): 0.69,
    ("dsprites", "dip_vae", "spearman", "cell"): 0.65,
    ("dsprites", "dip_vae", "spearman", "method"): 0.72,
    ("shapes3d", "beta_vae", "lasso", "cell"): 0.71,
    ("shapes3d", "beta_vae", "lasso", "method"): 0.68,
    ("shapes3d", "beta_vae", "spearman", "cell"): 0.70,
    ("shapes3d", "beta_vae", "spearman", "method"): 0.71,
    ("shapes3d", "beta_tcvae", "lasso", "cell"): 0.81,
    ("shapes3d", "beta_tcvae", "lasso", "method"): 0.79,
    ("shapes3d", "beta_tcvae", "spearman", "cell"): 0.81,
    ("shapes3d", "beta_tcvae", "spearman", "method"): 0.75,
    ("shapes3d", "dip_vae", "lasso", "cell"): 0.75,
    ("shapes3d", "dip_vae", "lasso", "method"): 0.74,
    ("shapes3d", "dip_vae", "spearman", "cell"): 0.75,
    ("shapes3d", "dip_vae", "spearman", "method"): 0.78,
}
# D, appendix A.6 and Table 7: the supervised metrics that it takes
FOUR = ("beta_vae", "factor_vae", "mig", "dci")
LOW_UDR = 0.3  # D calls a UDR below it low
# D, Table 7: mean rank correlation of UDR with the four, and its deviation: (similarity, pool)
UDR_WITH_FOUR = {
    ("lasso", "cell"): (0.54, 0.06),
    ("lasso", "method"): (0.60, 0.11),
    ("spearman", "cell"): (0.53, 0.07),
    ("spearman", "method"): (0.59, 0.10),
}
FOUR_AGREE = (0.67, 0.2)  # D, Table 7: of the four with each other
# D, section 5 and appendix A.8: mean rank correlation with fairness, of UDR with the lasso within
# a cell, and of the supervised metrics
UDR_WITH_FAIRNESS, FOUR_WITH_FAIRNESS = 0.8, 0.72
# D, appendix A.10: of 10 latents, mean and deviation over the models of all methods but this one
SWITCHED_OFF = (2.95, 1.97)
NEVER_OFF = "dip_vae_i"
# D, Table 2: rank correlation with the BetaVAE metric, dSprites and β-VAE, by comparisons per model
FEWER_COMPARISONS = {
    5: (0.51, 0.07),
    10: (0.57, 0.03),
    15: (0.57, 0.05),
    20: (0.60, 0.03),
    25: (0.59, 0.03),
    30: (0.61, 0.02),
    35: (0.61, 0.02),
    40: (0.61, 0.01),
    45: (0.61, 0.01),
}
# H, Table 3: Pearson's correlation of scores with noisy and with true labels over models, by metric
# and regime (its noise models 1, 2 and 3); H compares models of dSprites
LABEL_NOISE_DATA = "dsprites"
LABEL_NOISE = {
    ("beta_vae", "low"): 0.69,
    ("beta_vae", "medium"): 0.54,
    ("beta_vae", "high"): 0.47,
    ("factor_vae", "low"): 0.84,
    ("factor_vae", "medium"): 0.75,
    ("factor_vae", "high"): 0.63,
    ("mig", "low"): 0.86,
    ("mig", "medium"): 0.76,
    ("mig", "high"): 0.67,
}
LABEL_NOISE_OF_DYNAMICS = {"low": 1.0, "medium": 1.0, "high": 1.0}
# L, footnote 1: years of one GPU for all models
YEARS = (2.52, "Locatello et al. 2019, footnote 1")
# H, Table 1: rank correlation of its score with a metric, and its deviation, by
# the number of seeds
DYNAMICS_WITH_SCORES = {
    "beta_vae": {5: (0.54, 0.12), 10: (0.57, 0.06), 25: (0.61, 0.02)},
    "factor_vae": {5: (0.56, 0.21), 10: (0.60, 0.09), 25: (0.60, 0.04)},
    "mig": {5: (0.60, 0.07), 10: (0.65, 0.03), 25: (0.69, 0.02)},
}
# H, Table 4: rank correlation with unfairness, of its score and of metrics
DYNAMICS_WITH_UNFAIRNESS = -0.72
METRICS_WITH_UNFAIRNESS = {"beta_vae": -0.75, "factor_vae": -0.80, "mig": -0.66}
# D, appendix A.8: rank correlation of UDR with the data efficiency of an agent; here with its steps
UDR_WITH_CLUSTERING = -0.56
# H, Table 4: rank correlation with the steps of such an agent, of its score and of metrics
CLUSTERING = {"dynamics": -0.59, "beta_vae": -0.51, "factor_vae": -0.56, "mig": -0.48}
# What no question computes: (what, number, place, why)
BENCH = "its codes are made up; `tolstoy bench metrics` runs the paper's experiments"
OTHER_TABLES = (
    ("17 scores of 3 made-up representations", None, "Carbonneau et al. 2022, Table 1", BENCH),
)
# E: its kinds of models, as a method and a strength of ours, and the factors of its pictures
EASTWOOD = "Eastwood and Williams 2018"
KINDS_DATA = "teapots"
KINDS = {
    "PCA": ("pca", 0.0),
    "VAE": ("beta_vae", 1.0),
    "β-VAE": ("beta_vae", 6.0),
    "InfoGAN": ("infogan", 6.0),
}
KINDS_FACTORS = ("azimuth", "elevation", "red", "green", "blue")
# E, Table 1: disentanglement, completeness and error (NRMSE on test rows), of one model each
KINDS_SCORES = {
    ("dci_lasso", "PCA"): (0.29, 0.32, 0.44),
    ("dci_lasso", "VAE"): (0.67, 0.62, 0.37),
    ("dci_lasso", "β-VAE"): (0.66, 0.59, 0.35),
    ("dci_lasso", "InfoGAN"): (0.75, 0.72, 0.23),
    ("dci_forest", "PCA"): (0.50, 0.52, 0.27),
    ("dci_forest", "VAE"): (0.86, 0.75, 0.09),
    ("dci_forest", "β-VAE"): (0.90, 0.76, 0.10),
    ("dci_forest", "InfoGAN"): (0.91, 0.87, 0.13),
}
# E, Tables 3a and 4a: disentanglement of each code
KINDS_CODES = {
    ("dci_lasso", "PCA"): (0.16, 0.50, 0.31, 0.09, 0.45, 0.60, 0.11, 1.00, 0.17, 0.51),
    ("dci_lasso", "VAE"): (1.00, 0.85, 0.95, 0.68, 0.63, 1.00, 0.30, 0.37, 0.66, 0.95),
    ("dci_lasso", "β-VAE"): (1.00, 0.64, 1.00, 0.76, 0.39, 0.89, 0.49, 0.81, 0.45, 0.80),
    ("dci_lasso", "InfoGAN"): (0.83, 0.85, 0.76, 0.66, 0.78, 0.43, 1.00, 1.00, 0.64, 0.74),
    ("dci_forest", "PCA"): (0.25, 0.54, 0.63, 0.10, 0.88, 0.97, 0.16, 0.90, 0.41, 0.72),
    ("dci_forest", "VAE"): (0.98, 0.99, 0.91, 0.94, 0.75, 0.99, 0.56, 0.56, 0.92, 0.86),
    ("dci_forest", "β-VAE"): (0.96, 0.96, 0.95, 0.99, 0.63, 0.96, 0.69, 0.94, 0.64, 0.98),
    ("dci_forest", "InfoGAN"): (0.85, 0.97, 0.91, 0.84, 0.94, 0.68, 0.86, 0.70, 0.71, 0.92),
}
# E, Tables 3b and 4b: completeness of each factor
KINDS_COMPLETENESS = {
    ("dci_lasso", "PCA"): (0.38, 0.39, 0.34, 0.24, 0.25),
    ("dci_lasso", "VAE"): (0.54, 0.37, 0.75, 0.73, 0.73),
    ("dci_lasso", "β-VAE"): (0.14, 0.39, 0.70, 0.85, 0.88),
    ("dci_lasso", "InfoGAN"): (0.42, 0.72, 0.75, 0.86, 0.84),
    ("dci_forest", "PCA"): (0.31, 0.51, 0.67, 0.56, 0.56),
    ("dci_forest", "VAE"): (0.44, 0.61, 0.90, 0.91, 0.91),
    ("dci_forest", "β-VAE"): (0.28, 0.67, 0.90, 0.96, 0.97),
    ("dci_forest", "InfoGAN"): (0.59, 0.94, 0.91, 0.96, 0.95),
}
# E, Tables 3c and 4c: error for each factor on test rows
KINDS_ERRORS = {
    ("dci_lasso", "PCA"): (0.83, 0.42, 0.32, 0.32, 0.33),
    ("dci_lasso", "VAE"): (0.61, 0.60, 0.23, 0.21, 0.21),
    ("dci_lasso", "β-VAE"): (0.80, 0.41, 0.19, 0.19, 0.18),
    ("dci_lasso", "InfoGAN"): (0.48, 0.13, 0.23, 0.16, 0.15),
    ("dci_forest", "PCA"): (0.36, 0.23, 0.20, 0.28, 0.28),
    ("dci_forest", "VAE"): (0.14, 0.09, 0.09, 0.06, 0.06),
    ("dci_forest", "β-VAE"): (0.18, 0.07, 0.08, 0.09, 0.08),
    ("dci_forest", "InfoGAN"): (0.25, 0.07, 0.14, 0.09, 0.10),
}
# E, Table 5: error for each factor on unseen combinations, and the mean
KINDS_ZERO_SHOT = {
    ("dci_lasso", "PCA"): (0.88, 0.80, 0.75, 0.52, 0.54, 0.70),
    ("dci_lasso", "VAE"): (0.56, 1.11, 0.52, 0.30, 0.32, 0.56),
    ("dci_lasso", "β-VAE"): (0.81, 0.79, 0.32, 0.27, 0.25, 0.49),
    ("dci_lasso", "InfoGAN"): (0.49, 0.34, 0.93, 0.36, 0.33, 0.49),
    ("dci_forest", "PCA"): (0.44, 0.49, 0.65, 0.56, 0.63, 0.55),
    ("dci_forest", "VAE"): (0.13, 0.13, 0.34, 0.08, 0.07, 0.15),
    ("dci_forest", "β-VAE"): (0.18, 0.18, 0.21, 0.12, 0.14, 0.16),
    ("dci_forest", "InfoGAN"): (0.27, 0.18, 0.63, 0.21, 0.25, 0.31),
}
# E, sections 4.1 and 4.2: its pictures, those from which the regressors learn, and its codes
KINDS_PICTURES, KINDS_TRAINING, KINDS_LATENTS = 200_000, 142_927, 10
# E names no steps. Its released code: 50 epochs in batches of 64, of which the critic of InfoGAN
# has all and the generator one in five
KINDS_STEPS = {"VAE": 111_650, "β-VAE": 111_650, "InfoGAN": 22_300}
KINDS_BETAS = (0.0, 0.9)  # of Adam, in the released code
# E's tables, for a study without its pictures
KINDS_TABLES = (
    (1, "Average scores of models"),
    (3, "Scores by lasso"),
    (4, "Scores by random forest"),
    (5, "Errors for unseen combinations of factors"),
)
