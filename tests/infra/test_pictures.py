import io

import numpy as np
import pytest
from PIL import Image

from infra.pictures import grid_gif, grid_png


def opened(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)))


@pytest.mark.parametrize("channels", [1, 3])
def test_a_grid_survives_the_round_trip(channels):
    levels = np.random.default_rng(0).integers(0, 256, size=(2, 3, channels, 5, 7))
    canvas = opened(grid_png((levels / 255).astype(np.float32), gap=1)).reshape(11, 23, channels)
    for row in range(2):
        for column in range(3):
            tile = canvas[row * 6 : row * 6 + 5, column * 8 : column * 8 + 7]
            np.testing.assert_array_equal(tile.transpose(2, 0, 1), levels[row, column])
    assert (canvas[5] == 255).all() and (canvas[:, 7] == 255).all()


@pytest.mark.parametrize("channels", [1, 3])
def test_with_fewer_levels_a_file_is_smaller_and_each_pixel_near(channels):
    noise = np.random.default_rng(0).normal(0, 0.02, size=(4, 5, channels, 32, 32))
    pictures = (np.linspace(0.1, 0.9, 32) + noise).astype(np.float32)
    every, few = grid_png(pictures), grid_png(pictures, levels=16)
    assert len(few) < 0.4 * len(every)
    pixels = opened(few).astype(int)
    assert opened(every).shape == pixels.shape, "as deep as before, and no palette"
    assert set(np.unique(pixels)) <= {17 * level for level in range(16)}
    assert abs(pixels - opened(every)).max() <= 9


def test_values_outside_the_range_are_clipped():
    picture = opened(grid_png(np.array([-1.0, 2.0], np.float32).reshape(1, 2, 1, 1, 1), gap=0))
    assert picture.tolist() == [[0, 255]]


def test_a_moving_grid_has_its_frames_in_order():
    frames = np.zeros((3, 1, 2, 1, 8, 8), np.float32)
    frames[1, 0, 1] = 0.5
    frames[2] = 1
    moving = Image.open(io.BytesIO(grid_gif(frames, gap=1)))
    assert (moving.n_frames, moving.size, moving.info["loop"]) == (3, (17, 8), 0)
    for frame, (left, right) in enumerate([(0, 0), (0, 128), (255, 255)]):
        moving.seek(frame)
        pixels = np.asarray(moving.convert("L"))
        assert (pixels[4, 4], pixels[4, 13], pixels[4, 8]) == (left, right, 255)
