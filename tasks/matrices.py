"""The factor × latent matrices behind the metrics, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infra.errors import WrongInput
from metrics.base.information import entropy
from metrics.base.inputs import Inputs
from metrics.evaluate import metric
from tasks.streams import stream

Matrix = NDArray[np.float64]

ACROSS = 3  # panels in a row


def matrices(inputs: Inputs, names: Sequence[str], seed: int) -> dict[str, Matrix]:
    """By title, (latents, factors): mutual information, then what each metric has of its own."""
    available = entropy(inputs.factors)
    information = inputs.information
    share = np.divide(information, available, out=np.zeros_like(information), where=available > 0)
    found = {"mutual information / entropy": share}
    for name in names:
        own: Any = getattr(metric(name), "matrix", None)
        if own is not None:
            found[name] = own(inputs, stream("score", name, seed))
    return found


def draw_matrices(
    inputs: Inputs,
    names: Sequence[str],
    factor_names: Sequence[str] | None,
    seed: int,
    target: Path,
) -> None:
    """A panel per matrix, up to three in a row: latents across, factors down, darker is more."""
    from matplotlib.figure import Figure

    shown = matrices(inputs, names, seed)
    latents, factors = inputs.information.shape
    labels = factor_names or [f"factor {factor}" for factor in range(factors)]
    across = min(ACROSS, len(shown))
    down = -(-len(shown) // across)
    width, height = 1.6 + 0.42 * latents, 1.3 + 0.42 * factors
    figure = Figure(figsize=(width * across, height * down), layout="constrained")
    panels: Any = figure.subplots(down, across, squeeze=False).ravel()
    for panel in panels[len(shown) :]:
        panel.set_axis_off()
    for place, (panel, (title, matrix)) in enumerate(zip(panels, shown.items(), strict=False)):
        top = float(np.max(matrix, initial=0.0)) or 1.0
        panel.imshow(matrix.T, cmap="Blues", vmin=0, vmax=top, aspect="equal")
        panel.set_title(title, fontsize=10)
        panel.set_xlabel("latent")
        panel.set_xticks(range(latents))
        panel.set_yticks(range(factors), labels if place % across == 0 else [""] * factors)
        for latent in range(latents):
            for factor in range(factors):
                value = matrix[latent, factor]
                if value >= 0.005:
                    text = f"{value:.2f}".lstrip("0")
                    colour = "white" if value > 0.6 * top else "black"
                    panel.text(latent, factor, text, ha="center", va="center", fontsize=7, c=colour)
    try:
        figure.savefig(target, dpi=130, bbox_inches="tight")
    except ValueError as error:
        raise WrongInput("--plot", f"{target} ({error})", "a .png, .svg or .pdf file") from None
    except OSError as error:
        raise WrongInput("--plot", f"{target} ({error.strerror})", "a place to write") from None
