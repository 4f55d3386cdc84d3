"""Human figures of simple solids, which differ in bulk, stride, arms, hats and what they hold."""

from collections.abc import Iterator

import numpy as np

from data.look_alikes.scenes import Solid, Vector, ball, block, capsule, rod


def person(
    bulk: float,
    stride: float,  # half the distance between the feet, forwards
    apart: float,  # the same sideways
    arms: tuple[tuple[Vector, Vector], tuple[Vector, Vector]],  # left, right: elbow, hand
    hat: str,
    holds: str,
) -> Iterator[Solid]:
    """A figure of height 1; elbows are given from the shoulder, hands from the elbow."""
    hips, shoulders = 0.48, 0.80
    yield block(
        (0, 0, hips - 0.03),
        (0, 0, shoulders + 0.03),
        (0.13 * bulk, 0.20 * bulk),
        (0.14 * bulk, 0.29 * bulk),
    )
    yield ball((0, 0, 0.62), (0.10 * bulk, 0.13 * bulk, 0.2))
    yield rod((0, 0, 0.8), (0, 0, 0.88), 0.05)
    yield ball((0.01, 0, 0.925), (0.075, 0.068, 0.09))
    for side, (elbow, hand) in zip((1, -1), arms, strict=True):
        foot = (side * stride, side * (0.06 + apart))
        knee = (0.6 * foot[0] + 0.04, 0.7 * foot[1] + side * 0.02, 0.26)
        yield capsule((0, side * 0.065, hips), knee, 0.062 * bulk)
        yield rod(knee, (*foot, 0.02), 0.056 * bulk, 0.042)
        yield block(
            (foot[0] + 0.035, foot[1], 0),
            (foot[0] + 0.03, foot[1], 0.05),
            (0.17, 0.075),
            (0.1, 0.06),
        )
        at = np.array([0, side * 0.155 * bulk, shoulders - 0.01])
        middle = at + np.array(elbow) * (1, side, 1)
        end = middle + np.array(hand) * (1, side, 1)
        yield capsule(tuple(at), tuple(middle), 0.045 * bulk)
        yield capsule(tuple(middle), tuple(end), 0.036 * bulk)
    x, y, z = end  # the right hand
    if holds == "rifle":
        yield rod((x - 0.25, y + 0.02, z - 0.03), (x + 0.5, y + 0.06, z + 0.08), 0.025)
    elif holds == "staff":
        yield rod((x, y, 0), (x, y, 1.1), 0.022)
    elif holds == "shield":
        yield rod((x + 0.02, y, z), (x + 0.06, y, z), 0.19)
    elif holds == "bag":
        yield block((x, y, z - 0.24), (x, y, z - 0.02), (0.26, 0.09))
    elif holds == "sword":
        yield rod((x, y, z), (x + 0.25, y, z + 0.45), 0.025, 0.012)
    elif holds == "pack":
        yield block((-0.15, 0, 0.52), (-0.14, 0, 0.86), (0.16, 0.26))
    if hat == "brim":
        yield rod((0, 0, 0.965), (0, 0, 0.98), 0.15)
        yield rod((0, 0, 0.97), (0, 0, 1.06), 0.085, 0.07)
    elif hat == "helmet":
        yield ball((0, 0, 0.96), (0.10, 0.095, 0.075))
    elif hat == "cone":
        yield rod((0, 0, 0.96), (0, 0, 1.2), 0.09, 0.005)
    elif hat == "skirt":
        yield rod((0, 0, 0.2), (0, 0, 0.6), 0.25, 0.1)


HANGING = ((0.0, 0.04, -0.17), (0.04, 0.01, -0.16))
RAISED = ((0.02, 0.10, 0.14), (0.02, 0.02, 0.17))
FORWARD = ((0.14, 0.02, -0.08), (0.16, -0.03, 0.03))
ASIDE = ((0.0, 0.17, -0.02), (0.0, 0.16, 0.02))
BENT = ((-0.05, 0.09, -0.14), (0.15, -0.06, 0.0))
ON_HIP = ((-0.04, 0.12, -0.12), (0.05, -0.11, -0.10))
PEOPLE = (
    (1.0, 0.02, 0.03, (HANGING, HANGING), "", ""),
    (1.0, 0.13, 0.03, (BENT, BENT), "helmet", "rifle"),
    (1.3, 0.03, 0.10, (RAISED, RAISED), "", ""),
    (0.9, 0.18, 0.02, (FORWARD, BENT), "", "pack"),
    (1.1, 0.04, 0.08, (ON_HIP, FORWARD), "brim", "staff"),
    (1.2, 0.10, 0.06, (HANGING, RAISED), "helmet", "sword"),
    (0.85, 0.02, 0.01, (ASIDE, ASIDE), "skirt", ""),
    (1.4, 0.05, 0.07, (FORWARD, FORWARD), "helmet", "shield"),
    (0.95, 0.16, 0.03, (BENT, HANGING), "brim", "bag"),
    (1.15, 0.06, 0.12, (RAISED, ON_HIP), "cone", ""),
)
