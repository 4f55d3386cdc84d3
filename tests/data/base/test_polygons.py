"""The scan conversion decides every pixel as exact arithmetic over all edges would."""

from fractions import Fraction

import numpy as np
import pytest

from data.base.polygons import SIDE, SUBPIXELS, fill_grid


def filled(vertices):
    x, y = np.array(vertices, np.int64).T
    rows = np.zeros((1, 1, SIDE), np.uint64)
    fill_grid(x[None], y[None], rows)
    return np.unpackbits(rows.astype(">u8").view(np.uint8)).reshape(SIDE, SIDE)


def filled_slowly(vertices, size):
    """Count the edges that cross the line from each centre to the left, edges included."""
    image = np.zeros((SIDE, SIDE), np.uint8)
    for row in range(size):
        for column in range(size):
            x, y = (Fraction(SUBPIXELS * at + SUBPIXELS // 2) for at in (column, row))
            for (x0, y0), (x1, y1) in zip(vertices, vertices[1:] + vertices[:1], strict=True):
                if (y0 < y) != (y1 < y):
                    image[row, column] ^= x0 + (y - y0) * (x1 - x0) / Fraction(y1 - y0) <= x
    return image


@pytest.mark.parametrize("corners", [3, 4, 7])
@pytest.mark.parametrize("grid", [1, 128])  # 128: vertices and edges that meet pixel centres
def test_agrees_with_fractions(corners, grid):
    stream = np.random.default_rng([corners, grid])
    for _ in range(6):
        vertices = (stream.integers(0, 10 * SUBPIXELS // grid, (corners, 2)) * grid).tolist()
        assert np.array_equal(filled(vertices), filled_slowly(vertices, 11))


def test_left_and_bottom_edges_are_in_right_and_top_ones_out():
    low, high = 2 * SUBPIXELS + 128, 5 * SUBPIXELS + 128
    image = filled([(low, low), (high, low), (high, high), (low, high)])
    rows, columns = np.nonzero(image)
    assert (columns.min(), columns.max()) == (2, 4)
    assert (rows.min(), rows.max()) == (3, 5)


def test_what_is_outside_the_canvas_is_cut_off():
    far = 100 * SUBPIXELS
    assert filled([(-far, -far), (far, -far), (far, far), (-far, far)]).all()
    assert not filled([(far, 0), (2 * far, 0), (2 * far, far)]).any()


def test_every_position_gets_its_own_picture():
    x = np.array([[0, 512, 512, 0], [1024, 1536, 1536, 1024]])
    y = np.array([[0, 0, 256, 256], [256, 256, 512, 512], [768, 768, 1024, 1024]])
    rows = np.zeros((2, 3, SIDE), np.uint64)
    fill_grid(x, y, rows)
    pixels = np.unpackbits(rows.astype(">u8").view(np.uint8)).reshape(2, 3, SIDE, SIDE)
    for column, left in enumerate((0, 4)):
        for row, top in enumerate((0, 1, 3)):
            expected = np.zeros((SIDE, SIDE))
            expected[top, left : left + 2] = 1
            assert np.array_equal(pixels[column, row], expected)
