"""Trucks of simple solids: one chassis, eight kinds of load."""

from collections.abc import Iterator

from data.look_alikes.scenes import Solid, block, capsule, rod


def truck(
    length: float,
    height: float,  # of the load
    width: float,
    cab: float,  # its length
    cab_height: float,
    bonnet: float,
    axles: int,
    load: str,
) -> Iterator[Solid]:
    wheel = 0.13
    deck, front = 2.1 * wheel, length / 2
    rear = -front
    yield block((0, 0, 1.2 * wheel), (0, 0, deck), (0.98 * length, 0.8 * width))
    face = front - bonnet
    yield block(
        (face - cab / 2, 0, 1.0 * wheel),
        (face - cab / 2, 0, 0.6 * cab_height),
        (cab, width),
        (cab, width),
    )
    yield block(
        (face - cab / 2, 0, 0.6 * cab_height),
        (face - 0.55 * cab, 0, cab_height),
        (cab, width),
        (0.8 * cab, 0.9 * width),
    )
    if bonnet:
        yield block(
            (face, 0, 0.33 * cab_height),
            (front, 0, 0.31 * cab_height),
            (0.8 * width, 0.5 * cab_height),
            (0.7 * width, 0.42 * cab_height),
            axis=0,
        )
    yield block((front, 0, 0.9 * wheel), (front + 0.04, 0, 0.9 * wheel), (width, 0.12), axis=0)
    start, end = face - cab - 0.05, rear
    middle, size = (start + end) / 2, start - end
    if load == "box":
        yield block((middle, 0, deck), (middle, 0, deck + height), (size, 1.04 * width))
    elif load == "tank":
        yield rod((end, 0, deck + height / 2), (start, 0, deck + height / 2), height / 2)
        yield block((middle, 0, deck + height), (middle, 0, deck + height + 0.05), (0.3, 0.2))
    elif load == "tipper":
        yield block(
            (middle, 0, deck),
            (middle - 0.06, 0, deck + height),
            (0.8 * size, 0.8 * width),
            (1.05 * size, 1.1 * width),
        )
    elif load == "mixer":
        yield rod(
            (start - 0.02, 0, deck + 0.3 * height), (middle, 0, deck + 0.55 * height), 0.2, 0.32
        )
        yield rod((middle, 0, deck + 0.55 * height), (end, 0, deck + height), 0.32, 0.12)
    elif load == "ladder":
        yield block((middle, 0, deck), (middle, 0, deck + 0.6 * height), (size, width))
        for side in (-1, 1):
            yield rod(
                (end - 0.1, side * 0.1, deck + 0.8 * height),
                (front - 0.1, side * 0.1, cab_height + 0.2),
                0.03,
            )
    elif load == "crane":
        yield rod((middle, 0, deck), (middle, 0, deck + 0.2), 0.25)
        yield block((middle, 0, deck + 0.1), (middle, 0, deck + 0.5 * height), (0.35, 0.3))
        yield capsule(
            (middle, 0, deck + 0.4 * height), (front + 0.1, 0, deck + height + 0.25), 0.05
        )
    elif load == "logs":
        for y, z in ((-0.13, 0.1), (0.13, 0.1), (0.0, 0.3)):
            yield rod((end - 0.05, y, deck + z), (start - 0.02, y, deck + z), 0.125)
    elif load == "sides":
        for side in (-1, 1):
            yield block(
                (middle, side * 0.48 * width, deck),
                (middle, side * 0.48 * width, deck + height),
                (size, 0.05),
            )
        for x in (end, start):
            yield block((x, 0, deck), (x, 0, deck + height), (0.05, width))
    places = [front - 0.5 * cab - 0.1, *(rear + 0.2 + 0.29 * axle for axle in range(axles - 1))]
    for x in places:
        for side in (-1, 1):
            y = side * width / 2
            yield rod((x, 0.6 * y, wheel), (x, y + side * 0.02, wheel), wheel)


TRUCKS = (
    (1.9, 0.75, 0.60, 0.42, 0.78, 0.00, 2, "box"),
    (2.0, 0.62, 0.60, 0.40, 0.80, 0.22, 3, "tank"),
    (1.7, 0.42, 0.66, 0.40, 0.80, 0.25, 3, "tipper"),
    (1.9, 0.70, 0.62, 0.42, 0.76, 0.00, 3, "mixer"),
    (2.1, 0.50, 0.58, 0.48, 0.74, 0.00, 2, "ladder"),
    (1.9, 0.60, 0.64, 0.45, 0.72, 0.00, 3, "crane"),
    (2.2, 0.50, 0.58, 0.38, 0.78, 0.28, 3, "logs"),
    (1.7, 0.22, 0.66, 0.42, 0.76, 0.20, 2, "sides"),
    (2.4, 0.85, 0.56, 0.36, 0.82, 0.24, 4, "box"),
    (1.5, 0.12, 0.64, 0.50, 0.70, 0.30, 2, "sides"),
)
