"""Paragraph vectors depend only on sentence and seed, and learn topics."""

from __future__ import annotations

import numpy as np
import pytest

from lib.embedders.trained import ParagraphVectors
from lib.similarity import similarities
from tests.refusals import refused
from tests.topics import TEXT

OPTIONS = {"dim": 12, "epochs": 40}


@pytest.fixture(scope="module", params=["pv-dm", "pv-dbow"])
def fitted(request) -> ParagraphVectors:
    return ParagraphVectors(request.param, **OPTIONS).fit(TEXT)


def test_sentences_about_one_thing_are_nearer(fitted) -> None:
    animals = ["cat and dog sleep", "the dog chases a cat"]
    money = ["money at the bank", "interest on money"]
    vectors = fitted.encode([*animals, *money])
    alike = similarities(vectors[::2], vectors[1::2])
    unlike = similarities(vectors[:2], vectors[2:])
    assert min(alike) > max(unlike)


@pytest.mark.parametrize("sentence", ["the cat and the dog sleep", "interest"])
def test_with_a_tolerance_passes_are_doubled_until_the_vector_hardly_turns(
    fitted, sentence
) -> None:
    def encoded(passes: int, tolerance: float | None = None) -> np.ndarray:
        model = ParagraphVectors(fitted.model, tolerance=tolerance, **OPTIONS)
        model.inference_epochs = passes
        return model.restore(fitted.state(), "a text").encode([sentence])[0]

    tried = [encoded(5 * 2**i) for i in range(7)]  # up to 320 passes, the most
    cosines = similarities(tried[:-1], tried[1:])
    settled = next((i for i, cosine in enumerate(cosines, 1) if cosine >= 0.98), 6)
    np.testing.assert_array_equal(encoded(5, tolerance=0.02), tried[settled])


def test_bad_input_gets_a_sentence() -> None:
    with refused("tolerance: 0 is not accepted"):
        ParagraphVectors("pv-dbow", tolerance=0)
    with refused("no word occurs 2 times"):
        ParagraphVectors("pv-dbow").fit(["each word once"])
