"""Cars made of wedges and wheels: a form is two dozen numbers, most of them set by a kind of car.

Lengths are fractions of the car's length. x points to the front, which ends at 0.5; places along
the car are measured from there to the rear. z is the height above the road.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from data.look_alikes.scenes import Solid, Vector, ball, block, rod

BODY, GLASS, WHEEL, LAMP, TAIL, TRIM, PLATE = range(7)  # paints


@dataclass(frozen=True)
class Form:
    width: float = 0.38
    height: float = 0.31
    belt: float = 0.20  # where the windows begin
    nose: float = 0.155  # height of the bonnet's front end
    tail: float = 0.185  # height of the boot's rear end
    clearance: float = 0.045
    bonnet: float = 0.27  # place where the windscreen begins
    roof: float = 0.43  # where it ends
    roof_end: float = 0.68
    boot: float = 0.82  # where the rear window ends
    narrowing: float = 0.74  # of the roof, against the width
    wheel: float = 0.068  # radius
    front_axle: float = 0.19
    rear_axle: float = 0.80
    wing: float = 0.0  # height of a spoiler above the tail
    bed: float = 0.0  # depth of a pick-up's bed
    open_top: bool = False
    dark_bumpers: bool = False
    pillar: float = 0.5  # its place in the row of windows


KINDS = {
    "saloon": Form(),
    "hatchback": Form(
        height=0.36, belt=0.225, width=0.42, nose=0.175, tail=0.22, bonnet=0.24, roof=0.42,
        roof_end=0.86, boot=0.965, wheel=0.074, rear_axle=0.815,
    ),
    "estate": Form(height=0.32, roof_end=0.90, boot=0.975, belt=0.205, tail=0.2, pillar=0.45),
    "van": Form(
        height=0.42, width=0.42, belt=0.25, nose=0.20, tail=0.24, bonnet=0.09, roof=0.25,
        roof_end=0.95, boot=0.985, narrowing=0.84, front_axle=0.17,
    ),
    "people carrier": Form(
        height=0.385, width=0.41, belt=0.225, nose=0.17, tail=0.22, bonnet=0.19, roof=0.40,
        roof_end=0.90, boot=0.975, wheel=0.07,
    ),
    "off-roader": Form(
        height=0.41, width=0.42, belt=0.265, nose=0.235, tail=0.26, clearance=0.085, bonnet=0.27,
        roof=0.36, roof_end=0.94, boot=0.975, narrowing=0.82, wheel=0.088, dark_bumpers=True,
    ),
    "pick-up": Form(
        height=0.35, width=0.38, belt=0.225, nose=0.20, tail=0.225, clearance=0.075, bonnet=0.27,
        roof=0.36, roof_end=0.53, boot=0.57, wheel=0.08, bed=0.09, narrowing=0.8,
    ),
    "sports car": Form(
        height=0.265, width=0.41, belt=0.175, nose=0.105, tail=0.17, clearance=0.03, bonnet=0.30,
        roof=0.47, roof_end=0.60, boot=0.88, narrowing=0.66, wheel=0.072,
    ),
    "racer": Form(
        height=0.24, width=0.42, belt=0.155, nose=0.085, tail=0.17, clearance=0.025, bonnet=0.25,
        roof=0.45, roof_end=0.58, boot=0.90, narrowing=0.56, wheel=0.074, wing=0.06,
    ),
    "roadster": Form(
        height=0.27, width=0.40, belt=0.18, nose=0.13, tail=0.165, clearance=0.035, bonnet=0.33,
        roof=0.42, roof_end=0.60, boot=0.66, narrowing=0.8, wheel=0.074, open_top=True,
    ),
    "limousine": Form(
        height=0.235, width=0.31, belt=0.16, nose=0.135, tail=0.15, bonnet=0.24, roof=0.33,
        roof_end=0.74, boot=0.82, wheel=0.053, clearance=0.035,
    ),
    "beetle": Form(
        height=0.36, width=0.41, belt=0.21, nose=0.12, tail=0.13, bonnet=0.26, roof=0.42,
        roof_end=0.62, boot=0.92, narrowing=0.68, wheel=0.078,
    ),
}  # fmt: skip

SPREAD = 0.055  # relative deviation of a car's numbers from those of its kind


def varied(form: Form, stream: np.random.Generator) -> Form:
    """A single car of a kind: every length differs by a few percent."""
    changed: dict[str, Any] = {
        field.name: getattr(form, field.name) * float(np.exp(SPREAD * stream.uniform(-1.5, 1.5)))
        for field in fields(form)
        if field.type is float
    }
    changed["bonnet"] = min(changed["bonnet"], changed["roof"] - 0.06)
    changed["roof_end"] = min(changed["roof_end"], 0.95)
    changed["boot"] = min(max(changed["boot"], changed["roof_end"] + 0.025), 0.985)
    changed["belt"] = min(changed["belt"], changed["height"] - 0.07)
    changed["tail"] = min(changed["tail"], changed["belt"])
    changed["nose"] = min(changed["nose"], changed["belt"])
    changed["rear_axle"] = min(changed["rear_axle"], 0.98 - 1.3 * changed["wheel"])
    return replace(form, **changed)


def car(form: Form) -> list[Solid]:
    return [*_body(form), *_cabin(form), *_wheels(form), *_trimmings(form)]


def _body(form: Form) -> Iterator[Solid]:
    """A tub that widens upwards, and on it bonnet, middle and boot."""
    width, waist = form.width, 0.6 * form.nose + 0.4 * form.clearance
    low = form.clearance
    yield block((0, 0, low), (0, 0, waist), (0.955, 0.86 * width), (0.97, width))
    bumper = TRIM if form.dark_bumpers else BODY
    for front, high in ((1, form.nose), (-1, form.tail)):
        depth, middle = high - low, (low + high) / 2
        inner, outer = front * 0.475, front * 0.5
        yield block(
            (inner, 0, middle), (outer, 0, middle - 0.01), (0.97 * width, depth),
            (0.74 * width, 0.72 * depth), axis=0,
        )  # fmt: skip
        yield block(
            (front * 0.4, 0, low + 0.025), (front * 0.503, 0, low + 0.025), (1.01 * width, 0.05),
            (0.8 * width, 0.04), axis=0, paint=bumper,
        )  # fmt: skip
    screen, boot = 0.5 - form.bonnet, 0.5 - form.boot
    yield _slab(0.475, screen + 0.002, waist, form.nose, form.belt, 0.96 * width, width)
    yield block(
        ((screen + boot) / 2, 0, waist), ((screen + boot) / 2, 0, form.belt),
        (screen - boot, width), (screen - boot, 0.95 * width),
    )  # fmt: skip
    rear = form.belt - form.bed
    yield _slab(-0.475, boot - 0.002, waist, min(form.tail, rear), rear, 0.97 * width, width)
    if form.bed:
        for side in (-1, 1):
            y = side * 0.48 * width
            yield block(((boot - 0.48) / 2, y, waist), ((boot - 0.48) / 2, y, form.belt),
                        (boot + 0.48, 0.03))  # fmt: skip
        yield block((-0.475, 0, waist), (-0.475, 0, form.belt), (0.025, 0.97 * width))
        bed = ((boot - 0.475) / 2, 0.0, rear)
        yield block(bed, (bed[0], 0, rear + 0.004), (boot + 0.46, 0.9 * width), paint=TRIM)


def _slab(
    end: float, inner: float, low: float, end_high: float, high: float, end_wide: float, wide: float
) -> Solid:
    """A bonnet or a boot: from its end, where it is lower, to the windows."""
    return block(
        (end, 0, (low + end_high) / 2), (inner, 0, (low + high) / 2),
        (end_wide, end_high - low), (0.95 * wide, high - low), axis=0,
    )  # fmt: skip


def _cabin(form: Form) -> Iterator[Solid]:
    screen, boot = 0.5 - form.bonnet, 0.5 - form.boot
    front, rear = 0.5 - form.roof, 0.5 - form.roof_end
    low, high = form.belt - 0.003, form.height - 0.012
    base = 0.9 * form.width
    if form.open_top:
        lean = (screen - front) * 0.8
        yield block((screen - 0.01, 0, low), (screen - lean, 0, form.height), (0.015, base),
                    (0.012, form.narrowing * form.width), paint=GLASS)  # fmt: skip
        for seat in (-1, 1):
            at, y = (front + rear) / 2, seat * 0.2 * form.width
            yield block((at, y, low), (at - 0.03, y, form.belt + 0.05), (0.05, 0.11), paint=TRIM)
        hole: Vector = ((screen + boot) / 2, 0, form.belt)
        yield block(hole, (hole[0], 0, form.belt + 0.004), (screen - boot, 0.8 * form.width),
                    paint=TRIM)  # fmt: skip
        return
    top = form.narrowing * form.width
    yield block(((screen + boot) / 2, 0, low), ((front + rear) / 2, 0, high),
                (screen - boot, base), (front - rear, top), paint=GLASS)  # fmt: skip
    yield block(((front + rear) / 2, 0, high), ((front + rear) / 2, 0, form.height),
                (front - rear, top), (0.86 * (front - rear), 0.8 * top))  # fmt: skip


def _wheels(form: Form) -> Iterator[Solid]:
    """Wheels in dark arches, under wings that are visible where the bonnet is low."""
    r = form.wheel
    for place in (form.front_axle, form.rear_axle):
        for side in (-1, 1):
            x, y = 0.5 - place, side * form.width / 2
            base = min(3.6 * r, 2 * place - 0.05, 1.95 - 2 * place)
            yield block((x, 0.76 * y, 1.2 * r), (x, 0.76 * y, 2.32 * r), (base, 0.23 * form.width),
                        (2.1 * r, 0.2 * form.width))  # fmt: skip
            yield rod((x, 0.8 * y, 1.02 * r), (x, y + side * 0.003, 1.02 * r), 1.16 * r, paint=TRIM)
            yield rod((x, 0.7 * y, r), (x, y + side * 0.008, r), r, paint=WHEEL)


def _trimmings(form: Form) -> Iterator[Solid]:
    width = form.width
    low, depth = form.clearance, form.nose - form.clearance
    for side in (-1, 1):
        high = low + 0.68 * depth
        yield ball((0.474, side * 0.34 * width, high), (0.026, 0.055, 0.2 * depth), LAMP)
        high = low + 0.72 * (form.tail - low)
        yield ball((-0.478, side * 0.39 * width, high), (0.022, 0.03, 0.03), TAIL)
        mirror = (0.5 - form.bonnet - 0.05, side * 0.52 * width, form.belt + 0.014)
        yield ball(mirror, (0.016, 0.026, 0.015))
    high = low + 0.55 * depth
    yield block((0.48, 0, high), (0.502, 0, high), (0.36 * width, 0.3 * depth), axis=0, paint=TRIM)
    for end in (-1, 1):
        yield block((end * 0.49, 0, low + 0.035), (end * 0.507, 0, low + 0.035), (0.11, 0.025),
                    axis=0, paint=PLATE)  # fmt: skip
    if form.wing:
        high = form.tail + form.wing
        yield block((-0.44, 0, high), (-0.44, 0, high + 0.012), (0.07, 0.9 * width))
        for side in (-1, 1):
            y = side * 0.36 * width
            yield block((-0.43, y, form.tail - 0.02), (-0.44, y, high), (0.05, 0.012))
