"""One colour and one marker per method, the same on every picture and in every table.

Figures are drawn in the colours of the light page; axes.py then replaces each with its CSS
variable, so that the dark page has its own. The hues are those of Okabe and Ito, which people
with any colour vision can tell apart; the markers say the same again without colour.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import cycle

INK, MUTED, RULE, GROUND = "#1d1d1b", "#66645e", "#e3e0d8", "#fdfcfa"
DARK_INK, DARK_MUTED, DARK_RULE, DARK_GROUND = "#e9e6df", "#a5a29a", "#383632", "#181716"


@dataclass(frozen=True)
class Style:
    """How a method is drawn."""

    variable: str
    light: str
    dark: str
    marker: str


KNOWN = {
    "beta_vae": Style("--m0", "#0072b2", "#4f9fe8", "o"),
    "factor_vae": Style("--m1", "#d55e00", "#ee7d33", "s"),
    "beta_tcvae": Style("--m2", "#009e73", "#2bbd93", "^"),
    "dip_vae_i": Style("--m3", "#b8578f", "#dc8fbd", "D"),
    "dip_vae_ii": Style("--m4", "#d99400", "#eab54a", "v"),
    "annealed_vae": Style("--m5", "#46a5dc", "#93d2f5", "P"),
}
SPARE = (
    Style("--m6", "#555550", "#bdbab2", "X"),
    Style("--m7", "#8a6d3b", "#c5a46a", "<"),
    Style("--m8", "#7a5195", "#b48fd0", ">"),
    Style("--m9", "#6b8e23", "#a4c65c", "p"),
)
# From the least to the most, which differs most from the page, light or dark. The steps are those
# of ColorBrewer's YlGnBu, which differ in lightness, so that any colour vision can order them.
STEPS = (
    ("--q0", "#c7e9b4", "#31467f"),
    ("--q1", "#7fcdbb", "#2c63a8"),
    ("--q2", "#41b6c4", "#1f86c1"),
    ("--q3", "#1d91c0", "#3aacc6"),
    ("--q4", "#225ea8", "#74c9be"),
    ("--q5", "#253494", "#b0e0b6"),
    ("--q6", "#081d58", "#eef8b8"),
)
PAGE = {
    "--ink": (INK, DARK_INK),
    "--muted": (MUTED, DARK_MUTED),
    "--rule": (RULE, DARK_RULE),
    "--ground": (GROUND, DARK_GROUND),
}


def styles_of(methods: Iterable[str]) -> dict[str, Style]:
    """Every method's style. Others, such as a method at one number of latents, take the spare ones
    in turn, then those of methods that are not there."""
    names = list(dict.fromkeys(methods))
    unknown = [name for name in names if name not in KNOWN]
    spare = cycle((*SPARE, *(style for name, style in KNOWN.items() if name not in names)))
    of_unknown = dict(zip(unknown, spare, strict=False))
    return {name: KNOWN.get(name) or of_unknown[name] for name in names}


def variables() -> dict[str, str]:
    """The CSS variable of every light colour."""
    of_page = {light: name for name, (light, _) in PAGE.items()}
    of_steps = {light: name for name, light, _ in STEPS}
    return of_page | of_steps | {style.light: style.variable for style in (*KNOWN.values(), *SPARE)}


def css() -> str:
    """The variables' values, light and dark."""
    light, dark = [], []
    for name, (of_light, of_dark) in PAGE.items():
        light.append(f"{name}:{of_light}")
        dark.append(f"{name}:{of_dark}")
    for style in (*KNOWN.values(), *SPARE):
        light.append(f"{style.variable}:{style.light}")
        dark.append(f"{style.variable}:{style.dark}")
    for name, of_light, of_dark in STEPS:
        light.append(f"{name}:{of_light}")
        dark.append(f"{name}:{of_dark}")
    return (
        f":root{{color-scheme:light dark;{';'.join(light)}}}\n"
        f"@media (prefers-color-scheme:dark){{:root{{{';'.join(dark)}}}}}"
    )
