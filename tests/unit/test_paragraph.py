"""Paragraph vectors depend only on sentence and seed, and learn topics."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from lib.embedders.trained import ParagraphVectors
from tests.refusals import refused
from tests.topics import TEXT

OPTIONS = {"dim": 12, "epochs": 40}


@pytest.fixture(scope="module", params=["pv-dm", "pv-dbow"])
def fitted(request) -> ParagraphVectors:
    return ParagraphVectors(request.param, **OPTIONS).fit(TEXT)


def test_sentences_about_one_thing_are_nearer(fitted) -> None:
    vectors = fitted.encode(
        [
            "cat and dog sleep",
            "the dog chases a cat",
            "money at the bank",
            "interest on money",
        ]
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors.T
    assert min(cosines[0, 1], cosines[2, 3]) > max(cosines[0, 2], cosines[1, 3])


@pytest.mark.parametrize("sentence", ["the cat and the dog sleep", "interest"])
def test_with_a_tolerance_passes_are_doubled_until_the_vector_hardly_turns(
    fitted, sentence
) -> None:
    def encoded(passes: int, tolerance: float | None = None) -> np.ndarray:
        model = ParagraphVectors(fitted.model, tolerance=tolerance, **OPTIONS)
        model.inference_epochs = passes
        return model.restore(fitted.state(), "a text").encode([sentence])[0]

    tried = [
        encoded(5 * 2**i) for i in range(7)
    ]  # up to 320 passes, the most that there are
    turned = [
        1 - unit(before) @ unit(after) for before, after in itertools.pairwise(tried)
    ]
    settled = next((i for i, turn in enumerate(turned, 1) if turn <= 0.02), 6)
    np.testing.assert_array_equal(encoded(5, tolerance=0.02), tried[settled])


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def test_bad_input_gets_a_sentence() -> None:
    with refused("tolerance: 0 is not accepted"):
        ParagraphVectors("pv-dbow", tolerance=0)
    with refused("no word occurs 2 times"):
        ParagraphVectors("pv-dbow").fit(["each word once"])
