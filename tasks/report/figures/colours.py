"""One colour and one marker per method, the same on every picture and in every table.

Figures are drawn in the colours of the light page; axes.py then replaces each with its CSS
variable, so that the dark page has its own. The hues are those of Okabe and Ito, which people
with any colour vision can tell apart; the markers say the same again without colour.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

INK, MUTED, RULE, GROUND = "#1d1d1b", "#66645e", "#e3e0d8", "#fdfcfa"
DARK_INK, DARK_MUTED, DARK_RULE, DARK_GROUND = "#e9e6df", "#a5a29a", "#383632", "#181716"


@dataclass(frozen=True)
class Look:
    """How a method is drawn."""

    variable: str
    light: str
    dark: str
    marker: str


KNOWN = {
    "beta_vae": Look("--m0", "#0072b2", "#4f9fe8", "o"),
    "factor_vae": Look("--m1", "#d55e00", "#ee7d33", "s"),
    "beta_tcvae": Look("--m2", "#009e73", "#2bbd93", "^"),
    "dip_vae_i": Look("--m3", "#b8578f", "#dc8fbd", "D"),
    "dip_vae_ii": Look("--m4", "#d99400", "#eab54a", "v"),
    "annealed_vae": Look("--m5", "#46a5dc", "#93d2f5", "P"),
}
SPARE = (
    Look("--m6", "#555550", "#bdbab2", "X"),
    Look("--m7", "#8a6d3b", "#c5a46a", "<"),
    Look("--m8", "#7a5195", "#b48fd0", ">"),
    Look("--m9", "#6b8e23", "#a4c65c", "p"),
)
PAGE = {
    "--ink": (INK, DARK_INK),
    "--muted": (MUTED, DARK_MUTED),
    "--rule": (RULE, DARK_RULE),
    "--ground": (GROUND, DARK_GROUND),
}


def looks_of(methods: Iterable[str]) -> dict[str, Look]:
    """Every method's look; methods we do not know take the spare ones in turn."""
    found: dict[str, Look] = {}
    unknown = 0
    for method in methods:
        if method in KNOWN:
            found[method] = KNOWN[method]
        elif method not in found:
            found[method] = SPARE[unknown % len(SPARE)]
            unknown += 1
    return found


def variables() -> dict[str, str]:
    """The CSS variable of every light colour."""
    of_page = {light: name for name, (light, _) in PAGE.items()}
    return of_page | {look.light: look.variable for look in (*KNOWN.values(), *SPARE)}


def css() -> str:
    """The variables' values, light and dark."""
    light, dark = [], []
    for name, (of_light, of_dark) in PAGE.items():
        light.append(f"{name}:{of_light}")
        dark.append(f"{name}:{of_dark}")
    for look in (*KNOWN.values(), *SPARE):
        light.append(f"{look.variable}:{look.light}")
        dark.append(f"{look.variable}:{look.dark}")
    return (
        f":root{{color-scheme:light dark;{';'.join(light)}}}\n"
        f"@media (prefers-color-scheme:dark){{:root{{{';'.join(dark)}}}}}"
    )
