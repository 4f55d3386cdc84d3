"""In groups of points, the latent that varies least."""

import numpy as np
from numpy.typing import NDArray

from metrics.compiled import compiled


@compiled("contract")
def votes(
    codes: NDArray[np.float32], order: NDArray[np.int32], ends: NDArray[np.int64]
) -> NDArray[np.int64]:
    """(latents, groupings): in how many groups of each grouping each latent varies least.

    codes is (points, latents). A grouping is a row of `order`, all points one group after the
    other, and the same row of `ends`, where its groups end. Groups of fewer than two points have no
    vote; equal variances vote for the lower index.
    """
    latents = codes.shape[1]
    counts = np.zeros((latents, len(order)), dtype=np.int64)
    sums, squares = np.empty(latents), np.empty(latents)
    for grouping in range(len(order)):
        start = 0
        for end in ends[grouping]:
            size = end - start
            if size > 1:
                sums[:] = 0.0
                squares[:] = 0.0
                first = order[grouping, start]  # subtracted, so that equal codes vary by 0, exactly
                for place in range(start + 1, end):
                    point = order[grouping, place]
                    for latent in range(latents):
                        away = np.float64(codes[point, latent]) - np.float64(codes[first, latent])
                        sums[latent] += away
                        squares[latent] += away * away
                least = 0
                for latent in range(latents):
                    squares[latent] -= sums[latent] * sums[latent] / size
                    if squares[latent] < squares[least]:
                        least = latent
                counts[least, grouping] += 1
            start = end
    return counts
