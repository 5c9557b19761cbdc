"""The parameters of the notebooks: what is accepted for each, and the files in ``params/`` that change them.

A notebook's own parameters cell is the default profile; ``params/<profile>/<notebook>.yaml`` holds what another
profile changes. Before anything runs, each value is compared with the notebook's own one, whose kind it must have, and
with `CHOICES`, `RISING`, `LEAST` and `MOST`. What depends on data, such as the size of a corpus, is checked by the
functions that use it.
"""

from __future__ import annotations

import ast
import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import yaml

from lib.run import paths
from lib.run.errors import InputError, one_line

TAG = "parameters"
SHOWN = 80  # characters of a wrong value that a message quotes

PAIRS = ["Lee", "Verse-pairs", "WS353", "STS12", "STS13", "STS14", "STS15", "STSBenchmark", "SICK-R"]
CLASSES = ["Translations", "Books", "Questions", "MRPC", "MR", "CR", "SUBJ", "MPQA", "TREC", "SST2", "SST5", "SICK-E"]
# Of each parameter that has choices, or of each member of a list.
CHOICES = {
    "approximate_methods": ["hnsw", "ivf", "ngt"],
    "classified_sets": CLASSES,
    "learned_method": ["ridge", "softmax"],
    "learned_names": ["", "SST2", "SICK-R", "SICK-E"],
    "pooling": ["", "avg", "cls", "last"],
    "profile": ["default", "paper"],
    "query_source": ["ledes", "any"],
    "rated_names": PAIRS,
    "rated_sets": PAIRS,
    "similarity_sets": ["Verses", *PAIRS],
    "tuned_on": ["verses", "STSBenchmark"],
}
RISING = {"corpus_shares", "grid", "ks", "query_counts", "sizes", "text_shares"}
# The bounds of numbers where they are not 1 (1e-9 where a fraction will do) and ten million.
LEAST = {
    **dict.fromkeys(["groups", "haystack", "l1", "overlap_limit", "seed", "seeds", "sentences"], 0),
    **dict.fromkeys(["experiment_verses", "pairs", "query_counts"], 2),
    "checked_sentences": 10,
    "checked_words": 100,
    "confidence": 0.5,
    "repetitions": 100,
    "size": 60,
    "verses": 30,
    "words": 1000,
}
MOST = {
    "confidence": 0.999,
    "corpus_shares": 0.5,
    "recall": 1,
    "text_shares": 1,
    **dict.fromkeys(["seed", "seeds"], 2**32 - 1),
    "words": 10**12,
}


def check_notebook(notebook: str, values: Mapping[str, Any]) -> None:
    """Raise InputError if a parameter of a notebook has a value that is not accepted.

    Parameters
    ----------
    notebook : str
        Its name, such as ``01_n2o``.
    values : mapping
        The values of its parameters by name, and whatever else; a notebook gives its ``globals()``.
    """
    for name, own in of_notebook(paths.NOTEBOOKS / f"{notebook}.ipynb").items():
        _check(name, values[name], own)


def _check(name: str, value: Any, own: Any) -> None:
    """Raise InputError unless a value is like the notebook's own one, one of the choices, and within the bounds."""
    key = name.split()[-1]
    if isinstance(own, dict):
        if not isinstance(value, dict) or value.keys() != own.keys():
            raise _refused(name, value, f"a table of {', '.join(own)}")
        for member in own:
            _check(f"{name}, {member}", value[member], own[member])
    elif isinstance(own, list):
        if not isinstance(value, list | tuple) or not value or any(value.count(member) > 1 for member in value):
            raise _refused(name, value, "a list of different values")
        for member in value:
            _check(name, member, own[0])
        if key in RISING and (len(value) < 2 or list(value) != sorted(value)):
            raise _refused(name, value, "two or more numbers in rising order")
    elif key in CHOICES:
        one_of(name, value, CHOICES[key])
    elif isinstance(own, bool | str):
        if type(value) is not type(own):
            raise _refused(name, value, "a text" if isinstance(own, str) else "True or False")
    else:
        low = LEAST.get(key, 1 if isinstance(own, int) else 1e-9)
        in_range(name, value, type(own)(low), type(own)(MOST.get(key, 10**7)))


def _refused(name: str, value: Any, wanted: str) -> InputError:
    return InputError(f"{name}: {shown(value)} is not accepted; give {wanted}")


# -- the notebooks' own values, and the profiles --------------------------------------------------


def cells(notebook: Path) -> list[dict[str, Any]]:
    """The cells of a notebook."""
    return json.loads(notebook.read_text(encoding="utf-8"))["cells"]


def of_notebook(notebook: Path) -> dict[str, Any]:
    """The default parameters of a notebook: the literals of its cell tagged ``parameters``.

    Raises InputError if there is no such cell, or if it holds anything else.
    """
    tagged = [cell for cell in cells(notebook) if TAG in cell["metadata"].get("tags", [])]
    try:
        statements = ast.parse("".join(tagged[0]["source"])).body
        return {statement.targets[0].id: ast.literal_eval(statement.value) for statement in statements}
    except (IndexError, AttributeError, ValueError, SyntaxError) as error:
        raise InputError(f"{notebook.name}: give a cell tagged {TAG!r} that holds only `name = literal`") from error


def of_profile(notebook: Path, profile: str) -> dict[str, Any]:
    """What a profile changes in a notebook's parameters; empty for the default profile.

    Raises InputError for a profile without a file for the notebook, for a parameter that the notebook does not have,
    and for a value that is not accepted.
    """
    if profile == "default":
        return {}
    file = paths.PARAMS / profile / f"{notebook.stem}.yaml"
    known = of_notebook(notebook)
    given = read_yaml(file)
    for name, value in given.items():
        if name not in known:
            raise InputError(f"{file}: unknown parameter {shown(name)}; {nearest(str(name), known)}")
        _check(f"{file}: {name}", value, known[name])
    return given


def of_texts(notebook: Path, given: Iterable[str]) -> dict[str, Any]:
    """What texts such as ``k=10`` change in a notebook's parameters; values other than text are written as in YAML.

    Raises InputError for a parameter that the notebook does not have, and for a value that is not accepted.
    """
    known, values = of_notebook(notebook), {}
    for name, _, text in (each.partition("=") for each in given):
        if name not in known:
            raise InputError(f"--set: unknown parameter {shown(name)}; {nearest(name, known)}")
        try:
            values[name] = text if isinstance(known[name], str) else yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise InputError(f"--set: {name}: {one_line(error)}") from error
        _check(f"--set: {name}", values[name], known[name])
    return values


def read_yaml(file: Path) -> dict[str, Any]:
    """The ``name: value`` lines of a YAML file; InputError if there is no such file, or it holds anything else."""
    try:
        given = yaml.safe_load(file.read_bytes()) or {}
    except FileNotFoundError as error:
        raise InputError(f"{file}: no such file; a profile has one for each notebook") from error
    except yaml.YAMLError as error:
        raise InputError(f"{file}: {one_line(error)}") from error
    if not isinstance(given, dict):
        raise InputError(f"{file}: give lines of `name: value`")
    return given


# -- checks of one value --------------------------------------------------------------------------


def nearest(name: str, choices: Iterable[str]) -> str:
    """A phrase that points from a misspelled name to what is accepted."""
    choices = sorted(choices)
    close = difflib.get_close_matches(name, choices, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"accepted: {', '.join(choices)}"


def shown(value: Any) -> str:
    """A wrong value as a message quotes it, cut short where it is long."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def one_of(parameter: str, value: str, choices: Iterable[str]) -> str:
    """Return `value` if it is among `choices`; raise InputError with the nearest names otherwise."""
    choices = list(choices)
    if value not in choices:
        raise InputError(f"{parameter}: {shown(value)} is not known; {nearest(str(value), choices)}")
    return value


def in_range(parameter: str, value: float, low: float, high: float, why: str = "") -> float:
    """Return `value` if low <= value <= high; otherwise raise InputError, with the reason `why` if there is one.

    Where both bounds are whole numbers, so must be the value. True and False are no numbers.
    """
    whole = isinstance(low, Integral) and isinstance(high, Integral)
    if isinstance(value, Integral if whole else Real) and not isinstance(value, bool) and low <= value <= high:
        return value
    reason = f" ({why})" if why else ""
    kind = ", a whole number" if whole else ""
    raise InputError(f"{parameter}: {shown(value)} is not accepted; give {low} to {high}{reason}{kind}")


def texts(parameter: str, value: Sequence[str]) -> Sequence[str]:
    """Return `value` if it is a list of texts, none twice; raise InputError otherwise."""
    _check(parameter, value, [""])
    return value
