"""Debian's Chromium without a window, driven by Playwright: for a benchmark, and for tests.

Playwright is a development package; `missing()` says why there is no browser.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def missing() -> str:
    """Why there is no browser; nothing if there is one."""
    if importlib.util.find_spec("playwright") is None:
        return "playwright is not installed"
    return "" if CHROMIUM else "there is no chromium (Debian's package of that name)"


@contextmanager
def page(profile: Path) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, args=FLAGS, viewport={"width": 1280, "height": 900}
        )
        context.set_default_timeout(60_000)
        try:
            yield context.pages[0] if context.pages else context.new_page()
        finally:
            context.close()
