"""The notebooks in JupyterLab as ``make lab`` starts it.

They open, unfold, run, and can be played with.
"""

from __future__ import annotations

import urllib.error

import psutil
import pytest
from papermill.iorw import load_notebook_node, write_ipynb
from papermill.parameterize import parameterize_notebook

from lib.base import paths
from tests.sizes import NIGHTLY
from tools.run import profiles

NOTEBOOKS = [file.stem for file in paths.lessons()]
RUN = NOTEBOOKS if NIGHTLY else ["00_start_here"]
OBSTACLES = ".jp-Dialog, .Toastify__toast, mjx-merror, [data-mjx-error]"


# README: "`make lab` opens the first lesson in JupyterLab, on this machine only, with a
# token"
# SECURITY: "nobody else can connect: JupyterLab on 127.0.0.1 with a token"
def test_only_this_machine_reaches_it_and_only_with_the_token(lab) -> None:
    server = psutil.Process(lab.process)
    addresses = set()
    for process in (server, *server.children(recursive=True)):
        for socket in process.net_connections():
            if socket.status == "LISTEN":
                addresses.add(socket.laddr.ip)
    assert addresses == {"127.0.0.1"}
    lab.request("GET", "contents")
    # The other host is a page elsewhere whose name is made to lead here.
    for header in ({"Authorization": "token guessed"}, {"Host": "example.org"}):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            lab.request("GET", "contents", **header)


# README: "`make lab` opens the first lesson in JupyterLab"
# docs/troubleshooting.md: "a notebook is saved only when you save it"
def test_the_first_lesson_opens_and_is_saved_only_when_the_reader_saves_it(
    lesson, lab
) -> None:
    page = lesson.page
    page.goto(f"{lab.address}/?token={lab.token}")
    page.get_by_role("tab", name="00_start_here.ipynb").wait_for()
    lesson.wait_until_idle(60)
    page.get_by_role("menuitem", name="Settings", exact=True).click()
    autosave = page.locator(".lm-Menu-item", has_text="Autosave Documents")
    autosave.wait_for()
    assert autosave.get_attribute("aria-checked") in (None, "false")


# The links of a lesson lead to pages of the project.
def test_the_link_to_the_glossary_opens_it(lesson) -> None:
    lesson.open("notebooks/00_start_here.ipynb")
    lesson.page.get_by_role("link", name="the glossary").click()
    glossary = lesson.page.locator(".jp-MarkdownViewer")
    glossary.get_by_role("heading", name="Glossary").wait_for()


# README: "play with a notebook", "what you run there goes to `figures/interactive/`"
@pytest.mark.parametrize("name", RUN)
def test_a_lesson_opens_unfolds_runs_and_what_is_moved_changes_what_is_shown(
    lesson, lab, name
) -> None:
    source = paths.NOTEBOOKS / f"{name}.ipynb"
    notebook = parameterize_notebook(
        load_notebook_node(str(source)), profiles.of_profile(source, "smoke")
    )
    write_ipynb(notebook, str(lab.project / "notebooks" / f"small_{name}.ipynb"))
    lesson.open(f"notebooks/small_{name}.ipynb")
    assert lesson.page.locator(OBSTACLES).all_inner_texts() == []
    folded = lesson.page.locator("details")  # answers, and solutions
    assert folded.count() == source.read_text().count("<details>")
    for text in folded.all():
        assert not text.locator("p").first.is_visible()
        text.locator("summary").click()
        assert text.locator("p").first.is_visible()
    lesson.run_all(seconds=240)
    assert lesson.errors() == []
    described = lesson.alternative_texts()
    assert described
    assert min(len(text) for text in described) > 20
    assert list((lab.project / "figures" / "interactive" / name).glob("*.png"))
    for control in lesson.controls():
        lesson.move(control)
    # The arrangement of tabs is the project's: the user's own JupyterLab does not open
    # with these notebooks.
    assert not (lab.home / ".jupyter" / "lab" / "workspaces").exists()
