"""Sliders and menus for JupyterLab, and static results in headless execution."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets
from IPython.display import display

from lib.base import paths


def slide(function: Callable, **ranges: Any) -> None:
    """Show what a function makes of some values, and let the reader change each value.

    In a notebook that is executed headlessly (``make figures``) only the result for the
    first values is shown, and needs no JavaScript.

    Parameters
    ----------
    function : callable
        Takes a value under each name of `ranges`, shows something itself.
    ranges : (float, float, float, float) or mapping
        The number to begin with, the lowest, the highest, and the step; whole numbers
        stay whole. Or a menu: what the reader sees of each option, and its value, the
        one to begin with first.
    """
    if paths.FIGURES_VARIABLE in os.environ:
        menus = {
            name: tuple(values.values())
            for name, values in ranges.items()
            if isinstance(values, Mapping)
        }
        function(**{name: values[0] for name, values in (ranges | menus).items()})
    else:
        display(
            ipywidgets.interactive(
                function, **{name: _control(values) for name, values in ranges.items()}
            )
        )


def _control(values: Any) -> ipywidgets.Widget:
    if isinstance(values, Mapping):
        return ipywidgets.Dropdown(
            options=list(values.items()), layout={"width": "100%"}
        )
    first, low, high, step = values
    slider = ipywidgets.IntSlider if type(step) is int else ipywidgets.FloatSlider
    return slider(value=first, min=low, max=high, step=step)
