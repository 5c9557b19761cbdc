"""What a lesson says of its results: titles of figures, answers, what was found.

The sentences stand in ``notebooks/findings/<lesson>.yaml``, each with the condition
under which it is true, so that neither a student nor a run on another text reads a
sentence that gives an answer away or is not true there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lib.base import parameters, paths

if TYPE_CHECKING:
    from IPython.display import Markdown

FOLDED = "<details><summary>Answer</summary>\n\n{}\n\n</details>"
OWN = (
    "*The answer is written for this lesson's own text and models. What do you see on "
    "yours?*"
)
STUDENT = "FOR_STUDENTS"  # a variable that students' copies set


class Findings:
    """The sentences of a lesson that depend on its results.

    A condition is an expression in Python over the notebook's variables, or ``always``;
    without one a sentence is true of the notebook's own parameters alone. Names in
    braces, such as ``{best}``, stand for the notebook's variables.

    Parameters
    ----------
    notebook : str
        A lesson's name, such as ``04_paraphrase_mrr``.
    variables : mapping
        The notebook's ``globals()``, whose parameters are checked.

    Raises
    ------
    InputError
        A parameter that is not accepted.
    """

    def __init__(self, notebook: str, variables: Mapping[str, Any]) -> None:
        parameters.check_notebook(notebook, variables)
        self.notebook = notebook
        self._texts = parameters.read_yaml(file_of(notebook))
        self._variables = variables
        own = parameters.of_notebook(paths.NOTEBOOKS / f"{notebook}.ipynb")
        self._is_own = all(variables[name] == value for name, value in own.items())

    def title(self, name: str) -> str:
        """The title of a figure: what it shows, or plainly what is drawn."""
        text = self._texts["figures"][name]
        is_told = not self._variables.get(STUDENT) and self._is_true(text)
        said = text["says" if is_told else "plain"]
        return said.format_map(self._variables)

    def alt(self, name: str) -> str:
        """The alternative text of a figure: what is drawn."""
        return self._texts["figures"][name]["alt"]

    def answer(self, name: str) -> Markdown:
        """A folded answer, where it is true."""
        from IPython.display import Markdown

        text = self._texts["answers"][name]
        told = FOLDED.format(text["says"].strip()) if self._is_true(text) else OWN
        return Markdown(told)

    def found(self) -> Markdown:
        """What the lesson found; nothing where it is not true."""
        from IPython.display import Markdown

        text = self._texts["found"]
        return Markdown(text["says"] if self._is_true(text) else "")

    def _is_true(self, text: Mapping[str, str]) -> bool:
        condition = text.get("when")
        if condition is None or condition == "always":
            return self._is_own or condition == "always"
        # The file is the project's own, like the notebook's cells.
        return bool(eval(condition, {}, dict(self._variables)))  # noqa: S307


def file_of(notebook: str) -> Path:
    """The file with a lesson's sentences."""
    return paths.NOTEBOOKS / "findings" / f"{notebook}.yaml"
