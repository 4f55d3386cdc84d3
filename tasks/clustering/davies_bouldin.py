"""The Davies-Bouldin index of points in clusters: less is better, 0 for clusters that are points.

The spread of a cluster is the mean distance of its points to their mean. Two clusters are as alike
as the sum of their spreads, divided by the distance of their means; the index is the mean, over
clusters, of the likeness to the most alike other one. Clusters with the same mean are infinitely
alike, even if all of their points are in one place.

Paper: Davies and Bouldin 1979, with the exponents 1 and 2, as in scikit-learn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from data.look_alikes.sprites import Reals


def davies_bouldin(positions: Reals, clusters: NDArray[np.int64]) -> Reals:
    """The index of each scene: (scenes,). `positions` is (scenes, points, dimensions).

    `clusters` (scenes, points) numbers the clusters from 0; points at -1 have none. Every scene has
    a point of each cluster, of which there are at least two.
    """
    numbers = np.arange(clusters.max(initial=-1) + 1)
    member = (clusters[:, :, None] == numbers).astype(np.float64)  # scenes, points, clusters
    sizes = member.sum(axis=1)
    if len(numbers) < 2 or not sizes.all():
        raise ValueError("clusters: found one without points; accepted: two or more, all with some")
    means = member.transpose(0, 2, 1) @ positions / sizes[:, :, None]
    to_means = np.linalg.norm(positions[:, :, None] - means[:, None], axis=-1)
    spreads = (member * to_means).sum(axis=1) / sizes
    apart = np.linalg.norm(means[:, :, None] - means[:, None], axis=-1)
    alike = np.full_like(apart, np.inf)
    np.divide(spreads[:, :, None] + spreads[:, None], apart, out=alike, where=apart > 0)
    alike[:, numbers, numbers] = -np.inf
    index: Reals = alike.max(axis=2).mean(axis=1)
    return index
