"""What a reader can play with in JupyterLab, and what stands in its place where nobody is there to play."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets
from IPython.display import display

from lib.run import paths


def pick(function: Callable[[Any], Any], options: Mapping[str, Any], description: str) -> None:
    """Show what a function makes of one of some options, and let the reader pick another one.

    In JupyterLab that is a field that completes what is typed into it. In a notebook that is executed headlessly
    (``make figures``) only the result for the first option is shown, and needs no JavaScript.

    Parameters
    ----------
    function : callable
        Takes an option's value, returns something to display.
    options : mapping
        What the reader sees of each option, and its value; the first is shown until another is picked.
    description : str
        What is picked, such as "query".
    """
    first = next(iter(options))
    if _is_headless():
        display(function(options[first]))
        return
    field = ipywidgets.Combobox(
        options=list(options),
        ensure_option=True,
        placeholder=f"type a few words; empty: {first}",
        description=description,
        layout={"width": "100%"},
    )

    def show(choice: str) -> Any:
        # An empty field stands for the first option: a browser offers only options that hold what is in the field.
        return function(options[choice or first])

    display(ipywidgets.interactive(show, {"auto_display": True}, choice=field))


def slide(function: Callable[..., Any], **ranges: tuple[float, float, float, float] | Mapping[str, Any]) -> None:
    """Show what a function makes of some numbers, and let the reader move each between its bounds.

    In a notebook that is executed headlessly (``make figures``) only the result for the first numbers is shown.

    Parameters
    ----------
    function : callable
        Takes a value under each name of `ranges`, shows something itself.
    ranges : (float, float, float, float) or mapping
        The number to begin with, the lowest, the highest, and the step; whole numbers stay whole. Or a menu: what the
        reader sees of each option, and its value, the one to begin with first.
    """
    if _is_headless():
        menus = {name: tuple(values.values()) for name, values in ranges.items() if isinstance(values, Mapping)}
        function(**{name: values[0] for name, values in (ranges | menus).items()})
    else:
        display(ipywidgets.interactive(function, **{name: _control(values) for name, values in ranges.items()}))


def _is_headless() -> bool:
    return paths.FIGURES_VARIABLE in os.environ


def _control(values: tuple[float, float, float, float] | Mapping[str, Any]) -> ipywidgets.Widget:
    if isinstance(values, Mapping):
        return ipywidgets.Dropdown(options=list(values.items()), layout={"width": "100%"})
    first, low, high, step = values
    slider = ipywidgets.IntSlider if type(step) is int else ipywidgets.FloatSlider
    return slider(value=first, min=low, max=high, step=step)
