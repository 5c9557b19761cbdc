"""What comparisons of Sent2Vec's trainings measure: hand-derived answers and SciPy."""

from __future__ import annotations

import numpy as np
import pytest

from lib.sent2vec import Sent2Vec
from lib.studies import sent2vec as study
from lib.studies import sent2vec_printed

LINES = ["the cat saw the dog .", "a dog saw a cat .", "the bird saw the cat ."] * 4


@pytest.fixture(scope="module")
def model():
    return Sent2Vec.train(
        LINES,
        dim=4,
        epochs=2,
        min_count=1,
        min_target_count=1,
        subsample=1.0,
        word_ngrams=2,
        bucket=50,
    )


def test_weights_are_those_of_the_matrix_and_frequencies_those_of_the_text(
    model,
) -> None:
    table = study.word_weights(model).set_index("word")
    assert "</s>" not in table.index
    tokens = " ".join(LINES).split()
    assert table.loc["cat", "frequency"] == pytest.approx(
        tokens.count("cat") / (len(tokens) + len(LINES))
    )
    assert table.loc["cat", "norm"] == pytest.approx(
        np.linalg.norm(model.word_vectors()["cat"]), rel=1e-6
    )
    assert table.loc["bird", "band"] == 0
    assert table.loc["the", "band"] == 2


def test_variants_replace_what_they_say(model) -> None:
    words = model.word_vectors()
    alone = study.changed(model, "words only").encode(["cat saw"])
    np.testing.assert_allclose(alone[0], (words["cat"] + words["saw"]) / 2, rtol=1e-5)
    weights = study.word_weights(model).set_index("word")
    smoothed = study.changed(model, "SIF").word_vectors()["cat"]
    assert np.linalg.norm(smoothed) == pytest.approx(
        weights.loc["cat", "sif"], rel=1e-5
    )
    assert not study.changed(model, "no frequent").word_vectors()["the"].any()


def test_a_printed_lead_has_the_sampling_errors_of_both_scores() -> None:
    printed = sent2vec_printed.scores()
    table = sent2vec_printed.leads(printed, "Sent2Vec uni.", ["C-BOW", "SkipThought"])
    on_cr = table.set_index("dataset").loc["CR"]
    assert on_cr["rival"] == "SkipThought"
    # 80.2 and 80.1 percent of 3,775 sentences.
    variances = 0.802 * 0.198 / 3775 + 0.801 * 0.199 / 3775
    half = 1.96 * np.sqrt(variances)
    found = on_cr[["lead", "low", "high"]].astype(float)
    assert found.tolist() == pytest.approx(
        [0.001, 0.001 - half, 0.001 + half], rel=1e-4
    )
