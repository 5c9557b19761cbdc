"""Power means: by hand, against the definition word by word, and what they reduce to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.embedders.base import Concatenation
from lib.embedders.composition import PowerMeans
from lib.run.errors import InputError

VECTORS = {
    "a": np.array([1, -8], np.float32),
    "b": np.array([3, 0], np.float32),
    "c": np.array([-2, 1], np.float32),
}


def split(sentence: str) -> list[str]:
    return sentence.split()


def test_mean_maximum_and_minimum_by_hand() -> None:
    vectors = PowerMeans(VECTORS, tokenize=split).encode(["a b", "a zzz c", "zzz", ""])
    expected = [[2, -4, 3, 0, 1, -8], [-0.5, -3.5, 1, 1, -2, -8], [0] * 6, [0] * 6]
    np.testing.assert_allclose(vectors, expected)
    assert vectors.dtype == np.float32


@given(st.lists(st.lists(st.sampled_from("abcz"), max_size=6), max_size=8), st.sampled_from([1.0, 3.0, 5.0]))
def test_power_means_are_those_of_the_definition(sentences, power) -> None:
    ours = PowerMeans(VECTORS, (power, np.inf, -np.inf), split).encode([" ".join(words) for words in sentences])
    for words, vector in zip(sentences, ours, strict=True):
        known = np.array([VECTORS[word] for word in words if word in VECTORS], dtype=float)
        if not len(known):
            assert not vector.any()
            continue
        mean = (known**power).mean(axis=0)
        root = np.sign(mean) * np.abs(mean) ** (1 / power)
        np.testing.assert_allclose(vector, np.hstack([root, known.max(axis=0), known.min(axis=0)]), atol=1e-5)


def test_two_vector_sets_stand_side_by_side() -> None:
    doubled = {word: 2 * vector for word, vector in VECTORS.items()}
    parts = [PowerMeans(vectors, tokenize=split, name=name) for name, vectors in (("x", VECTORS), ("y", doubled))]
    both = Concatenation("x+y+power-means", parts).encode(["a b"])
    np.testing.assert_allclose(both, np.hstack([parts[0].encode(["a b"]), 2 * parts[0].encode(["a b"])]))


@pytest.mark.parametrize("powers", [(2,), (0,), (-1,), (0.5,), ()])
def test_powers_without_a_real_root_are_refused(powers) -> None:
    with pytest.raises(InputError, match=r"powers: .* is not accepted; give 1, 3, 5"):
        PowerMeans(VECTORS, powers)
