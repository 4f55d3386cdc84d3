"""Aeroplanes of simple solids, from glider to jumbo."""

from collections.abc import Iterator

from data.look_alikes.scenes import Solid, ball, block, capsule, rod


def aeroplane(
    radius: float,  # of a fuselage of length 2
    span: float,  # half of it
    chord: float,
    taper: float,
    sweep: float,
    place: float,  # of the wings along the fuselage
    height: float,  # of the wings, from -1 (below) to 1 (above)
    fin: float,
    engines: str,
) -> Iterator[Solid]:
    axis = radius + 0.16
    wing = axis + height * 0.8 * radius
    yield capsule((-0.35, 0, axis), (0.65, 0, axis), radius)
    yield ball((0.68, 0, axis), (0.32, 0.98 * radius, 0.96 * radius))
    yield rod((-0.35, 0, axis), (-1, 0, axis + 0.4 * radius), radius, 0.3 * radius)
    yield ball((0.5, 0, axis + 0.7 * radius), (0.2, 0.55 * radius, 0.6 * radius))
    levels: tuple[float, ...] = (-0.9 * radius, 1.6 * radius) if engines == "biplane" else (0.0,)
    for side in (-1, 1):
        for level in levels:
            root, tip = (
                (place, 0.0, wing + level),
                (place - sweep, side * span, wing + level + 0.04),
            )
            yield block(root, tip, (chord, 0.07), (taper * chord, 0.035), axis=1)
        yield block(
            (-0.86, 0, axis + 0.3 * radius),
            (-0.92 - 0.3 * sweep, side * 0.38, axis + 0.3 * radius),
            (0.26, 0.05),
            (0.15, 0.03),
            axis=1,
        )
        yield rod((place, side * 0.2, 0), (place, side * 0.2, axis), 0.03)
        y, low = side * 0.45 * span, wing - 0.09
        if engines in ("two", "four"):
            x = place - 0.45 * sweep
            yield rod((x - 0.12, y, low), (x + 0.3, y, low), 0.07, 0.085)
        if engines == "four":
            x, y = place - 0.75 * sweep, side * 0.75 * span
            yield rod((x - 0.12, y, low), (x + 0.26, y, low), 0.06, 0.075)
        if engines == "tail":
            y = side * (radius + 0.07)
            yield rod((-0.8, y, axis + 0.05), (-0.4, y, axis + 0.05), 0.065, 0.08)
        if engines == "biplane":
            yield rod((place, y, wing + levels[0]), (place, y, wing + levels[-1]), 0.025)
        if engines == "rockets":
            end = place - sweep
            yield rod(
                (end - 0.3, side * span, wing + 0.04), (end + 0.35, side * span, wing + 0.04), 0.035
            )
    yield block((-0.8, 0, axis), (-0.95, 0, axis + fin), (0.36, 0.05), (0.2, 0.03))
    yield rod((0.6, 0, 0), (0.6, 0, axis), 0.03)
    if engines in ("propeller", "biplane"):
        yield block((1.0, 0, axis - 0.3), (1.0, 0, axis + 0.3), (0.02, 0.07))
        yield rod((0.9, 0, axis), (1.08, 0, axis), 0.06, 0.02)


AEROPLANES = (
    (0.12, 0.95, 0.36, 0.40, 0.35, 0.10, -0.8, 0.42, "two"),  # airliner
    (0.16, 1.05, 0.40, 0.40, 0.45, 0.15, -0.7, 0.48, "four"),  # jumbo
    (0.12, 0.95, 0.34, 0.85, 0.00, 0.25, 1.1, 0.34, "propeller"),  # sports plane
    (0.13, 0.85, 0.36, 0.90, 0.00, 0.30, -0.2, 0.30, "biplane"),
    (0.10, 0.62, 0.85, 0.15, 0.55, -0.15, 0.0, 0.45, "rockets"),  # fighter
    (0.09, 0.60, 1.20, 0.04, 0.62, -0.25, -0.5, 0.40, ""),  # delta
    (0.11, 0.75, 0.32, 0.45, 0.30, -0.10, -0.7, 0.52, "tail"),  # business jet
    (0.19, 1.00, 0.38, 0.60, 0.08, 0.15, 1.0, 0.55, "two"),  # freighter
    (0.07, 1.20, 0.20, 0.50, 0.05, 0.20, 0.4, 0.32, ""),  # glider
    (0.14, 0.85, 0.46, 0.55, -0.12, 0.20, -0.6, 0.36, "propeller"),  # warbird
)
