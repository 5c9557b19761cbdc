"""What the lesson on Sent2Vec measures: hand-derived answers, SciPy's correlation, and the paper's printed numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr

from lib import stats
from lib.sent2vec import Sent2Vec
from lib.studies import sent2vec as study
from lib.studies import sent2vec_claims as claims
from lib.studies.scores import ScoredSet

LINES = ["the cat saw the dog .", "a dog saw a cat .", "the bird saw the cat ."] * 4
FEW = stats.Sampling(repetitions=60)


@pytest.fixture(scope="module")
def model():
    return Sent2Vec.train(
        LINES, dim=4, epochs=2, min_count=1, min_target_count=1, subsample=1.0, word_ngrams=2, bucket=50
    )


def letters(sentences) -> np.ndarray:
    """Vectors that depend on nothing but the sentence: letter counts."""
    return np.array([[sentence.lower().count(letter) + 0.1 for letter in "etaoinshrdlu"] for sentence in sentences])


def test_weights_are_those_of_the_matrix_and_frequencies_those_of_the_text(model) -> None:
    table = study.word_weights(model).set_index("word")
    assert "</s>" not in table.index
    tokens = " ".join(LINES).split()
    assert table.loc["cat", "frequency"] == pytest.approx(tokens.count("cat") / (len(tokens) + len(LINES)))
    assert table.loc["cat", "norm"] == pytest.approx(np.linalg.norm(model.word_vectors()["cat"]), rel=1e-6)
    assert table.loc["bird", "band"] == 0
    assert table.loc["the", "band"] == 2


def test_variants_replace_what_they_say(model) -> None:
    words = model.word_vectors()
    alone = study.changed(model, "words only").encode(["cat saw"])
    np.testing.assert_allclose(alone[0], (words["cat"] + words["saw"]) / 2, rtol=1e-5)
    weights = study.word_weights(model).set_index("word")
    smoothed = study.changed(model, "SIF").word_vectors()["cat"]
    assert np.linalg.norm(smoothed) == pytest.approx(weights.loc["cat", "sif"], rel=1e-5)
    assert not study.changed(model, "no frequent").word_vectors()["the"].any()


def test_scores_are_means_over_groups_and_cover_other_seeds(rng) -> None:
    gold, cosines = rng.normal(size=40), rng.normal(size=(2, 40))
    right = np.tile([1.0, 1.0, 0.0, 1.0], 10)
    sets = [
        ScoredSet("pairs", "similarity", letters, np.arange(40), gold),
        ScoredSet("labels", "supervised", letters, np.arange(40)),
    ]
    results = study.Results(sets, FEW)
    by_seed = np.column_stack([right, right])
    results.found["model"] = {"/similarity/pairs": cosines.T, "/supervised/labels": by_seed}
    results.found["fixed"] = {"/supervised/labels": np.zeros((40, 1))}
    correlation = np.mean([pearsonr(own, gold).statistic for own in cosines])
    both = results.scores(["model"], "similarity", "supervised")
    assert both.estimate == pytest.approx([(correlation + 0.75) / 2])
    assert both.low[0] < both.estimate[0] < both.high[0]
    assert results.apart([("model", "fixed")], "supervised").estimate == [0.75]


def test_the_expected_loss_is_that_of_every_possible_draw(model) -> None:
    gaps = claims.objective_gaps(model, ["bird saw"])
    words = model.dictionary.words[: model.dictionary.n_words]
    counts = dict(zip(words, model.dictionary.counts.tolist(), strict=False))
    target, context = words.index(b"bird"), model.input_matrix[words.index(b"saw")].astype(float)

    def loss(word: int, sign: int) -> float:
        return float(np.log1p(np.exp(-sign * model.output_matrix[word].astype(float) @ context)))

    roots = np.sqrt([counts[word] for word in words])
    drawn = sum(root * loss(word, -1) for word, root in enumerate(roots) if word != target) / (
        roots.sum() - roots[target]
    )
    whole = sum(root * loss(word, -1) for word, root in enumerate(roots)) / roots.sum()
    expected = (loss(target, 1) + 10 * whole) / (loss(target, 1) + 10 * drawn) - 1
    np.testing.assert_allclose(gaps[:, 0], expected, rtol=1e-6)


def test_printed_leads_have_the_error_of_their_test_sets() -> None:
    table = claims.leads("Sent2Vec uni.", ["SkipThought"]).set_index(["dataset", "measure"])
    row = table.loc["CR", "accuracy"]
    assert row["lead"] == pytest.approx(0.001)
    error = np.sqrt((0.802 * 0.198 + 0.801 * 0.199) / 3775)
    assert row["high"] == pytest.approx(0.001 + 1.96 * error)


def test_misprints_are_averages_that_their_parts_do_not_give() -> None:
    found = claims.misprints().set_index(["table", "model"])["parts"]
    assert found[3, "C-BOW"] == pytest.approx(70.95)
    assert found[1, "Skipgram"] == pytest.approx(79.43, abs=0.01)
    assert (3, "FastSent") not in found.index
