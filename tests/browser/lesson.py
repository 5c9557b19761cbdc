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
# What a reader sees of the results: their text and their pictures.
SEEN = (
    "outputs => outputs.map(o => [o.innerText, ...[...o.querySelectorAll('img')].map(i "
    "=> i.src)].join())"
)


def _slide(handle: Locator) -> None:
    highest = handle.get_attribute("aria-valuenow") == handle.get_attribute(
        "aria-valuemax"
    )
    for _ in range(3):
        handle.press("ArrowLeft" if highest else "ArrowRight")


def _choose(menu: Locator) -> None:
    menu.select_option(
        index=(menu.evaluate("menu => menu.selectedIndex") + 1)
        % menu.locator("option").count()
    )


# How each kind of control is moved.
MOVES = {
    ".noUi-handle": _slide,
    "select": _choose,
}


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
        """A reader's controls: sliders and menus of ipywidgets, top to bottom."""
        return self.page.locator(
            f".jp-Cell-outputArea .jupyter-widgets :is({', '.join(MOVES)})"
        ).all()

    def move(self, control: Locator) -> None:
        """Give a control another value."""
        control.scroll_into_view_if_needed()
        kinds = [
            kind
            for kind in MOVES
            if control.evaluate("(element, kind) => element.matches(kind)", kind)
        ]
        MOVES[kinds[0]](control)

    def seen_with(self, control: Locator) -> list[str]:
        """What the outputs of a control's cell show: their text and their pictures."""
        return self._outputs(control).evaluate_all(SEEN)

    def wait_until_changed(
        self, control: Locator, before: list[str], seconds: float = 60
    ) -> None:
        """Wait until the outputs change; they may be empty while being redrawn."""
        end = time.monotonic() + seconds
        while (seen := self.seen_with(control)) == before or len("".join(seen)) < len(
            "".join(before)
        ) / 2:
            assert time.monotonic() < end, f"moved, and nothing changed: {before}"
            self.page.wait_for_timeout(100)
        self.wait_until_idle(seconds)

    def _outputs(self, control: Locator) -> Locator:
        return self.page.locator(".jp-CodeCell", has=control).locator(".widget-output")
