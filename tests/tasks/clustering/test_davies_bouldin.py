"""The Davies-Bouldin index by hand, and as scikit-learn computes it."""

import numpy as np
import pytest
from sklearn.metrics import davies_bouldin_score

from tasks.clustering.davies_bouldin import davies_bouldin


def test_two_pairs_by_hand() -> None:
    """Pairs of width 0.2 and 0.4, whose means (0.2, 0.1) and (0.3, 0.6) are √0.26 apart: spreads
    0.1 and 0.2, index 0.3 / √0.26. The order of the points does not matter."""
    points = np.array([[0.1, 0.1], [0.1, 0.6], [0.3, 0.1], [0.5, 0.6]])
    clusters = np.array([0, 1, 0, 1])
    expected = pytest.approx(0.3 / 0.26**0.5)
    assert davies_bouldin(points[None], clusters[None]) == expected
    order = [3, 2, 0, 1]
    assert davies_bouldin(points[None, order], clusters[None, order]) == expected


def test_three_clusters_by_hand() -> None:
    """On a line: means 0, 3 and 10, spreads 1, 1 and 0. The likenesses are 2/3, 1/10 and 1/7, so
    the largest of each cluster are 2/3, 2/3 and 1/7."""
    points = np.array([-1, 1, 2, 4, 10.0])[None, :, None]
    index = davies_bouldin(points, np.array([[0, 0, 1, 1, 2]]))
    assert index == pytest.approx((2 / 3 + 2 / 3 + 1 / 7) / 3)


@pytest.mark.parametrize("clusters", [2, 3, 5])
def test_many_scenes_as_scikit_learn(clusters: int) -> None:
    rng = np.random.default_rng(clusters)
    labels = rng.permuted(np.tile(np.arange(clusters).repeat(3), (40, 1)), axis=1)
    points = rng.random((40, 3 * clusters, 2))
    expected = [davies_bouldin_score(*scene) for scene in zip(points, labels, strict=True)]
    np.testing.assert_allclose(davies_bouldin(points, labels), expected, rtol=1e-12)


def test_points_without_a_cluster_are_left_out() -> None:
    rng = np.random.default_rng(0)
    points, labels = rng.random((1, 6, 2)), np.array([[0, -1, 1, 0, 1, -1]])
    kept = labels[0] >= 0
    assert davies_bouldin(points, labels) == davies_bouldin(points[:, kept], labels[:, kept])


def test_extremes() -> None:
    """Clusters that are points: 0. Equal means: infinite, also if all points are in one place."""
    labels = np.array([[0, 0, 1, 1]] * 3)
    points = np.array([[1, 1, 2, 2], [0, 2, 0.5, 1.5], [1, 1, 1, 1.0]])[:, :, None]
    assert davies_bouldin(points, labels).tolist() == [0, np.inf, np.inf]


@pytest.mark.parametrize("labels", [[0, 0], [0, 2], [-1, -1]])
def test_missing_clusters_are_refused(labels: list[int]) -> None:
    with pytest.raises(ValueError, match="clusters"):
        davies_bouldin(np.zeros((1, 2, 2)), np.array([labels]))
