"""The parameters of the notebooks: what is accepted for each, and the files in ``params/`` that change them.

A notebook's own parameters cell is the default profile; ``params/<profile>/<notebook>.yaml`` holds what another
profile changes. Both are checked against `ACCEPTED`, the one place with ranges and choices, before anything runs. What
depends on data, such as the size of a corpus, is checked by the functions that use it.
"""

from __future__ import annotations

import ast
import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from lib.run import paths
from lib.run.errors import InputError, one_line

TAG = "parameters"
SHOWN = 80  # characters of a wrong value that a message quotes

# -- what is accepted -----------------------------------------------------------------------------


class Accepted(NamedTuple):
    """What is accepted for a parameter.

    Attributes
    ----------
    what : str
        In words, as a message says it after "give".
    accepts : callable
        Whether a value is accepted.
    """

    what: str
    accepts: Callable[[Any], bool]


def whole(low: int, high: int) -> Accepted:
    """A whole number from `low` to `high`."""
    return Accepted(f"a whole number from {low} to {high}", lambda value: type(value) is int and low <= value <= high)


def number(low: float, high: float) -> Accepted:
    """A number from `low` to `high`."""
    return Accepted(
        f"a number from {low:g} to {high:g}", lambda value: type(value) in (int, float) and low <= value <= high
    )


def choice(*values: Any) -> Accepted:
    """One of `values`."""
    return Accepted(f"one of {', '.join(map(repr, values))}", lambda value: value in values)


def several(member: Accepted, at_least: int = 0, rising: bool = False) -> Accepted:
    """A list of different values, each one a `member`; `rising`: in rising order."""

    def accepts(values: Any) -> bool:
        if not isinstance(values, list | tuple) or not all(map(member.accepts, values)):
            return False
        different = sorted(set(values))
        return len(values) == len(different) >= at_least and (list(values) == different or not rising)

    order = "rising" if rising else "different"
    return Accepted(f"a list of {at_least} or more {order} values, each {member.what}", accepts)


TEXT = Accepted("a text", lambda value: isinstance(value, str))
NAMES = several(TEXT, at_least=1)
COUNT = whole(1, 10**6)
ANY_COUNT = whole(0, 10**7)  # 0 for all that there are
PAIRS = "Lee", "Verse-pairs", "WS353", "STS12", "STS13", "STS14", "STS15", "STSBenchmark", "SICK-R"
RATED = several(choice(*PAIRS), at_least=1)
CLASSIFIED = several(
    choice(
        *("Translations", "Books", "Questions"),
        *("MRPC", "MR", "CR", "SUBJ", "MPQA", "TREC", "SST2", "SST5", "SICK-E"),
    ),
    at_least=1,
)

# Of each parameter of each notebook, by its name; a table has an entry for each of its keys.
ACCEPTED = {
    "approximate_methods": several(choice("hnsw", "ivf", "ngt")),
    "checked_sentences": whole(10, 10**4),
    "checked_words": whole(100, 10**6),
    "classified_sets": CLASSIFIED,
    "classifying": {
        "sentences": ANY_COUNT,
        "folds": whole(1, 100),
        "penalties": several(number(1e-9, 1e9), at_least=1),
    },
    "cluster": TEXT,
    "confidence": number(0.5, 0.999),
    "corpus_name": TEXT,
    "corpus_names": NAMES,
    "corpus_shares": several(number(1e-9, 0.5), at_least=2, rising=True),
    "dimensions": COUNT,
    "embedder": TEXT,
    "embedder_name": TEXT,
    "embedder_names": NAMES,
    "experiment_k": COUNT,
    "experiment_names": NAMES,
    "experiment_verses": whole(2, 3000),
    "frequency_lists": NAMES,
    "grid": several(number(1e-9, 1e3), at_least=1, rising=True),
    "groups": ANY_COUNT,
    "haystack": ANY_COUNT,
    "k": COUNT,
    "ks": several(COUNT, at_least=2, rising=True),
    "l1": number(0, 1e6),
    "learned_method": choice("ridge", "softmax"),
    "learned_names": several(choice("", "SST2", "SICK-R", "SICK-E")),
    "n": COUNT,
    "near_duplicates": TEXT,
    "neighbors_file": TEXT,
    "one_form": choice(True, False),
    "other_corpora": several(TEXT, at_least=1),
    "outlier_rank": COUNT,
    "overlap_limit": number(0, 2),
    "pairs": whole(2, 10**6),
    "pairs_source": TEXT,
    "pooling": choice("", "avg", "cls", "last"),
    "popular_k": COUNT,
    "probe_names": NAMES,
    "probing": {"text": TEXT, "size": whole(60, 10**6), "pipeline": TEXT},
    "queries": COUNT,
    "query": TEXT,
    "query_counts": several(whole(2, 10**6), at_least=1, rising=True),
    "query_source": choice("ledes", "any"),
    "rated_names": RATED,
    "rated_sets": RATED,
    "recall": number(0.01, 1),
    "repetitions": whole(100, 10**6),
    "samples": whole(1, 1000),
    "profile": choice("default", "paper"),
    "second_corpus": TEXT,
    "seed": whole(0, 2**32 - 1),
    "seeds": several(whole(0, 2**32 - 1), at_least=1),
    "separate_text": TEXT,
    "shown": whole(1, 100),
    "similarity_sets": several(choice("Verses", *PAIRS), at_least=1),
    "size_training": {"sentences": ANY_COUNT, "epochs": whole(1, 10**4), "seeds": whole(1, 100)},
    "sizes": several(whole(1, 10**4), at_least=1, rising=True),
    "table_1": dict.fromkeys(["MOWE", "SOWE", "PV-DM", "PV-DBOW", "URAE", "URAE, balanced"], TEXT),
    "task_names": NAMES,
    "text_shares": several(number(1e-9, 1), at_least=2, rising=True),
    "training": Accepted("a table such as {'dim': 100}", lambda value: isinstance(value, dict)),
    "tuned_on": choice("verses", "STSBenchmark"),
    "vector_names": NAMES,
    "words": whole(1000, 10**12),
    "verses": whole(30, 10**5),
}


def check_notebook(notebook: str, values: Mapping[str, Any]) -> None:
    """Raise InputError if a parameter of a notebook has a value that `ACCEPTED` does not allow.

    Parameters
    ----------
    notebook : str
        Its name, such as ``01_n2o``.
    values : mapping
        The values of its parameters by name, and whatever else; a notebook gives its ``globals()``.
    """
    for name in of_notebook(paths.NOTEBOOKS / f"{notebook}.ipynb"):
        _check(name, values[name], ACCEPTED.get(name))


def _check(name: str, value: Any, accepted: Any) -> None:
    if isinstance(accepted, dict):
        if not isinstance(value, dict) or value.keys() != accepted.keys():
            raise InputError(f"{name}: {shown(value)} is not accepted; give a table of {', '.join(accepted)}")
        for key, member in accepted.items():
            _check(f"{name}, {key}", value[key], member)
    elif accepted and not accepted.accepts(value):
        raise InputError(f"{name}: {shown(value)} is not accepted; give {accepted.what}")


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
    and for a value that `ACCEPTED` does not allow.
    """
    if profile == "default":
        return {}
    file = paths.PARAMS / profile / f"{notebook.stem}.yaml"
    known = of_notebook(notebook)
    given = read_yaml(file)
    for name, value in given.items():
        if name not in known:
            raise InputError(f"{file}: unknown parameter {shown(name)}; {nearest(str(name), known)}")
        _check(f"{file}: {name}", value, ACCEPTED.get(name))
    return given


def read_yaml(file: Path) -> dict[str, Any]:
    """The ``name: value`` lines of a YAML file; InputError if there is no such file, or it holds anything else."""
    try:
        given = _Loader(file.read_bytes()).get_single_data() or {}
    except FileNotFoundError as error:
        raise InputError(f"{file}: no such file; a profile has one for each notebook") from error
    except yaml.YAMLError as error:
        raise InputError(f"{file}: {one_line(error)}") from error
    if not isinstance(given, dict):
        raise InputError(f"{file}: give lines of `name: value`")
    return given


class _Loader(yaml.SafeLoader):
    """YAML in which a key that is given twice is an error, and 1e-3 is a number."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        twice = [key for key in keys if keys.count(key) > 1]
        if twice:
            raise yaml.MarkedYAMLError(problem=f"{twice[0]} is given twice", problem_mark=node.start_mark)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+]?\d+e[-+]?\d+$"), [*"-+0123456789"])


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
    """Return `value` if low <= value <= high; raise InputError that says why not otherwise.

    Where both bounds are whole numbers, so must be the value. True and False are no numbers.
    """
    whole = isinstance(low, Integral) and isinstance(high, Integral)
    if isinstance(value, Integral if whole else Real) and not isinstance(value, bool) and low <= value <= high:
        return value
    reason = f" ({why})" if why else ""
    kind = ", a whole number" if whole else ""
    raise InputError(f"{parameter}: {shown(value)} is not accepted; give {low} to {high}{reason}{kind}")


def text(parameter: str, value: str) -> str:
    """Return `value` if it is a text; raise InputError otherwise."""
    _check(parameter, value, TEXT)
    return value


def texts(parameter: str, value: Sequence[str], at_least: int = 0) -> Sequence[str]:
    """Return `value` if it is a list of so many texts or more, none twice; raise InputError otherwise."""
    _check(parameter, value, several(TEXT, at_least))
    return value


def check(given: Mapping[str, Any], defaults: Mapping[str, Any], source: str) -> None:
    """Raise InputError if a key of `given` is unknown or has another type than in `defaults`."""
    for key, value in given.items():
        if key not in defaults:
            raise InputError(f"{source}: unknown parameter {shown(key)}; {nearest(key, defaults)}")
        kind = type(defaults[key])
        if type(value) is not kind:
            raise InputError(f"{source}: {key}: {shown(value)} is a {type(value).__name__}; give a {kind.__name__}")
