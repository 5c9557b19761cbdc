"""What a reader can play with in JupyterLab, and what stands in its place where nobody is there to play."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from lib.run import paths
from lib.run.errors import InputError


def pick(function: Callable[[Any], Any], options: Mapping[str, Any], description: str) -> None:
    """Show what `function` makes of one of some options, and let the reader pick another one.

    In JupyterLab that is a field that completes what is typed into it. In a notebook that is executed headlessly
    (``make figures``) only the result for the first option is shown, and needs no JavaScript.

    Parameters
    ----------
    function : takes an option's value, returns something to display
    options : what the reader sees of each option, and its value; the first is shown until another is picked
    description : what is picked, such as "query"

    Raises InputError if there is nothing to pick from.
    """
    from IPython.display import display

    if not options:
        raise InputError(f"{description}: there is nothing to pick from; give at least one option")
    if paths.FIGURES_VARIABLE in os.environ:
        display(function(next(iter(options.values()))))
    else:
        display(_picker(function, options, description))


def _picker(function: Callable[[Any], Any], options: Mapping[str, Any], description: str) -> Any:
    import ipywidgets

    first = next(iter(options))
    field = ipywidgets.Combobox(
        options=list(options),
        ensure_option=True,
        placeholder=f"type a few words; empty: {first}",
        description=description,
        layout=ipywidgets.Layout(width="100%"),
    )

    def show(choice: str) -> Any:
        # An empty field stands for the first option: a browser offers only options that hold what is in the field.
        return function(options[choice or first])

    return ipywidgets.interactive(show, {"auto_display": True}, choice=field)


def slide(function: Callable[..., Any], **ranges: tuple[float, float, float, float] | Mapping[str, Any]) -> None:
    """Show what `function` makes of some numbers, and let the reader move each between its bounds.

    In a notebook that is executed headlessly (``make figures``) only the result for the first numbers is shown.

    Parameters
    ----------
    function : takes a value under each name of `ranges`, shows something itself
    ranges : the number to begin with, the lowest, the highest, and the step; whole numbers stay whole. Or a menu: what
        the reader sees of each option, and its value, the one to begin with first
    """
    if paths.FIGURES_VARIABLE in os.environ:
        function(**{name: _first(values) for name, values in ranges.items()})
        return
    import ipywidgets
    from IPython.display import display

    controls = {name: _control(name, values) for name, values in ranges.items()}
    display(*controls.values(), ipywidgets.interactive_output(function, controls))


def _first(values: tuple[float, float, float, float] | Mapping[str, Any]) -> Any:
    return next(iter(values.values() if isinstance(values, Mapping) else values))


def _control(name: str, values: tuple[float, float, float, float] | Mapping[str, Any]) -> Any:
    import ipywidgets

    if isinstance(values, Mapping):
        options = list(values.items())
        return ipywidgets.Dropdown(options=options, description=name, layout=ipywidgets.Layout(width="100%"))
    first, low, high, step = values
    whole = all(isinstance(number, int) for number in values)
    slider = ipywidgets.IntSlider if whole else ipywidgets.FloatSlider
    return slider(value=first, min=low, max=high, step=step, description=name)
