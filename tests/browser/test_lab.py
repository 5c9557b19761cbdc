"""The notebooks in JupyterLab as ``make lab`` starts it: they open, run, unfold and can be played with."""

from __future__ import annotations

import re
import urllib.error
from dataclasses import replace
from typing import Any

import nbformat
import psutil
import pytest

from lib.run import parameters, paths
from tests.browser.slices import needed_for

NOTEBOOKS = [file.stem for file in sorted(paths.NOTEBOOKS.glob("[0-9]*.ipynb"))]
RUN_WHOLE = ["00_start_here", "04_paraphrase_mrr"]
PLAY = re.compile(r"\b(?:widgets\.)?(pick|slide)\(")
QUICK = ["tfidf", "glove-6b-50d", "wordllama"]  # in the place of all embedders, where only the widgets matter


def code(name: str) -> str:
    cells = nbformat.read(paths.NOTEBOOKS / f"{name}.ipynb", as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code")


PLAYED_WITH = [name for name in NOTEBOOKS if PLAY.search(code(name))]


def small(name: str, **changed: Any) -> Any:
    """A notebook with the parameters of the smoke profile, and `changed`, put in as papermill does."""
    from papermill.iorw import load_notebook_node
    from papermill.parameterize import parameterize_notebook

    source = paths.NOTEBOOKS / f"{name}.ipynb"
    known = parameters.of_notebook(source)
    given = parameters.of_profile(source, "smoke") | {key: value for key, value in changed.items() if key in known}
    return parameterize_notebook(load_notebook_node(str(source)), given)


def put(lab, path: str, notebook: Any) -> str:
    """Lay a notebook beside the served ones."""
    nbformat.write(notebook, lab.project / "notebooks" / path)
    return path


def test_the_kernel_is_the_projects_whatever_the_user_has_at_home(lab) -> None:
    offered = lab.request("GET", "kernelspecs")
    names = {kernel: offered["kernelspecs"][kernel]["spec"]["display_name"] for kernel in offered["kernelspecs"]}
    assert offered["default"] == "python3"
    assert names["python3"] == "Python 3 (ipykernel)"


def test_only_this_machine_reaches_it_and_only_with_the_token(lab) -> None:
    listening = [c.laddr for c in psutil.net_connections("tcp") if c.status == "LISTEN" and c.laddr.port == lab.port]
    assert [address.ip for address in listening] == ["127.0.0.1"]
    lab.request("GET", "contents")
    with pytest.raises(urllib.error.HTTPError, match="403"):
        replace(lab, token="guessed").request("GET", "contents")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_opens_without_an_error_or_a_dialog_and_solutions_unfold(lesson, lab, name) -> None:
    lesson.open(f"{name}.ipynb")
    lesson.screenshot(name)
    for obstacle in (".jp-Dialog", ".Toastify__toast", "mjx-merror", "[data-mjx-error]"):
        assert lesson.page.locator(obstacle).all_inner_texts() == []
    solutions = lesson.page.locator("details")
    assert solutions.count() == 3
    for solution in solutions.all():
        assert not solution.locator("p").first.is_visible()
        solution.locator("summary").click()
        assert solution.locator("p").first.is_visible()
    # The arrangement of tabs is the project's: the user's own JupyterLab does not open with these notebooks.
    assert not (lab.home / ".jupyter" / "lab" / "workspaces").exists()


@pytest.mark.parametrize("name", RUN_WHOLE)
def test_run_all_cells_ends_without_an_error_and_figures_appear(lesson, lab, name) -> None:
    lesson.open(put(lab, f"small_{name}.ipynb", small(name)))
    lesson.run_all(seconds=240)
    lesson.show(".jp-OutputArea-output img")
    lesson.screenshot(f"{name}_run")
    assert lesson.errors() == []
    described = lesson.alternative_texts()
    assert described
    assert min(len(text) for text in described) > 20
    assert list((lab.project / "figures" / "interactive" / name).glob("*.png"))


@pytest.mark.parametrize("name", PLAYED_WITH)
def test_each_widget_is_moved_and_what_it_shows_changes(lesson, lab, name) -> None:
    notebook = small(name, embedder_names=QUICK)
    notebook.cells = needed_for(notebook.cells, PLAY)
    lesson.open(put(lab, f"widgets_{name}.ipynb", notebook))
    lesson.run_all(seconds=240)
    assert lesson.errors() == []
    controls = lesson.controls()
    assert len(controls) >= len(PLAY.findall(code(name)))
    for number, control in enumerate(controls):
        before = lesson.seen_with(control)
        lesson.move(control)
        lesson.wait_until_changed(control, before)
        lesson.screenshot(f"{name}_widget_{number}")
