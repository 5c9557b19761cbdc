"""A wrong parameter is named, with its value and what is accepted, before anything runs."""

from __future__ import annotations

import nbformat
import pytest

from lib.run import parameters, paths
from lib.run.errors import InputError

DEFAULTS = {"k": 50, "share": 0.5, "name": "bow", "names": ["a"], "on": True}


@pytest.mark.parametrize(
    "given", [{}, {"k": 5}, {"share": 1}, {"share": 1.0e-3}, {"names": ["x", "y"]}, {"names": []}, {"on": False}]
)
def test_good_parameters_pass(given) -> None:
    parameters.check(given, DEFAULTS, "x.yaml")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"nmae": "a"}, "x.yaml: unknown parameter 'nmae'; did you mean name"),
        ({"zzz": 1}, "x.yaml: unknown parameter 'zzz'; accepted: k, name, names, on, share"),
        ({"k": "5"}, "x.yaml: k: '5' is a str; give a int such as 50"),
        ({"k": True}, "k: True is a bool"),
        ({"k": 5.0}, "k: 5.0 is a float"),
        ({"share": "1e-3"}, "YAML reads 1e-3 as text: write 1.0e-3"),
        ({"names": "a"}, "names: 'a' is a str; give a list"),
        ({"names": ["a", 1]}, "names: 1 is a int; give a str"),
        ({"on": 1}, "on: 1 is a int"),
        ({1: 2}, "unknown parameter 1"),
    ],
)
def test_bad_parameters_get_a_sentence(given, message) -> None:
    with pytest.raises(InputError) as error:
        parameters.check(given, DEFAULTS, "x.yaml")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """A notebook with two parameters, and a place for its profiles."""
    cell = nbformat.v4.new_code_cell(
        "k = 5  # neighbors\nrate: float = 0.5\nshift = -1", metadata={"tags": ["parameters"]}
    )
    file = tmp_path / "07_test.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), file)
    monkeypatch.setattr(paths, "PARAMS", tmp_path / "params")
    (tmp_path / "params" / "smoke").mkdir(parents=True)
    return file


def test_the_defaults_are_the_literals_of_the_notebooks_cell(notebook) -> None:
    assert parameters.of_notebook(notebook) == {"k": 5, "rate": 0.5, "shift": -1}
    assert parameters.of_profile(notebook, "default") == {}


@pytest.mark.parametrize("source", ["k = 2 + n", "import os", "k, j = 1, 2", "print(1)"])
def test_a_parameters_cell_holds_literals_only(notebook, source) -> None:
    cell = nbformat.v4.new_code_cell(source, metadata={"tags": ["parameters"]})
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), notebook)
    with pytest.raises(InputError, match="may hold only"):
        parameters.of_notebook(notebook)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", r"07_test\.ipynb: is no notebook of format 4"),
        ('{"cells": ["k = 5"]}', r"07_test\.ipynb: is no notebook of format 4"),
        ('{"cells": []}', r"07_test\.ipynb: needs one cell tagged 'parameters', has 0"),
    ],
)
def test_a_file_without_a_parameters_cell_gets_a_sentence(notebook, content, message) -> None:
    notebook.write_text(content)
    with pytest.raises(InputError, match=message):
        parameters.of_notebook(notebook)


def test_a_profile_s_file_on_a_failing_disk_gets_a_sentence(notebook, monkeypatch) -> None:
    def fail(file) -> None:
        raise OSError(5, "Input/output error")

    (paths.PARAMS / "smoke" / "07_test.yaml").write_text("k: 3\n")
    monkeypatch.setattr(parameters.Path, "read_bytes", fail)
    with pytest.raises(InputError, match=r"07_test\.yaml: cannot be read \(Input/output error\)"):
        parameters.of_profile(notebook, "smoke")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("k: 3\n", None),
        ("", None),
        ("k: three\n", "params/smoke/07_test.yaml: k: 'three' is a str"),
        ("- k\n", "must hold `parameter: value` lines, holds a list"),
        ("k: [1\n", "not valid YAML"),
        ("k: !!python/object/apply:os.system ['true']\n", "not valid YAML"),
        (None, "no such file"),
    ],
)
def test_a_profiles_file_is_checked(notebook, monkeypatch, content, message) -> None:
    monkeypatch.setattr(paths, "ROOT", notebook.parent)
    if content is not None:
        (paths.PARAMS / "smoke" / "07_test.yaml").write_text(content)
    if message is None:
        parameters.of_profile(notebook, "smoke")
        return
    with pytest.raises(InputError) as error:
        parameters.of_profile(notebook, "smoke")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_choices_and_ranges() -> None:
    assert parameters.one_of("corpus", "lee", ["lee", "bible"]) == "lee"
    with pytest.raises(InputError, match="corpus: 'leee' is not known; did you mean lee"):
        parameters.one_of("corpus", "leee", ["lee", "bible"])
    with pytest.raises(InputError, match=r"k: 9 is not accepted; give 1 to 5 \(few sentences\)"):
        parameters.in_range("k", 9, 1, 5, "few sentences")
