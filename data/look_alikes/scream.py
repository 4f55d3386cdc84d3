"""A texture with the colours and shapes of Munch's The Scream.

It replaces the shrunk scan from which Scream-dSprites cuts its backgrounds: red bands of sky, a
dark fjord with swirls, a diagonal brown bridge, and a dark figure. Coordinates are from 0 to 1, to
the right and downwards.
"""

import numpy as np
from numpy.typing import NDArray

HEIGHT, WIDTH = 274, 215

STREAKS = 11  # standard deviation of the brush strokes along a band, in 1/255

Array = NDArray[np.float64]

# The colours of the bands of each part of the picture, in turn.
SKY = ((214, 84, 44), (236, 118, 48), (206, 62, 28), (222, 160, 92), (190, 78, 52), (120, 126, 112))
WATER = ((30, 42, 56), (72, 96, 108), (20, 26, 40), (122, 124, 100), (40, 56, 82))
SHORE = ((150, 118, 66), (176, 148, 88), (112, 96, 62), (92, 92, 70))
LAND = ((92, 78, 56), (58, 62, 58), (128, 100, 62), (70, 56, 44), (104, 108, 92))
BRIDGE = ((124, 78, 48), (150, 104, 68), (92, 58, 40), (134, 90, 70), (70, 48, 38))
RAIL = ((140, 62, 38), (96, 46, 32), (166, 84, 50))
FIGURE = ((24, 22, 26), (44, 38, 38), (14, 16, 24))
FACE = ((168, 140, 92), (148, 118, 78))


def texture() -> NDArray[np.uint8]:
    """The painting: (274, 215, 3), always the same."""
    stream = np.random.default_rng(1893)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH] / np.array([HEIGHT, WIDTH])[:, None, None]
    sway = _noise(stream, 4, 3)
    fine = _noise(stream, 18, 14)

    horizon = 0.30 + 0.03 * np.sin(5 * x + 1) + 0.012 * sway
    sky = _bands(SKY, 23 * y + 1.8 * np.sin(4.4 * x + 5 * y) + 1.5 * sway + 0.25 * fine)
    picture = sky

    # The fjord swirls around a point on the right; the land is below it.
    far = np.hypot((x - 0.62) * 0.8, (y - 0.40) * 1.3)
    turn = np.arctan2(y - 0.40, x - 0.62)
    water = _bands(WATER, 34 * far + 0.9 * turn + 0.8 * sway + 0.2 * fine)
    picture = _over(water, picture, y - horizon)
    shore = np.minimum(y - horizon - 0.06, 0.46 - y + 0.05 * np.sin(7 * x)) - 0.35 * (x - 0.55)
    picture = _over(_bands(SHORE, 30 * y + 2 * np.sin(6 * x)), picture, np.minimum(shore, 0.1))
    picture = _over(_bands(WATER[:1], y), picture, 0.035 - np.abs(y - horizon - 0.03 + 0.05 * x))
    land = _bands(LAND, 22 * (x + 0.35 * np.sin(5.5 * y + 0.6)) + 0.8 * sway + 0.2 * fine)
    picture = _over(land, picture, x - 0.66 - 0.35 * np.sin(6 * (y - 0.42)) + 0.5 * (y < horizon))
    picture = np.where((y < horizon - 0.01)[..., None], sky, picture)

    # Planks lead to a point at the left edge; the railing is the diagonal above them.
    slope = (y - 0.40) / (x + 0.12)
    planks = _bands(BRIDGE, 16 * np.arctan(slope) + 0.5 * fine)
    picture = _over(planks, picture, y - 0.42 - 0.60 * x)
    for drop in (0.0, 0.09):
        rail = 0.012 + 0.022 * x - np.abs(y - 0.42 - drop * (0.4 + x) - 0.58 * x)
        picture = _over(_bands(RAIL, 30 * (y - 0.58 * x)), picture, rail)

    lean = 0.03 * np.sin(9 * y)
    coat = 0.10 + 0.09 * np.sin(2.2 * (y - 0.62)) - np.abs(x - 0.55 - lean)
    picture = _over(_bands(FIGURE, 30 * x + 4 * np.sin(8 * y)), picture, np.minimum(coat, y - 0.64))
    head = 1 - np.hypot((x - 0.55) / 0.10, (y - 0.59) / 0.085)
    picture = _over(_bands(FACE, 14 * x + 8 * y), picture, 0.1 * head)

    # Strokes do not follow outlines: they are short, and lighter or darker than what is below.
    grain = _noise(stream, 70, 30) + 1.6 * _noise(stream, HEIGHT // 2, WIDTH // 2)
    return np.clip(picture + 14 * (grain + fine)[..., None], 0, 255).astype(np.uint8)


def _bands(colours: tuple[tuple[int, int, int], ...], phase: Array) -> Array:
    """Colours that follow each other as `phase` grows, one per unit, with soft transitions."""
    table = np.array(colours, np.float64)
    first = np.floor(phase).astype(np.int64)
    into = np.clip(2.5 * (phase - first) - 1.5, 0, 1)[..., None]
    smooth = table[first % len(table)] * (1 - into) + table[(first + 1) % len(table)] * into
    stream = np.random.default_rng(len(colours))
    # a streak differs more in brightness than in colour
    brush = stream.normal(0, STREAKS, (701, 1)) + stream.normal(0, STREAKS / 2, (701, 3))
    return smooth + brush[np.floor(7 * phase).astype(np.int64) % len(brush)]


def _over(upper: Array, under: Array, inside: Array) -> Array:
    """`upper` where `inside` is positive, with an edge of a few pixels."""
    cover = np.clip(0.5 + inside * 90, 0, 1)[..., None]
    return upper * cover + under * (1 - cover)


def _noise(stream: np.random.Generator, rows: int, columns: int) -> Array:
    """Smooth noise of variance about a third: random values on a grid, and lines between them."""
    grid = stream.uniform(-1, 1, (rows + 1, columns + 1))
    down, across = np.linspace(0, rows, HEIGHT), np.linspace(0, columns, WIDTH)
    lines = np.stack([np.interp(across, np.arange(columns + 1), row) for row in grid])
    return np.stack([np.interp(down, np.arange(rows + 1), column) for column in lines.T], axis=1)
