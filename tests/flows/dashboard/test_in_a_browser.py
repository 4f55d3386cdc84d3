"""The dashboard as people use it, in a browser: fill in the form, watch, open what is shown.

TOLSTOY_SCREENSHOTS names a folder in which the pictures are kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.benchmarks.browser import missing, page
from tests.flows.serving import Server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
FINISHED_MS = 600_000


class Browser:
    """A page, the folder of its screenshots, and the hosts that it called."""

    def __init__(self, page: Any, folder: Path) -> None:
        self.page, self.folder, self.called = page, folder, set[str]()
        page.on("request", lambda request: self.called.add(request.url))
        folder.mkdir(parents=True, exist_ok=True)

    def picture(self, name: str) -> None:
        self.page.wait_for_timeout(1500)  # for what slides or fades in
        self.page.screenshot(path=self.folder / f"{name}.png")

    def fill(self, label: str, value: str) -> None:
        """What stands in the field below that label."""
        self._below(label).locator("input, textarea").first.fill(value)

    def choose(self, label: str, *names: str) -> None:
        """Some of what is offered below that label."""
        self._below(label).locator(".p-select-button__icon").click()
        for name in names:
            self.page.get_by_role("option", name=name, exact=True).click()
        self.page.keyboard.press("Escape")

    def _below(self, label: str) -> Any:
        title = self.page.get_by_text(f"{label} (Optional)", exact=True)
        around = "[@class='p-label' or contains(@class, 'p-label ')]"
        return title.locator(f"xpath=ancestor::*{around}[1]")


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    if reason := missing():
        pytest.skip(reason)
    folder = Path(os.environ.get("TOLSTOY_SCREENSHOTS") or tmp_path / "screenshots")
    with page(tmp_path / "profile") as opened:
        yield Browser(opened, folder)


def test_a_sweep_from_the_form_to_its_pictures(tmp_path: Path, browser: Browser) -> None:
    server = Server(tmp_path / "home", "--cron", "0 2 * * *")
    page = browser.page
    try:
        page.goto(server.address)
        page.get_by_role("button", name="Deployments").click()
        browser.picture("deployments")
        page.get_by_role("link", name="study").first.click()
        page.get_by_text("No runs found").wait_for()
        browser.picture("study")

        page.get_by_role("button", name="Run", exact=True).click()
        page.get_by_text("Custom run").click()
        page.get_by_text("the study to begin with").wait_for()
        browser.fill("Store", "from-the-form")
        browser.choose("Data sets", "dsprites")
        browser.fill("Seeds", "1")
        browser.fill("Training Steps", "60")
        browser.picture("form")
        browser.choose("Metrics", "mig")
        page.get_by_role("button", name="Submit").click()

        browser.picture("submitted")
        page.get_by_role("button", name="Runs", exact=True).click()
        page.get_by_role("link", name="study from-the-form").first.click()
        page.get_by_text("Completed", exact=True).first.wait_for(timeout=FINISHED_MS)
        browser.picture("run")
        run = page.url
        page.get_by_text("Artifacts", exact=True).click()
        browser.picture("artifacts")
        for name, text in (
            ("cells", "dsprites-beta_vae-2"),
            ("scores", "udr (data)"),
            ("traversals", "beta_vae"),
            ("report", "Open the report"),
        ):
            page.goto(run)
            page.get_by_text("Artifacts", exact=True).click()
            page.get_by_text(f"from-the-form-{name}").click()
            page.get_by_text(text).first.wait_for()
            browser.picture(name)
            if name == "traversals":
                pictures = page.locator("img[src^='data:image/png']")
                assert pictures.count() == 6
                widths = pictures.evaluate_all("all => all.map(one => one.naturalWidth)")
                assert all(widths), "a picture is not drawn"
        address = page.get_by_role("link", name="Open the report").get_attribute("href")
        page.goto(address)
        page.get_by_role("heading").first.wait_for()
        browser.picture("the-report")
        ours = ("http://127.0.0.1", "data:", "blob:")
        assert not {url for url in browser.called if not url.startswith(ours)}
    finally:
        server.end()
