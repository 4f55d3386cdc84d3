"""Four-legged animals of simple solids: one shape, ten rows of proportions."""

from collections.abc import Iterator

import numpy as np

from data.look_alikes.scenes import Solid, ball, capsule, rod


def animal(
    length: float,  # of the body
    deep: float,  # radius of the body, upwards
    wide: float,  # and sideways
    leg: float,
    thick: float,  # radius of a leg
    neck: float,
    raised: float,  # angle of the neck in degrees
    head: float,
    snout: float,
    tail: float,
    extra: str,
) -> Iterator[Solid]:
    hip = leg + 0.5 * deep
    back = leg + deep
    body = capsule((-0.5 * length + deep, 0, back), (0.5 * length - deep, 0, back), deep)
    body.frame[1] *= wide / deep
    yield body
    yield ball((-0.02 * length, 0, 0.97 * back), (0.4 * length, 1.04 * wide, 1.04 * deep))
    for end in (-1, 1):
        for side in (-1, 1):
            x, y = end * 0.36 * length, side * (0.9 * wide - 0.6 * thick)
            step = 0.05 * length * end * side
            yield capsule((x, y, hip + 0.4 * deep), (x + step, y, 0.5 * leg), 1.25 * thick)
            yield rod((x + step, y, 0.55 * leg), (x + 1.4 * step, y, 0), thick, 0.85 * thick)
    angle = np.radians(raised)
    chest = (0.42 * length, 0.0, back + 0.3 * deep)
    x, z = chest[0] + neck * np.cos(angle), chest[2] + neck * np.sin(angle)
    yield rod((chest[0] - 0.1, 0, chest[2] - 0.06), (x, 0, z), 0.7 * deep, 0.75 * head)
    yield ball((x, 0, z), (1.1 * head, 0.85 * head, head))
    yield rod((x, 0, z), (x + head + snout, 0, z - 0.5 * snout), 0.75 * head, 0.45 * head)
    for side in (-1, 1):
        wing = 2.6 if extra == "trunk" else 1.0
        ear = (x - 0.4 * head, side * head * (0.5 + 0.25 * wing), z + head * (1.2 - 0.3 * wing))
        yield ball(ear, (0.2 * head, 0.3 * wing * head, 0.42 * wing * head))
        if extra == "horns":
            tip = (x + 0.1 * head, side * 2.2 * head, z + 2.0 * head)
            yield rod((x, side * 0.5 * head, z + 0.6 * head), tip, 0.25 * head, 0.05 * head)
        if extra == "trunk":
            yield rod(
                (x + head, side * 0.4 * head, z - 0.4 * head),
                (x + 2.6 * head, side * 0.5 * head, z - 0.7 * head),
                0.14 * head,
                0.03 * head,
            )
    if extra == "trunk":
        yield rod((x + head, 0, z), (x + 1.6 * head, 0, 0.25 * z), 0.42 * head, 0.22 * head)
    if extra == "mane":
        yield ball((x - 0.5 * head, 0, z - 0.1), (0.9 * head, 1.8 * head, 2.1 * head))
    if extra == "humps":
        for hump in (-0.2, 0.15):
            yield ball((hump * length, 0, back + deep), (0.13 * length, 0.5 * wide, 0.5 * deep))
    if extra == "nose horn":
        yield rod(
            (x + head + 0.6 * snout, 0, z),
            (x + head + 1.2 * snout, 0, z + 1.5 * head),
            0.3 * head,
            0.03 * head,
        )
    drop = 0.3 if extra == "lizard" else 0.8
    start = (-0.5 * length, 0.0, back + 0.2 * deep)
    width = 0.7 * deep if extra == "lizard" else 0.05
    yield rod(start, (start[0] - tail, 0, start[2] - drop * tail), width, 0.3 * width)


ANIMALS = (
    (1.1, 0.20, 0.17, 0.48, 0.055, 0.38, 50, 0.12, 0.22, 0.40, ""),  # horse
    (1.2, 0.38, 0.34, 0.36, 0.13, 0.16, 25, 0.24, 0.05, 0.25, "trunk"),  # elephant
    (0.9, 0.21, 0.16, 0.75, 0.05, 0.85, 68, 0.10, 0.16, 0.35, ""),  # giraffe
    (1.1, 0.20, 0.17, 0.34, 0.07, 0.16, 35, 0.14, 0.10, 0.45, "mane"),  # lion
    (1.2, 0.27, 0.24, 0.34, 0.065, 0.22, 20, 0.14, 0.18, 0.40, "horns"),  # bull
    (1.3, 0.33, 0.30, 0.24, 0.11, 0.20, -5, 0.20, 0.24, 0.20, "nose horn"),  # rhinoceros
    (1.1, 0.25, 0.20, 0.60, 0.06, 0.50, 45, 0.12, 0.20, 0.25, "humps"),  # camel
    (1.0, 0.15, 0.13, 0.16, 0.055, 0.16, 45, 0.13, 0.18, 0.28, ""),  # dachshund
    (0.9, 0.30, 0.27, 0.22, 0.12, 0.14, 20, 0.21, 0.14, 0.06, ""),  # bear
    (1.3, 0.19, 0.22, 0.14, 0.08, 0.35, 10, 0.13, 0.38, 0.95, "lizard"),  # crocodile
)
