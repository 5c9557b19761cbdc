"""Picking in JupyterLab, and what stands in its place where nobody is there to pick."""

from __future__ import annotations

import IPython.display
import pytest

from lib import paths, widgets
from lib.errors import InputError


@pytest.fixture
def displayed(monkeypatch) -> list:
    """What is displayed, in order."""
    shown = []
    monkeypatch.setattr(IPython.display, "display", shown.append)
    return shown


def test_executed_headlessly_the_first_option_is_shown_without_a_widget(monkeypatch, tmp_path, displayed) -> None:
    monkeypatch.setenv(paths.FIGURES_VARIABLE, str(tmp_path))
    widgets.pick(lambda number: f"number {number}", {"one": 1, "two": 2}, "number")
    assert displayed == ["number 1"]


def test_in_jupyterlab_the_first_option_is_shown_until_another_is_picked(monkeypatch, displayed) -> None:
    monkeypatch.delenv(paths.FIGURES_VARIABLE, raising=False)
    widgets.pick(lambda number: f"number {number}", {"one": 1, "two": 2}, "number")
    *_, box = displayed
    field = box.children[0]
    assert (list(field.options), field.description) == (["one", "two"], "number")
    assert box.result == "number 1"
    field.value = "two"
    assert box.result == "number 2"
    field.value = ""
    assert box.result == "number 1"


def test_nothing_to_pick_from_gets_a_sentence() -> None:
    with pytest.raises(InputError, match="query: there is nothing to pick from"):
        widgets.pick(str, {}, "query")
