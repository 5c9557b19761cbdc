"""Sliders and menus in JupyterLab, and what replaces them if nobody is there."""

from __future__ import annotations

import pytest

from lib.base import paths, widgets

RANGES = {
    "k": (5, 1, 20, 1),
    "beta": (2.0, 1.0, 4.0, 0.5),
    "who": {"the first": "a", "the second": "b"},
}


@pytest.fixture
def displayed(monkeypatch) -> list:
    """What is displayed in JupyterLab, in order."""
    shown = []
    monkeypatch.delenv(paths.FIGURES_VARIABLE, raising=False)
    monkeypatch.setattr(widgets, "display", lambda *things: shown.extend(things))
    return shown


def test_executed_headlessly_the_first_of_all_is_shown_without_a_widget(
    monkeypatch, tmp_path, displayed
) -> None:
    monkeypatch.setenv(paths.FIGURES_VARIABLE, str(tmp_path))
    widgets.slide(lambda **values: displayed.append(values), **RANGES)
    assert displayed == [{"k": 5, "beta": 2.0, "who": "a"}]


def test_whole_numbers_stay_whole_and_a_menu_gives_the_value(displayed) -> None:
    called = []
    widgets.slide(lambda **values: called.append(values), **RANGES)
    k, beta, who = displayed[0].children[:3]
    k.value, beta.value, who.label = 7, 2.5, "the second"
    assert called[0] == {"k": 5, "beta": 2.0, "who": "a"}
    assert called[-1] == {"k": 7, "beta": 2.5, "who": "b"}
    assert isinstance(called[-1]["k"], int)
