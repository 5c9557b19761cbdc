"""The papers' numbers: files have sources, gaps have reasons.

The tables agree with what their papers say.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lib.catalog import published
from lib.run.errors import InputError

ROWS = {
    "n2o": 45,
    "n2o_table1": 21,
    "n2o_table2": 4,
    "n2o_table3": 4,
    "n2o_table4": 21 * 3,
    "n2o_heatmap": 21 * 20 // 2,
    "sent2vec": 21,
    "sent2vec_table1": 15 * 8,
    "sent2vec_table2": 16 * 8 * 2,
    "sent2vec_table3": 11 * 4,
    "sent2vec_table4": 4 * 3,
    "sent2vec_table5": 6,
    "sent2vec_table6": 14 * 8,
    "sent2vec_table7": 14 * 8 * 2,
    "sent2vec_table8": 10 * 2,
    "pitfalls": 21,
    "pitfalls_table1": 7,
    "pitfalls_table2": 9 * 3,
    "usif": 14,
    "usif_table1": 17 * 5,
    "usif_table2": 15,
    "usif_table3": 15 * 3,
    "localization": 16,
    "localization_table1": 7 * 2,
}
NUMBERS = {  # the columns that hold numbers, where it is not `value`
    "n2o_table1": ["dim"],
    "n2o_table2": ["rank"],
    "n2o_table3": ["rank"],
    "n2o_heatmap": ["n2o"],
    "sent2vec_table5": published.load("sent2vec_table5").columns[1:].tolist(),
    "pitfalls_table1": ["dim"],
}


def test_every_file_has_a_source_and_every_source_a_file() -> None:
    files = {file.stem for file in published.FOLDER.glob("*.csv")} - {
        "tables",
        "illegible",
    }
    listed = published.load("tables")["file"]
    assert listed.is_unique
    assert files == set(listed) == set(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_tables_are_whole_and_name_no_cell_twice(name) -> None:
    table = published.load(name)
    assert len(table) == ROWS[name]
    names = table.columns.difference(
        [*NUMBERS.get(name, ["value"]), "unit", "where", "page", "note"], sort=False
    )
    assert not table.duplicated(list(names)).any()


BOUNDS = {
    "percent": 100,
    "x100": 100,
    "points": 100,
    "correlation": 1,
    "share": 1,
    "reciprocal rank": 1,
}  # of a unit


@pytest.mark.parametrize(
    "name", [name for name in ROWS if "unit" in published.load(name)]
)
def test_numbers_lie_within_the_bounds_of_their_units(name) -> None:
    table = published.load(name).dropna(subset="value")
    assert (table["value"] >= 0).all()
    assert (table["value"] <= table["unit"].map(BOUNDS).fillna(np.inf)).all()


@pytest.mark.parametrize(
    ("name", "by", "key", "where", "expected"),
    [
        ("n2o", "quantity", "token overlap of tfidf", {}, 0.43),
        ("n2o_table4", "model", "elmo-orig-5.5b", {"measure": "mrr"}, 0.910),
        (
            "sent2vec_table1",
            "model",
            "SkipThought",
            {"dataset": "MSRP", "measure": "f1"},
            82.0,
        ),
        (
            "sent2vec_table5",
            "model",
            "Sent2Vec wiki uni. + bi.",
            {"value": "subsampling"},
            5e-6,
        ),
        ("pitfalls_table2", "model", "USE-512d", {"normalization": "none"}, 0.70),
        ("pitfalls", "quantity", "Spearman of Glove-300d, normalized", {}, 0.58),
        (
            "usif",
            "quantity",
            "greatest improvement over Arora et al., one task",
            {},
            44.4,
        ),
        ("usif_table3", "model", "BYTE mLSTM", {"dataset": "SST"}, 91.8),
        ("localization_table1", "model", "SOWE", {"dataset": "MSRP"}, 98.02),
        ("localization", "quantity", "unique tokens in the MSRP subcorpus", {}, 2976),
    ],
)
def test_numbers_read_off_the_papers_by_hand(name, by, key, where, expected) -> None:
    assert published.cells(name, by, **where)[key] == expected


# -- what the papers say of their own tables -------------------------------------------


def test_the_heatmap_agrees_with_the_text_of_n2o() -> None:
    heatmap = published.cells("n2o_heatmap", ["a", "b"], value="n2o")
    stated = published.cells("n2o", "quantity")
    assert heatmap.notna().sum() == 153
    assert (
        heatmap.dropna()
        .between(stated["lowest N2O of any pair"], stated["highest N2O of any pair"])
        .all()
    )
    pairs = [
        (pair, stated[" and ".join(pair)])
        for pair in heatmap.dropna().index
        if " and ".join(pair) in stated
    ]
    assert len(pairs) == 9
    # The text rounds two of the ELMo pairs otherwise than the heatmap: 0.55 and 0.38
    # beside 0.56 and 0.39.
    assert [pair for pair, said in pairs if abs(heatmap[pair] - said) > 0.0101] == []
    assert {pair for pair, said in pairs if abs(heatmap[pair] - said) > 0.0001} == {
        ("elmo-small", "elmo-orig-5.5b"),
        ("elmo-orig", "elmo-orig-5.5b"),
    }


def test_heatmap_names_are_those_of_table_1_each_pair_once() -> None:
    heatmap = published.load("n2o_heatmap")
    embedders = set(published.load("n2o_table1")["embedder"])
    assert (
        set(heatmap["a"]) | set(heatmap["b"])
        == embedders
        == set(published.load("n2o_table4")["model"])
    )
    assert (
        len({frozenset(pair) for pair in heatmap[["a", "b"]].to_numpy().tolist()})
        == 210
    )


def test_pitfalls_table_2_has_the_stated_differences_range_and_spread() -> None:
    table = published.cells("pitfalls_table2", ["model", "normalization"]).unstack()
    np.testing.assert_allclose(
        100 * (table["z-norm"] - table["none"]), table["z-norm - none"]
    )
    stated = published.cells("pitfalls", "quantity")
    for column, name in [("none", "standard"), ("z-norm", "normalized")]:
        values = 100 * table[column]
        assert np.ptp(values) == pytest.approx(
            stated[f"range over nine encoders, {name}"]
        )
        assert values.std(ddof=0) == pytest.approx(
            stated[f"standard deviation over nine encoders, {name}"], abs=0.08
        )


def test_usif_improves_by_the_stated_percentages() -> None:
    score, stated = (
        published.cells("usif_table1", "model", dataset="STS'12"),
        published.cells("usif", "quantity"),
    )
    best = 100 * (score["GloVe+UP"] / score["GloVe+WR"] - 1)
    assert best == pytest.approx(
        stated["greatest improvement over Arora et al., yearly average"], abs=0.05
    )
    psl = 100 * (score["PSL+UP"] / score["PSL+WR"] - 1)
    assert psl == pytest.approx(
        stated["improvement of PSL+UP over PSL+WR, STS'12"], abs=0.05
    )
    benchmark = published.cells("usif_table2", "model")
    tuned = 100 * (benchmark["ParaNMT+UP"] / benchmark["GloVe+UP"] - 1)
    assert tuned == pytest.approx(
        stated["greatest improvement by tuned word vectors"], abs=0.05
    )


# -- what is refused -------------------------------------------------------------------


def test_unknown_names_get_the_nearest_ones() -> None:
    with pytest.raises(InputError, match="did you mean usif_table"):
        published.load("usif_tabel1")
    with pytest.raises(
        InputError, match="column: 'models' is not known; did you mean model"
    ):
        published.cells("usif_table1", "models")
    with pytest.raises(
        InputError, match="dataset: \"STS'16\" is not known; did you mean STS'1"
    ):
        published.cells("usif_table1", "model", dataset="STS'16")
    with pytest.raises(
        InputError,
        match="reference: 'Arora, 2017' is not known; did you mean Arora et al",
    ):
        published.cells("usif_table1", "model", reference="Arora, 2017")


def test_cells_refuse_a_name_that_stands_for_two_numbers() -> None:
    with pytest.raises(
        InputError, match=r"by: 'model' names two numbers of usif_table1 \('PP'\)"
    ):
        published.cells("usif_table1", "model")


def test_a_table_stands_in_the_papers_layout_with_our_rows_below() -> None:
    printed = published.layout("sent2vec_table1", ["data", "model"])
    assert printed.loc[0, ["model", "MSRP", "MR"]].tolist() == [
        "SAE",
        "74.3 / 81.7",
        "62.6",
    ]
    ours = pd.DataFrame({"MR": ["1.0", "2.0"]}, ["a", "b"])
    both = published.beside(printed, ours, {"SAE": ["a"], "none": ["b"]})
    assert both["model"].iloc[[0, 1, -1]].tolist() == ["SAE", "here: a", "here: b"]
    assert both.loc[1, ["MSRP", "MR"]].tolist() == ["", "1.0"]
    without_number = published.layout("sent2vec_table2", digits=2).set_index("model")
    assert without_number.loc["Siamese C-BOW", "SICK 2014"] == "- / -"
