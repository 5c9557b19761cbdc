"""A wrong parameter is reported before anything runs.

The message has its name, its value, and what is accepted.
"""

from __future__ import annotations

import math

import pytest

from lib import tasks
from lib.base import parameters, paths
from lib.base.errors import InputError
from tests.refusals import refused
from tests.tools.test_run import write_notebook
from tools.run import profiles

NOTEBOOKS = [
    paths.notebook_name(file) for file in [*paths.lessons(), *paths.replications()]
]


def of(name: str) -> dict:
    return parameters.of_notebook(paths.NOTEBOOKS / f"{name}.ipynb")


# -- what is accepted ------------------------------------------------------------------


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_values_of_another_kind_are_refused_and_the_parameter_is_named(name) -> None:
    defaults = of(name)
    parameters.check_notebook(name, defaults)
    for parameter, own in defaults.items():
        empty = "" if isinstance(own, int | list) else []
        said = rf"^{parameter}[:,].* is not (accepted|known); "
        for wrong in (None, {"a": 1}, math.nan, -1, 10**13, empty, [None]):
            with pytest.raises(InputError, match=said):
                parameters.check_notebook(name, defaults | {parameter: wrong})


TRAINING = {"sentences": 0, "epochs": 1, "rate": 0.05, "seeds": 0}
WHOLE = "10000000, a whole number"


@pytest.mark.parametrize(
    ("notebook", "changed", "message"),
    [
        ("04", {"pairs": 2.0}, f"pairs: 2.0 is not accepted; give 2 to {WHOLE}"),
        ("05", {"seeds": [1, 1]}, "[1, 1] is not accepted; give a list of different"),
        ("05", {"seeds": [1]}, "seeds: [1] is not accepted; give 2 or more values"),
        ("replication/sent2vec", {"text_shares": [0.5, 1]}, "give 3 or more values"),
        ("05", {"seeds": [1, -1]}, "seeds: -1 is not accepted; give 0 to 4294967295"),
        (
            "replication/pitfalls",
            {"size_training": TRAINING},
            f"size_training, seeds: 0 is not accepted; give 2 to {WHOLE}",
        ),
        (
            "replication/pitfalls",
            {"rated_names": ["Lee"]},
            "give Verse-pairs or STSBenchmark or SICK-R first",
        ),
        (
            "replication/n2o",
            {"ks": [10, 5]},
            "give two or more numbers in rising order",
        ),
        ("replication/n2o", {"query_source": "lede"}, "did you mean ledes?"),
        (
            "10",
            {"corpus_name": "lines:caf\udce9.txt"},
            r"corpus_name: 'lines:caf\udce9.txt' is not accepted; "
            "give UTF-8 text, in a UTF-8 locale",
        ),
        (
            "replication/sent2vec",
            {"tunes": "yes"},
            "'yes' is not accepted; give True or False",
        ),
        (
            "replication/pitfalls",
            {"probing": {"text": "lee"}},
            "is not accepted; give a table of text, size",
        ),
    ],
)
def test_a_message_has_parameter_value_and_what_is_accepted(
    notebook, changed, message
) -> None:
    (name,) = (name for name in NOTEBOOKS if name.startswith(notebook))
    with refused(message):
        parameters.check_notebook(name, of(name) | changed)


def test_sets_are_those_of_lib_tasks_and_those_that_one_study_makes() -> None:
    chosen = {"rated_names": ["Verse-pairs", *tasks.RATED]}
    parameters.check_notebook(
        "replication/pitfalls", of("replication/pitfalls") | chosen
    )
    for notebook, changed in {
        "replication/localization": {"rated_sets": ["Verse-pairs"]},
        "replication/sent2vec": {"classified_sets": ["Lee"]},
    }.items():
        with pytest.raises(InputError, match=r"(Verse-pairs|Lee)' is not known; "):
            parameters.check_notebook(notebook, of(notebook) | changed)


def test_a_list_may_be_empty_only_where_the_notebooks_own_one_is() -> None:
    defaults = of("01_n2o")
    parameters.check_notebook("01_n2o", defaults | {"experiment_names": []})
    with refused("embedder_names: [] is not accepted"):
        parameters.check_notebook("01_n2o", defaults | {"embedder_names": []})


# -- a notebook's own cell, and a profile's file ---------------------------------------


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """A notebook with three parameters, and a place for its profiles."""
    monkeypatch.setattr(paths, "NOTEBOOKS", tmp_path)
    monkeypatch.setattr(paths, "PARAMS", tmp_path / "params")
    (tmp_path / "params" / "smoke").mkdir(parents=True)
    write_notebook(tmp_path, "07_test", "", "k = 5\nrecall = 0.5\nmine = ''")
    return tmp_path / "07_test.ipynb"


@pytest.mark.parametrize("source", ["k = 2 + n", "import os", "k ="])
def test_a_parameters_cell_holds_literals_only(notebook, source) -> None:
    write_notebook(notebook.parent, notebook.stem, "", source)
    with refused(r"07_test.ipynb: give a cell tagged 'parameters' that contains only"):
        parameters.of_notebook(notebook)


@pytest.mark.parametrize(
    ("content", "given"), [("k: 3\nmine: x\n", {"k": 3, "mine": "x"}), ("# -\n", {})]
)
def test_a_profiles_file_is_read(notebook, content, given) -> None:
    (paths.PARAMS / "smoke" / "07_test.yaml").write_text(content, encoding="utf-8")
    assert profiles.of_profile(notebook, "smoke") == given


# As Python reads them, or not at all; YAML reads 010 as 8 and 12:30 as 750.
WRITTEN = {
    "k": {
        **{"7": 7, "+7": 7, "0x10": 16, "1_000": 1000, "0b11": 3, "7 # seven": 7},
        **dict.fromkeys(["010", "12:30", "1:0:0", "1e1", "1.0", "True", "yes", "on"]),
        **dict.fromkeys(["'7'", "0x_g", "1__0", "", "null", ".inf", "2026-01-02", "٣"]),
    },
    "recall": {
        **{".5": 0.5, "1e-3": 0.001, "1.5E+1": 15.0, "2": 2},
        **dict.fromkeys([".inf", ".nan", "1:30.5", "0.5.", "inf", "1e999", "no", "y"]),
    },
    "on": {
        **{"true": True, "False": False},
        **dict.fromkeys(["yes", "off", "1", "0", "'true'"]),
    },
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_value_is_what_python_reads_or_is_refused(notebook, name) -> None:
    write_notebook(notebook.parent, notebook.stem, "", "k = 5\nrecall = 0.5\non = True")
    file = paths.PARAMS / "smoke" / "07_test.yaml"
    for written, value in WRITTEN[name].items():
        file.write_text(f"{name}: {written}\n", encoding="utf-8")
        for read in (
            lambda: profiles.of_profile(notebook, "smoke"),
            lambda text=written: profiles.of_texts(notebook, [f"{name}={text}"]),
        ):
            if value is None:
                with refused(f"{name}: "):
                    read()
            else:
                assert read() == {name: value}
                assert type(read()[name]) is type(value)


def test_a_word_is_a_text_where_the_notebook_has_one(notebook) -> None:
    file = paths.PARAMS / "smoke" / "07_test.yaml"
    for written in ("no", "on", "010", "12:30", "2026-01-02", ".inf", "'1'", '"true"'):
        file.write_text(f"mine: {written}\n")
        given = profiles.of_profile(notebook, "smoke")
        assert given == {"mine": written.strip("'\"")}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("recal: 3\n", "unknown parameter 'recal'; did you mean recall?"),
        ("k: three\n", "k: 'three' is not accepted; give 1 to 10000000"),
        ("k: [3\n", "while parsing a flow sequence"),
    ],
)
def test_a_wrong_profiles_file_is_refused_in_a_sentence_with_its_name(
    notebook, content, message
) -> None:
    file = paths.PARAMS / "smoke" / "07_test.yaml"
    file.write_text(content)
    for said in (f"{file}: ", message):
        with refused(said):
            profiles.of_profile(notebook, "smoke")
