"""What a reader does in JupyterLab: open a notebook, run it, look, and play."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

KERNEL = "Python 3 (ipykernel)"
SECONDS = 1000  # in milliseconds, which the browser counts in
ERROR = '[data-mime-type="application/vnd.jupyter.error"]'
# The last cell has its number, or something went wrong.
ENDED = f"""() => document.querySelector('{ERROR}') ||
    /\\d/.test([...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].at(-1).innerText)"""  # noqa: E501
# A reader's controls, of ipywidgets: sliders and menus.
CONTROLS = ".jp-Cell-outputArea .jupyter-widgets :is(.noUi-handle, select)"
# What a reader sees of the results: their text and their pictures.
SEEN = """outputs => outputs.map(
    o => [o.innerText, ...[...o.querySelectorAll('img')].map(i => i.src)].join())"""


class Lesson:
    """One page of a browser, with a notebook in JupyterLab."""

    def __init__(self, page: Page, lab) -> None:
        self.page = page
        self.lab = lab

    def open(self, path: str) -> None:
        """Open a notebook of the served folder and wait until its kernel is ready."""
        self.page.goto(
            f"{self.lab.address}/lab/tree/{path}?reset&token={self.lab.token}"
        )
        self.page.locator(
            ".jp-NotebookPanel .jp-Toolbar-kernelName", has_text=KERNEL
        ).wait_for()
        self.wait_until_idle(60)

    def wait_until_idle(self, seconds: float) -> None:
        self.page.locator(
            '.jp-Notebook-ExecutionIndicator[data-status="idle"]'
        ).wait_for(timeout=seconds * SECONDS)

    def run_all(self, seconds: float) -> None:
        """Choose Run > Run All Cells; wait until the last cell has run or one fails."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        self.page.wait_for_function(ENDED, timeout=seconds * SECONDS)
        self.wait_until_idle(seconds)

    def errors(self) -> list[str]:
        """The errors among the outputs."""
        return self.page.locator(ERROR).all_inner_texts()

    def alternative_texts(self) -> list[str]:
        """Of each picture among the outputs; empty where there is none."""
        return self.page.locator(".jp-OutputArea-output img").evaluate_all(
            "images => images.map(i => i.alt)"
        )

    def controls(self) -> list[Locator]:
        """Sliders and menus, from top to bottom."""
        return self.page.locator(CONTROLS).all()

    def move(self, control: Locator, seconds: float = 60) -> None:
        """Give a control its next value; wait until the outputs of its cell change."""
        cell = self.page.locator(".jp-CodeCell", has=control)
        outputs = cell.locator(".widget-output")
        before = outputs.evaluate_all(SEEN)
        control.scroll_into_view_if_needed()
        if control.evaluate("element => element.matches('select')"):
            control.select_option(index=1)
        elif control.get_attribute("aria-valuenow") == control.get_attribute(
            "aria-valuemax"
        ):
            control.press("ArrowLeft")
        else:
            control.press("ArrowRight")
        end = time.monotonic() + seconds
        # They may be empty while being redrawn.
        while (seen := outputs.evaluate_all(SEEN)) == before or not "".join(seen):
            assert time.monotonic() < end, f"moved, and nothing changed: {before}"
            self.page.wait_for_timeout(100)
        self.wait_until_idle(seconds)
