"""Scores that need no labels: total correlation, mutual information, reconstruction, KL, ELBO.

The headline is the total correlation of a Gaussian fitted to the codes, in nats: the KL divergence
from that Gaussian to the product of its marginals, which is half the difference between the sum of
the log-variances and the log-determinant of the covariance. 0 where no two latents correlate.

Paper: Locatello et al. 2019, "Challenging common assumptions in the unsupervised learning of
disentangled representations", sections 5.1 and 5.4, appendix C. Family: unsupervised. Property:
independence of latents.

Conventions (and those of base/gaussians.py):
- The total correlation and the average mutual information are of the means and of one sample of
  each posterior (figures 8, 9, 26 and 27); the Wasserstein correlation is of the means, as in the
  released library.
- Informative latents are those of Duan et al. 2020, equation 3.
- A constant latent changes no correlation; in the average mutual information it counts, with 0.
- Few points overstate mutual information: two independent Gaussian latents come out at 0.015 with
  10,000.
- With one latent, or one point, there is nothing to correlate: 0.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics import INFORMATIVE_KL
from metrics.base import gaussians
from metrics.base.arrays import BadArray, numbers
from metrics.base.information import discretise, mutual_information
from metrics.base.inputs import BINS, Inputs, Score

NEEDS = frozenset({"posterior"})
PARTS = {
    "gaussian_total_correlation_mean": "the score under its released name",
    "gaussian_total_correlation_sampled": "the same of one sample of each posterior",
    "gaussian_wasserstein_correlation": "the squared 2-Wasserstein distance of the same Gaussians",
    "gaussian_wasserstein_correlation_norm": "that distance divided by the covariance's trace",
    "mutual_information": "mean over all pairs of latents, in 20 bins each, in nats",
    "mutual_information_sampled": "the same of one sample of each posterior",
    "kl": "KL of the posterior to the prior, mean over points, summed over latents, in nats",
    "kl latent N": "of each latent: its KL, mean over points, in nats",
    "informative_latents": "how many latents have a KL above 0.01 nats",
    "reconstruction": "the loss of reconstruction, mean over points, in nats",
    "elbo": "minus reconstruction minus kl",
}


def unsupervised(
    codes: ArrayLike,
    rng: np.random.Generator,
    logvar: ArrayLike | None = None,
    reconstruction: ArrayLike | None = None,
) -> list[Score]:
    """The means' scores; with log-variances, one sample's and the KL; with losses, their mean.

    With both, the ELBO. A latent's KL is the part "kl latent 3". All in nats.
    """
    mean = numbers("codes", codes, ("row", "column")).astype(np.float64)
    correlation = gaussians.total_correlation(mean)
    distance, relative = gaussians.wasserstein_correlation(mean)
    scores = [
        Score("score", correlation),
        Score("gaussian_total_correlation_mean", correlation),
        Score("gaussian_wasserstein_correlation", distance),
        Score("gaussian_wasserstein_correlation_norm", relative),
        Score("mutual_information", pairwise_information(mean)),
    ]
    if logvar is not None:
        spread = _of_same_points("logvar", logvar, mean)
        if spread.max() > gaussians.HIGHEST:
            raise BadArray("logvar", str(spread.max()), f"numbers to {gaussians.HIGHEST:.0f}")
        sampled = gaussians.sample(mean, spread, rng)
        kl = gaussians.kl(mean, spread).mean(axis=0)
        scores += [
            Score("gaussian_total_correlation_sampled", gaussians.total_correlation(sampled)),
            Score("mutual_information_sampled", pairwise_information(sampled)),
            Score("kl", float(kl.sum())),
            *(Score(f"kl latent {latent}", value) for latent, value in enumerate(kl.tolist())),
            Score("informative_latents", float((kl > INFORMATIVE_KL).sum())),
        ]
    if reconstruction is not None:
        loss = float(_of_same_points("reconstruction", reconstruction, mean[:, 0]).mean())
        scores.append(Score("reconstruction", loss))
        if logvar is not None:
            scores.append(Score("elbo", -loss - float(kl.sum())))
    return scores


def pairwise_information(codes: NDArray[np.float64], bins: int = BINS) -> float:
    """Mutual information of the bins of two different latents: the mean over all pairs, in nats."""
    labels = discretise(codes, bins)
    shared = mutual_information(labels, labels)
    different = ~np.eye(len(shared), dtype=np.bool_)
    return float(shared[different].mean()) if len(shared) > 1 else 0.0


def _of_same_points(
    name: str, array: ArrayLike, points: NDArray[np.float64]
) -> NDArray[np.float64]:
    checked = numbers(name, array, ("row", "column")[: points.ndim])
    if checked.shape != points.shape:
        raise BadArray(name, f"shape {checked.shape}", f"{points.shape}, as codes")
    return checked.astype(np.float64)


def evaluate(inputs: Inputs, rng: np.random.Generator) -> list[Score]:
    """Draws a sample of each posterior, if there are log-variances."""
    return unsupervised(inputs.codes, rng, inputs.logvar, inputs.reconstruction)
