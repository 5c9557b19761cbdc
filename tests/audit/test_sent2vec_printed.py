"""Printed scores of Sent2Vec with their sampling error: derived by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from audit.sent2vec_printed import (
    TWITTER,
    average_leads,
    averages,
    leads,
    scores,
    sent2vec,
    sets_led,
)


def test_every_model_of_the_four_tables_is_there_once() -> None:
    printed = scores()
    assert not printed.duplicated(["model", "dataset", "measure"]).any()
    found = printed.set_index(["model", "dataset", "measure"])["value"]
    # Tables 6 and 7: Twitter's bigrams.
    assert found[sent2vec("uni. + bi.", TWITTER), "TREC", "accuracy"] == 0.898
    assert found["Unigram TF-IDF", "TREC", "accuracy"] == 0.85
    assert ("Unigram TF-IDF", "SICK 2014", "pearson") in found


def test_a_printed_lead_has_the_sampling_errors_of_both_scores() -> None:
    printed = scores()
    table = leads(printed, sent2vec("uni."), ["C-BOW", "SkipThought"])
    on_cr = table.set_index("dataset").loc["CR"]
    assert on_cr["rival"] == "SkipThought"
    # 80.2 and 80.1 percent of 3,775 sentences.
    variances = 0.802 * 0.198 / 3775 + 0.801 * 0.199 / 3775
    half = 1.96 * np.sqrt(variances)
    found = on_cr[["value", "low", "high"]].astype(float)
    assert found.tolist() == pytest.approx(
        [0.001, 0.001 - half, 0.001 + half], rel=1e-4
    )


def table(*rows):
    return pd.DataFrame(rows, columns=["model", "dataset", "measure", "value", "error"])


def test_an_average_has_the_error_of_its_sets_and_measures_share_theirs() -> None:
    tasks = [("a", f"task {i}", "accuracy", 0.8, 0.03) for i in range(6)]
    pairs = [
        ("a", f"set {i}", measure, value, 0.02)
        for i in range(7)
        for measure, value in (("spearman", 0.6), ("pearson", 0.7))
    ]
    means = averages(table(*tasks, *pairs, ("b", "task 0", "accuracy", 0.9, 0.01)))
    own = means.loc["a"]
    assert own["value"].to_dict() == pytest.approx(
        {"supervised": 0.8, "similarity": 0.65, "macro": 0.725}
    )
    errors = {"supervised": 0.03 / 6**0.5, "similarity": 0.02 / 7**0.5}
    errors["macro"] = np.hypot(*errors.values()) / 2
    assert own["error"].to_dict() == pytest.approx(errors)
    assert means.loc["b"].isna().all()  # of six sets it has one
    lead = average_leads(means, [("a", "a")], "macro")
    assert lead.high[0] == pytest.approx(1.96 * 2**0.5 * errors["macro"], rel=1e-4)


def test_a_set_is_led_by_every_measure_and_without_error_the_count_is_exact() -> None:
    rows = [
        ("a", "s", "spearman", 0.7, 0),
        ("a", "s", "pearson", 0.7, 0),
        ("b", "s", "spearman", 0.6, 0),
        ("b", "s", "pearson", 0.7, 0),  # a tie is no lead
        ("a", "t", "spearman", 0.7, 0),
        ("b", "t", "spearman", 0.6, 0),
    ]
    assert tuple(sets_led(table(*rows), "a", ["b"], 0)) == (1, 1, 1)
    wide = [(*row[:4], 1.0) for row in rows]
    low, high = sets_led(table(*wide), "a", ["b"], 0)[1:]
    assert (low, high) == (0, 2)
