"""A wrong parameter is named, with its value and what is accepted, before anything runs."""

from __future__ import annotations

import math

import nbformat
import pytest

from lib.run import parameters, paths
from lib.run.errors import InputError
from lib.run.parameters import ACCEPTED, choice, number, several, whole

NOTEBOOKS = sorted(file.stem for file in paths.NOTEBOOKS.glob("[0-9]*.ipynb"))


def of(name: str) -> dict:
    return parameters.of_notebook(paths.NOTEBOOKS / f"{name}.ipynb")


# -- what is accepted -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accepted", "right", "wrong"),
    [
        (whole(1, 5), [1, 5], [0, 6, 2.0, True, "2", None, math.nan, [2]]),
        (number(0, 1), [0, 1, 0.5, 1e-9], [-0.1, 1.1, True, "0.5", None, math.nan, math.inf]),
        (choice("a", "b"), ["a"], ["c", "", None, ["a"], {}]),
        (parameters.TEXT, ["", "a b"], [1, None, ["a"], True]),
        (several(whole(1, 9)), [[], [3, 1]], [[1, 1], [0], [1.0], "12", None, [[1]], {1: 2}]),
        (several(number(0, 1), at_least=2, rising=True), [[0, 0.5]], [[0.5], [0.5, 0], [0.5, 0.5], [0, math.nan]]),
    ],
)
def test_what_is_accepted(accepted, right, wrong) -> None:
    assert all(accepted.accepts(value) for value in right)
    assert not any(accepted.accepts(value) for value in wrong)


# README: "every key and value is checked against one table"
def test_a_parameter_of_a_notebook_has_an_entry_and_an_entry_a_parameter() -> None:
    assert set().union(*map(of, NOTEBOOKS)) == set(ACCEPTED)


WRONG = [None, {}, {"a": 1}, math.nan, True, -1, 0, 2.5, 10**12, "x", [], [None], ["a", "a"], [2, 1], [-1]]


def wrong_for(value: object, accepted: object) -> list:
    """Values like those that are accepted, and others, that are not."""
    if not isinstance(accepted, dict):
        return [wrong for wrong in WRONG if not accepted.accepts(wrong)]
    broken = [value | {key: wrong_for(value[key], member)[0]} for key, member in accepted.items()]
    return [None, {}, value | {"more": 1}, *broken]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_wrong_value_is_refused_by_the_first_line_after_the_imports_and_in_a_profile(name, monkeypatch) -> None:
    notebook = paths.NOTEBOOKS / f"{name}.ipynb"
    code = [cell for cell in parameters.cells(notebook) if cell["cell_type"] == "code"]
    sources = ["".join(cell["source"]) for cell in code]
    first = next(i for i, cell in enumerate(code) if parameters.TAG in cell["metadata"].get("tags", []))
    at = next(i for i, source in enumerate(sources) if "parameters.check_notebook(" in source)
    space: dict = {}
    for source in sources[first + 1 : at]:
        assert source.startswith(("import ", "from "))
        exec(source, space)
    defaults = of(name)
    for parameter, default in defaults.items():
        for wrong in wrong_for(default, ACCEPTED[parameter]):
            with pytest.raises(InputError) as error:
                exec(sources[at], space | defaults | {parameter: wrong})
            assert str(error.value).startswith(parameter)
            assert "is not accepted; give a" in str(error.value) or "give one of" in str(error.value)
            monkeypatch.setattr(parameters, "read_yaml", lambda _, given={parameter: wrong}: given)
            with pytest.raises(InputError, match=rf"{name}\.yaml: {parameter}"):
                parameters.of_profile(notebook, "smoke")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"confidence": 95}, "confidence: 95 is not accepted; give a number from 0.5 to 0.999"),
    ],
)
def test_a_message_has_parameter_value_and_what_is_accepted(changed, message) -> None:
    with pytest.raises(InputError) as error:
        parameters.check_notebook("05_sent2vec_training", of("05_sent2vec_training") | changed)
    assert str(error.value) == message


def test_a_member_of_a_table_is_named() -> None:
    changed = {"classifying": {"sentences": 800, "folds": 0, "penalties": [1.0]}}
    with pytest.raises(InputError, match=r"^classifying, folds: 0 is not accepted; give a whole number from 1 to 100$"):
        parameters.check_notebook("07_ucp_normalization", of("07_ucp_normalization") | changed)


# -- a notebook's own cell, and a profile's file --------------------------------------------------


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """A notebook with two known parameters and one of its own, and a place for its profiles."""
    cell = nbformat.v4.new_code_cell("k = 5  # neighbors\nrecall = 0.5\nmine = -1", metadata={"tags": ["parameters"]})
    file = tmp_path / "07_test.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), file)
    monkeypatch.setattr(paths, "PARAMS", tmp_path / "params")
    (tmp_path / "params" / "smoke").mkdir(parents=True)
    return file


@pytest.mark.parametrize("source", ["k = 2 + n", "import os", "k, j = 1, 2", "k ="])
def test_a_parameters_cell_holds_literals_only(notebook, source) -> None:
    cell = nbformat.v4.new_code_cell(source, metadata={"tags": ["parameters"]})
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), notebook)
    with pytest.raises(InputError, match=r"07_test.ipynb: give a cell tagged 'parameters' that holds only"):
        parameters.of_notebook(notebook)


@pytest.mark.parametrize(
    ("content", "given"),
    [
        ("k: 3\nmine: x\n", {"k": 3, "mine": "x"}),
        ("# nothing\n", {}),
        ("recall: 1e-1\n", {"recall": 0.1}),
        ("\ufeffk: 3\r\n", {"k": 3}),
    ],
)
def test_a_profiles_file_is_read(notebook, content, given) -> None:
    (paths.PARAMS / "smoke" / "07_test.yaml").write_text(content, encoding="utf-8")
    assert parameters.of_profile(notebook, "smoke") == given


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"recal: 3\n", "unknown parameter 'recal'; did you mean recall?"),
        (b"k: three\n", "k: 'three' is not accepted; give a whole number from 1 to 1000000"),
        (b"k: 1\nrecall: 1\nk: 2\n", "k is given twice"),
        (b"- k\n", "give lines of `name: value`"),
        (b"k: [1\n", "line 2"),
        (b"k: !!python/object/apply:os.system ['true']\n", "could not determine a constructor"),
        (None, "no such file; a profile has one for each notebook"),
    ],
)
def test_a_wrong_profiles_file_is_refused_in_a_sentence_with_its_name(notebook, content, message) -> None:
    file = paths.PARAMS / "smoke" / "07_test.yaml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError) as error:
        parameters.of_profile(notebook, "smoke")
    assert str(error.value).startswith(f"{file}: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


# -- checks of one value --------------------------------------------------------------------------


def test_choices_and_ranges() -> None:
    assert parameters.one_of("corpus", "lee", ["lee", "bible"]) == "lee"
    with pytest.raises(InputError, match="corpus: 'leee' is not known; did you mean lee"):
        parameters.one_of("corpus", "leee", ["lee", "bible"])
    assert parameters.in_range("k", 2, 1, 10) == 2
    assert parameters.in_range("share", 1, 0.0, 1.0) == 1
    with pytest.raises(InputError, match=r"k: 9 is not accepted; give 1 to 5 \(few sentences\), a whole number"):
        parameters.in_range("k", 9, 1, 5, "few sentences")
    for value in (2.0, True, "2", None, math.nan):
        with pytest.raises(InputError, match=r"k: .* is not accepted; give 1 to 10, a whole number"):
            parameters.in_range("k", value, 1, 10)
