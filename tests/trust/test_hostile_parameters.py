"""Parameters that are wrong: in a profile's YAML, and in each notebook's own cell, answered by one sentence at once."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any

import nbformat
import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lib import corpora, needles, store, tasks
from lib.run import parameters, paths, strict_yaml
from lib.run import runner as run
from lib.run.errors import InputError
from tests.sizes import CASES, NIGHTLY

CELL = (
    'k = 5\nrate = 0.5\nname = "lee"\nnames = ["a"]\ncounts = [1]\nshares = [0.1]\nshown = True\n'
    'table = {"dim": 3, "lr": 0.1, "names": ["a"]}'
)
DEFAULTS = {
    "k": 5, "rate": 0.5, "name": "lee", "names": ["a"], "counts": [1], "shares": [0.1], "shown": True,
    "table": {"dim": 3, "lr": 0.1, "names": ["a"]},
}  # fmt: skip


@pytest.fixture
def profile(tmp_path, monkeypatch):
    """A function that reads a profile's file with this content, and returns what it gives."""
    cell = nbformat.v4.new_code_cell(CELL, metadata={"tags": ["parameters"]})
    notebook = tmp_path / "07_test.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), notebook)
    monkeypatch.setattr(paths, "PARAMS", tmp_path / "params")
    file = tmp_path / "params" / "smoke" / "07_test.yaml"
    file.parent.mkdir(parents=True)

    def read(content: str | bytes) -> dict[str, Any]:
        file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        return parameters.of_profile(notebook, "smoke")

    read.file = file
    read.notebook = notebook
    return read


def refused(read, content: str | bytes) -> str:
    with pytest.raises(InputError) as error:
        read(content)
    said = str(error.value)
    assert "\n" not in said
    assert len(said) < 600 + len(str(read.file))
    return said


def answered(work: Callable[[], Any]) -> Any:
    """What it returns; None if it raises InputError, which then is a sentence."""
    said = ""
    try:
        return work()
    except InputError as error:
        said = str(error)
    assert "\n" not in said
    assert 0 < len(said) < 1000
    return None


# -- the file ------------------------------------------------------------------------------------

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGES = "a: &a {k0: 0}\n" + "".join(f"m{i}: &m{i}\n  <<: [*a, *a]\n" for i in range(50))

REFUSED = {
    "unknown key": ("nmae: lee\n", "unknown parameter 'nmae'; did you mean name"),
    "key twice": ("k: 1\nk: 2\n", "line 2: 'k' stands here again; give each parameter once"),
    "key twice inside": ("table: {dim: 1, lr: 0.5, names: [b], dim: 2}\n", "'dim' stands here again"),
    "key twice in other words": ('k: 1\n"k": 2\n', "'k' stands here again"),
    "alias": ("names: &n [a]\nshares: *n\n", "*n is an alias, which is not accepted"),
    "alias of nothing": ("names: *n\n", "*n is an alias, which is not accepted"),
    "bomb": (BOMB, "*a is an alias"),
    "bomb in a parameter": (BOMB.replace("a:", "names:", 1), "*a is an alias"),
    "bomb of merges": (MERGES, "is an alias"),
    "list in itself": ("names: &a [*a]\n", "*a is an alias"),
    "merge key": ("table:\n  <<: {dim: 3}\n  lr: 0.5\n", "<< is a merge key"),
    "Python object": ("k: !!python/object/apply:os.system ['true']\n", "could not determine a constructor"),
    "Python name": ("k: !!python/name:os.system\n", "could not determine a constructor"),
    "unknown tag": ("k: !mine 3\n", "could not determine a constructor for the tag '!mine'"),
    "binary": ("name: !!binary aGVsbG8=\n", "name: b'hello' is a bytes"),
    "set": ("names: !!set {a}\n", "names: {'a'} is a set"),
    "pairs": ("names: !!omap [a: 1]\n", "is a tuple"),
    "tag that lies": ("k: !!int x\n", "line 1: 'x' cannot be read as int"),
    "float that lies": ("rate: !!float x\n", "'x' cannot be read as float"),
    "no such day": ("name: 2020-99-99\n", "'2020-99-99' cannot be read as timestamp"),
    "day for a text": ("name: 2020-01-01\n", "is a date; give a str such as 'lee'"),
    "yes for a text": ("name: yes\n", "name: True is a bool; give a str"),
    "number for a text": ("name: 5\n", "name: 5 is a int; give a str"),
    "text for a number": ("k: five\n", "k: 'five' is a str; give a int such as 5"),
    "yes for a number": ("k: yes\n", "k: True is a bool"),
    "yes for a float": ("rate: true\n", "rate: True is a bool"),
    "number for yes": ("shown: 1\n", "shown: 1 is a int"),
    "float for a number": ("k: 5.0\n", "k: 5.0 is a float"),
    "exponent without a point": ("rate: 1e-3\n", "YAML reads 1e-3 as text: write 1.0e-3"),
    "nothing": ("k:\n", "k: None is a NoneType"),
    "nothing in a list": ("names: [~]\n", "names: None is a NoneType"),
    "list for a text": ("name: [lee]\n", "name: ['lee'] is a list"),
    "text for a list": ("names: a\n", "names: 'a' is a str; give a list such as ['a']"),
    "list in a list": ("names: [[a]]\n", "names: ['a'] is a list"),
    "yes in a list": ("counts: [true]\n", "counts: True is a bool"),
    "table for a list": ("names: {a: b}\n", "is a dict"),
    "list for a table": ("table: [3]\n", "table: [3] is a list"),
    "table with too little": ("table: {dim: 3}\n", "table: lacks 'lr'; give all of dim, lr, names"),
    "wrong type in a table": ("table: {dim: x, lr: 0.1, names: [a]}\n", "table: dim: 'x' is a str"),
    "wrong type in a table's list": ("table: {dim: 3, lr: 0.1, names: [1]}\n", "table: names: 1 is a int"),
    "not a number": ("rate: .nan\n", "rate: nan is no number that can be computed with"),
    "infinity": ("rate: -.inf\n", "rate: -inf is no number"),
    "infinity in a list": ("shares: [.inf]\n", "shares: inf is no number"),
    "integer of 4,000 digits": (f"k: {'9' * 4000}\n", "is no number that can be computed with"),
    "integer of 5,000 digits": (f"k: {'9' * 5000}\n", "cannot be read as int"),
    "hexadecimal of 5,000 digits": (f"k: 0x{'F' * 5000}\n", "is no number that can be computed with"),
    "long integer for a float": (f"rate: {'9' * 400}\n", "is no number that can be computed with"),
    "octal": ("k: 010\n", "YAML reads 010 as another number"),
    "minutes": ("k: 1:30\n", "YAML reads 1:30 as another number"),
    "number for a key": ("1: 2\n", "a key is no text"),
    "yes for a key": ("on: true\n", "a key is no text"),
    "list for a key": ("[1, 2]: 3\n", "a key is no text"),
    "table for a key": ("? {a: b}\n: 3\n", "a key is no text"),
    "two documents": ("k: 1\n---\nk: 2\n", "line 2: expected a single document in the stream"),
    "tab": ("k:\t1\n\tname: x\n", "cannot start any token"),
    "open bracket": ("names: [a\n", "not valid YAML: line 2"),
    "NUL": ("k: 3\0\n", "special characters are not allowed"),
    "NUL in a text": ('name: "a\\0b"\n', "holds '\\x00'; give a text without control characters"),
    "line end in a text": ('name: "a\\nb"\n', "holds '\\n'"),
    "terminal's code in a text": ('name: "\\x1b[2J"\n', "holds '\\x1b'"),
    "half a character": ('name: "\\ud800"\n', "holds '\\ud800'"),
    "control character in a list": ('names: ["a\\x07"]\n', "holds '\\x07'"),
    "UTF-16": ("k: 3\n".encode("utf-16"), "it is not in UTF-8"),
    "Latin-1": (b"name: caf\xe9\n", "it is not in UTF-8"),
    "web page": ("<!doctype html><html></html>", "must hold `parameter: value` lines, holds a str"),
    "a list": ("- k\n", "holds a list"),
    "a number": ("3\n", "holds a int"),
    "2,000 lists in each other": (f"names: {'[' * 2000}{']' * 2000}", "more than 20 deep, are not accepted"),
    "tables in each other": ("{a: " * 60, "more than 20 deep, are not accepted"),
    "a megabyte": ("# x\n" * 250_000, "has 1000000 bytes; give a file of a few"),
    "a long value": (f"k: {'x' * 15_000}\n", "k: 'xxx"),
    "a long key": (f"{'x' * 1000}: 1\n", "unknown parameter 'xxx"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_file_is_refused_in_a_sentence_with_its_name(profile, case) -> None:
    content, message = REFUSED[case]
    said = refused(profile, content)
    assert said.startswith(str(profile.file))
    assert message in said


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ("k: 3\n", {"k": 3}),
        ("\ufeffk: 3\n", {"k": 3}),
        ("k: 3\r\nrate: 2\r\n", {"k": 3, "rate": 2}),
        ("%YAML 1.1\n---\nk: 0x10\n...\n", {"k": 16}),
        ("names: []\n", {"names": []}),
        ("name: '2020-01-01'\n", {"name": "2020-01-01"}),
        ("table: {dim: 3, lr: 1, names: [], threads: 2}\n", {"table": {"dim": 3, "lr": 1, "names": [], "threads": 2}}),
        ("name: \u202eeel 🦉 e\u0301\n", {"name": "\u202eeel 🦉 e\u0301"}),
        ("", {}),
        ("# nothing\n", {}),
    ],
)
def test_what_is_unusual_and_right_is_read(profile, content, value) -> None:
    assert profile(content) == value


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "circle of links"])
def test_what_is_no_file_is_named_and_not_waited_for(profile, kind) -> None:
    if kind == "folder":
        profile.file.mkdir()
    elif kind == "pipe":
        os.mkfifo(profile.file)
    elif kind == "circle of links":
        profile.file.symlink_to(profile.file)
    with pytest.raises(InputError, match="no such file; profile 'smoke' needs one for 07_test"):
        parameters.of_profile(profile.notebook, "smoke")


@pytest.mark.parametrize("content", [BOMB, MERGES, "[" * 2000, "{a: " * 5000, "- " * 10_000, "? " * 10_000])
def test_bombs_are_refused_before_they_unfold(content) -> None:
    """The nine lines stand for 9 ** 9 texts, and the merges for 2 ** 50 keys: read, they would fill the memory."""
    with pytest.raises(ValueError, match="line"):
        strict_yaml.load(content)


@settings(max_examples=CASES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.text(st.sampled_from("kname: [],{}&*!|>-?#\"'\n\t%@`~01.9eE+<=é\0\ud800"), max_size=60))
def test_any_text_is_read_or_refused_in_a_sentence(profile, content) -> None:
    answered(lambda: profile(content))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=4), inside, max_size=3),
    max_leaves=6,
)


@settings(max_examples=CASES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given=st.dictionaries(st.sampled_from([*DEFAULTS, "other"]), VALUES, max_size=4))
def test_what_is_accepted_has_the_types_of_the_notebooks_own_values(profile, given) -> None:
    read = answered(lambda: profile(yaml.safe_dump(given, allow_unicode=True)))
    for key, value in (read or {}).items():
        assert same_type(value, DEFAULTS[key])


def same_type(value: Any, default: Any) -> bool:
    if isinstance(default, float):
        return type(value) in (int, float) and math.isfinite(value)
    if type(value) is not type(default):
        return False
    if isinstance(value, list):
        return all(same_type(member, default[0]) for member in value)
    return not isinstance(value, dict) or all(same_type(value[key], default[key]) for key in default)


# -- the checking functions ------------------------------------------------------------------------

ANYTHING = VALUES | st.just(float("nan")) | st.integers(10**30, 10**40) | st.binary(max_size=3)


@settings(max_examples=CASES)
@given(value=ANYTHING)
def test_checks_return_the_value_or_say_a_sentence_whatever_it_is(value) -> None:
    checks = [
        lambda: parameters.in_range("k", value, 1, 10),
        lambda: parameters.in_range("share", value, 0.0, 1.0),
        lambda: parameters.one_of("name", value, ["a", "b"]),
        lambda: parameters.texts("names", value),
        lambda: parameters.text("name", value),
        lambda: parameters.rising("ks", value, 1, 100),
        lambda: parameters.table("table", value, {"dim": 3, "lr": 0.1}),
    ]
    for check in checks:
        assert answered(check) in (value, None) or value != value


def test_a_whole_number_is_wanted_where_both_limits_are() -> None:
    assert parameters.in_range("k", 2, 1, 10) == 2
    assert parameters.in_range("share", 1, 0.0, 1.0) == 1
    for value in (2.0, True, "2", None, [2], float("nan")):
        with pytest.raises(InputError, match=r"k: .* is no whole number; give 1 to 10"):
            parameters.in_range("k", value, 1, 10)
    for value in (True, "2", None, [2]):
        with pytest.raises(InputError, match=r"share: .* is no number; give 0 to 1"):
            parameters.in_range("share", value, 0.0, 1.0)
    with pytest.raises(InputError, match=r"k: 10{30} is not accepted; give 1 to 10"):
        parameters.in_range("k", 10**30, 1, 10)
    with pytest.raises(InputError, match="k: an int of thousands of digits is not accepted"):
        parameters.in_range("k", 10**5000, 1, 10)


# -- every parameter of every notebook --------------------------------------------------------------

NOTEBOOKS = sorted(file.stem for file in paths.NOTEBOOKS.glob("[0-9]*.ipynb"))


def wrong_for(value: Any) -> list[Any]:
    """Values of another type than a parameter's own."""
    of_all = [None, {"a": 1}, 10**30, float("nan")]
    if isinstance(value, bool):
        return [1, "yes", *of_all]
    if isinstance(value, int):
        return ["5", None, 2.5, True, [5], *of_all]
    if isinstance(value, float):
        return ["x", None, float("nan"), True, [0.5], *of_all[:2]]
    if isinstance(value, str):
        return [5, None, "a\nb", True, ["a"], "a\0b", *of_all]
    if isinstance(value, list):
        return ["x", 5, [*value, None], [None], [*value, {}], [value], *of_all]
    first = next(iter(value))
    broken = [{**value, key: wrong} for key, inner in value.items() for wrong in wrong_for(inner)[:2]]
    return [5, {}, {key: inner for key, inner in value.items() if key != first}, [], {**value, "zzz": 1}, *broken]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_value_of_another_type_in_a_profile_is_refused_before_a_kernel_starts(name, tmp_path, monkeypatch) -> None:
    notebook = paths.NOTEBOOKS / f"{name}.ipynb"
    folder = tmp_path / "wrong"
    folder.mkdir()
    monkeypatch.setattr(paths, "PARAMS", tmp_path)
    for parameter, default in parameters.of_notebook(notebook).items():
        for wrong in wrong_for(default):
            if isinstance(default, dict) and isinstance(wrong, dict) and wrong.keys() > default.keys():
                continue  # the notebook knows which other keys a table may have
            (folder / f"{name}.yaml").write_text(yaml.safe_dump({parameter: wrong}))
            with pytest.raises(InputError):
                run.select(name, "wrong")


TRIED = None if NIGHTLY else 3  # wrong values of each parameter in its notebook


class Encoded(BaseException):
    """Something was encoded before all parameters had been checked."""


def checking_cells(name: str) -> tuple[list[str], list[str]]:
    """The cells that import, and those after them that check, up to the first heading."""
    cells = parameters.cells(paths.NOTEBOOKS / f"{name}.ipynb")
    at = next(i for i, cell in enumerate(cells) if "parameters" in cell["metadata"].get("tags", []))
    before_heading = takewhile(
        lambda cell: cell["cell_type"] == "code" or not "".join(cell["source"]).startswith("#"), cells[at + 1 :]
    )
    sources = ["".join(cell["source"]) for cell in before_heading if cell["cell_type"] == "code"]
    return [s for s in sources if "import " in s], [s for s in sources if "import " not in s]


@pytest.fixture(scope="module")
def small_corpora() -> Iterator[None]:
    """Corpora are loaded once, and nothing can be encoded."""

    def no(*_: object, **__: object) -> None:
        raise Encoded

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpora, "load", once(corpora.load))
        patch.setattr(tasks, "load", few(once(tasks.load)))
        load_pairs = needles.load
        patch.setattr(needles, "load", lambda *given: load_pairs(*given).take(np.arange(600)))
        patch.setattr(store.EmbeddingStore, "embed", no)
        patch.chdir(paths.NOTEBOOKS)
        yield


def once(load: Callable[..., Any]) -> Callable[..., Any]:
    """A function that loads something by its name, and each of them once."""
    known: dict[tuple[str, ...], Any] = {}

    def loaded(name: Any, *more: Any, **options: Any) -> Any:
        if options or not isinstance(name, str):
            return load(name, *more, **options)
        if (name, *more) not in known:
            known[name, *more] = load(name, *more)
        return known[name, *more]

    return loaded


def few(load: Callable[..., Any]) -> Callable[..., Any]:
    """`tasks.load`, of groups some hundred."""

    def loaded(name: Any, *more: Any, **options: Any) -> Any:
        task = load(name, *more, **options)
        if isinstance(task, tasks.ParaphraseGroups):
            return tasks.ParaphraseGroups(task.sentences[:2000], task.labels[:2000])
        return task

    return loaded


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_value_of_another_type_in_a_notebook_is_refused_before_anything_is_encoded(name, small_corpora) -> None:
    notebook = paths.NOTEBOOKS / f"{name}.ipynb"
    imports, checks = checking_cells(name)
    smoke = parameters.of_notebook(notebook) | parameters.of_profile(notebook, "smoke")
    known: dict[str, Any] = {}
    for source in imports:
        exec(source, known)
    missed = []
    for parameter, default in smoke.items():
        for wrong in wrong_for(default)[:TRIED]:
            space = dict(known) | copy.deepcopy(smoke) | {parameter: wrong}
            try:
                if answered(lambda space=space: [exec(source, space) for source in checks]) is not None:
                    missed.append(f"{parameter} = {parameters.shown(wrong)}: not refused")
            except BaseException as error:
                missed.append(f"{parameter} = {parameters.shown(wrong)}: {type(error).__name__}: {error}"[:200])
    assert not missed, "\n".join(missed)
