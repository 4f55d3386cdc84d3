"""Gaussians fitted to codes, and the Gaussian posteriors that an encoder gives.

Conventions:
- A constant latent is independent of all others and changes nothing.
- Total correlation does not depend on scales, so a latent counts however little it varies.
- The eigenvalues of the correlation matrix are squared singular values of the standardised codes,
  and count as at least 2.2e-16, the rounding of doubles: a latent that others determine exactly
  adds up to 18 nats and not infinity; so does each latent beyond the number of points less one.
"""

import numpy as np
from numpy.typing import NDArray

from metrics.base.arrays import LARGEST, Codes

LEAST = float(np.finfo(np.float64).eps)
HIGHEST = float(2 * np.log(LARGEST))  # of a log-variance: its samples are numbers others accept

Doubles = NDArray[np.float64]


def total_correlation(codes: Doubles) -> float:
    """KL from the Gaussian with the codes' covariance to the product of its marginals, in nats."""
    unit, _ = _standardised(codes)
    eigenvalues = np.zeros(unit.shape[1])  # fewer points than latents leave the last at 0
    singular = np.linalg.svd(unit, compute_uv=False)
    eigenvalues[: len(singular)] = singular**2
    return max(0.0, -0.5 * float(np.log(np.maximum(eigenvalues, LEAST)).sum()))


def wasserstein_correlation(codes: Doubles) -> tuple[float, float]:
    """2 tr C - 2 tr (D C)^(1/2), where D is the diagonal of the covariance C; and that over tr C.

    The eigenvalues of D C are those of D^(1/2) C D^(1/2), so that the trace of the root is the sum
    of the singular values of the centred codes times their deviations.
    """
    unit, deviation = _standardised(codes)
    largest = float(deviation.max(initial=0))
    if largest == 0:
        return 0.0, 0.0
    relative = deviation / largest
    trace = float(relative @ relative)
    root = float(np.linalg.svd(unit * relative**2, compute_uv=False).sum())
    distance = max(0.0, 2 * trace - 2 * root)
    return distance * largest**2, distance / trace


def kl(mean: Doubles, logvar: Doubles) -> Doubles:
    """From each N(mean, exp(logvar)) to N(0, 1), in nats."""
    # expm1: a dead latent's KL of 1e-9 keeps its digits
    return 0.5 * (mean**2 + np.expm1(logvar) - logvar)


def sample(mean: Codes, logvar: Codes, rng: np.random.Generator) -> Doubles:
    """One sample of each N(mean, exp(logvar)); the same all at once or in parts."""
    deviation = np.exp(0.5 * logvar.astype(np.float64))
    return mean + rng.standard_normal(mean.shape) * deviation


def _standardised(codes: Doubles) -> tuple[Doubles, Doubles]:
    """The latents that vary, with mean 0 and length 1, and their deviations (n - 1)."""
    live = codes[:, codes.max(axis=0) > codes.min(axis=0)]
    centred = live - live.mean(axis=0)
    size = np.abs(centred).max(axis=0)  # squares of tiny numbers would be lost
    centred /= size
    centred -= centred.mean(axis=0)  # what the first mean's rounding left
    length = np.linalg.norm(centred, axis=0)
    return centred / length, size * length / np.sqrt(max(len(codes) - 1, 1))
