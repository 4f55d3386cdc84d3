"""A look-alike of Shapes3D (Burgess & Kim, 2018): an object in a room, seen from an orbit.

Three of the six factors are hues, and a pixel is a weighted sum of the colours of floor, wall,
object and sky. So 480 views of weights (scale × shape × orientation) give all 480,000 pictures.
Lengths are fractions of the camera's distance from the object.
"""

import colorsys

import numpy as np
from numpy.typing import NDArray

from data.look_alikes.scenes import Scene, Solid, Vector, ball, block, camera, capsule, rod, scene

Array = NDArray[np.float64]

SIZES = (10, 10, 10, 8, 4, 15)  # hues of floor, wall and object; scale, shape, orientation
SCALES = np.linspace(0.75, 1.25, SIZES[3])
ORIENTATIONS = np.linspace(-30, 30, SIZES[5])  # degrees
HUES = np.array([colorsys.hsv_to_rgb(hue / 10, 1, 1) for hue in range(10)], np.float32)
SKY = np.array([153, 226, 249], np.float32) / 255
SIDE = 64
SAMPLES = 4  # per pixel and axis

EYE: Vector = (0.0, 0.0, 0.30)  # the camera is at this height and looks horizontally
REACH = np.tan(np.radians(24.5))  # of a view of 49 degrees, at the object's distance
ROOM, WALL_HEIGHT = 1.30, 0.77  # half the side of the room
WALLS = ((-1, 0, 0.97), (0, -1, 0.80), (0, 1, 0.88))  # x and y of a wall, its brightness

LAMP = (-55.0, 52.0)  # azimuth and elevation: from the left, before and above
LAMP_DISTANCE, LAMP_REACH, LAMP_SIDE = 8.0, 0.8, 128
LAMP_BLUR = 6  # pixels of the lamp's picture
SHADOW = 0.45  # the share of its light that the floor loses in the shadow
AMBIENT, DIRECT = 0.56, 0.60


def weights() -> NDArray[np.uint8]:
    """(480, 4, 4096): how much of floor, wall, object and sky is in every pixel, in 1/255.

    The order of the views is scale, shape, orientation; orientation changes fastest.
    """
    eyes = [camera(EYE, 1, angle, 0, REACH) for angle in ORIENTATIONS]
    rooms = [_room(eye) for eye in eyes]
    objects = [scene(solids) for scale in SCALES for solids in _objects(scale)]
    return np.concatenate([_views(object_, eyes, rooms) for object_ in objects])


def compose(
    weights: NDArray[np.uint8], places: NDArray[np.int64], palette: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Pictures (n, 3, 64, 64) of the views `places` (n,).

    `palette` (n, 3, 3) holds every picture's colours of floor, wall and object as RGB in [0, 1].
    """
    from data.look_alikes.mixing import mix  # compiling takes a second

    count = len(places)
    colours = np.empty((count, 4, 3), np.float32)
    colours[:, :3] = palette
    colours[:, 3] = SKY
    pictures = np.empty((count, 3, SIDE * SIDE), np.float32)
    mix(weights, places, colours, pictures)
    return pictures.reshape(count, 3, SIDE, SIDE)


def _objects(scale: float) -> list[list[Solid]]:
    """Cube, cylinder, sphere and capsule, standing in the middle of the floor."""
    half, wide, round_, slim, tall = scale * np.array([0.137, 0.153, 0.157, 0.132, 0.525])
    return [
        [block((0, 0, 0), (0, 0, 2 * half), (2 * half, 2 * half))],
        [rod((0, 0, 0), (0, 0, 2 * half), wide)],
        [ball((0, 0, round_), round_)],
        [capsule((0, 0, slim), (0, 0, tall - slim), slim)],
    ]


def _room(eye: Array) -> Array:
    """The empty room: (3, samples, samples), the brightness of floor, wall and sky."""
    steps = (2 * np.arange(SAMPLES * SIDE) + 1) / (SAMPLES * SIDE) - 1
    rays = eye[3] + steps[None, :, None] * eye[1] - steps[:, None, None] * eye[2]
    depth, wall = np.full(rays.shape[:2], np.inf), np.zeros(rays.shape[:2])
    for x, y, brightness in WALLS:
        speed = rays[:, :, 0] * x + rays[:, :, 1] * y
        with np.errstate(divide="ignore"):
            distance = np.where(speed > 0, (ROOM - eye[0, 0] * x - eye[0, 1] * y) / speed, np.inf)
        wall = np.where(distance < depth, brightness, wall)
        depth = np.minimum(depth, distance)
    height = eye[0, 2] + depth * rays[:, :, 2]
    is_floor, is_sky = height < 0, height > WALL_HEIGHT
    return np.stack([is_floor, np.where(is_floor | is_sky, 0, wall), is_sky])


def _views(object_: Scene, eyes: list[Array], rooms: list[Array]) -> NDArray[np.uint8]:
    """(15, 4, 4096): an object from all sides."""
    from data.look_alikes.caster import NOTHING, cast, no_hits  # compiling takes seconds
    from data.look_alikes.turntable import ground_shadow, shadow

    lamp = camera((0, 0, 0.2), LAMP_DISTANCE, *LAMP, LAMP_REACH)
    hits = no_hits(LAMP_SIDE)
    cast(object_, lamp, hits)
    outline = np.empty((LAMP_SIDE, LAMP_SIDE), np.float32)
    shadow(hits, LAMP_BLUR, outline)

    views = np.empty((len(eyes), 4, SIDE, SIDE), np.uint8)
    hits, shades = no_hits(SAMPLES * SIDE), np.empty((SIDE, SIDE))
    for view, eye, room in zip(views, eyes, rooms, strict=True):
        ground_shadow(eye, lamp, outline, shades)
        cast(object_, eye, hits)
        free = hits.solids == NOTHING
        light = np.zeros(free.shape)
        facing = hits.normals[~free] @ -lamp[3]
        light[~free] = np.minimum(AMBIENT + DIRECT * np.maximum(facing, 0), 1)
        floor, wall, sky = (_pixels(part * free) for part in room)
        parts = np.stack([floor * (1 - SHADOW * shades), wall, _pixels(light), sky])
        # Sums are rounded rather than the parts, so that no pixel holds more than 255.
        sums = np.rint(255 * np.cumsum(parts, axis=0))
        view[:] = np.diff(sums, axis=0, prepend=0)
    return views.reshape(len(eyes), 4, -1)


def _pixels(samples: Array) -> Array:
    means: Array = samples.reshape(SIDE, SAMPLES, SIDE, SAMPLES).mean((1, 3))
    return means
