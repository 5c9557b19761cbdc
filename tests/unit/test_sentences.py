"""Sentences in one buffer: a list's behavior, the first of equal ones kept, memory within bounds."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import corpora
from lib.corpora import text
from lib.corpora.sentences import Collector, Sentences

BYTES_A_SENTENCE = 150  # beside its text


def collected(sentences: list[str]) -> tuple[Sentences, list[int]]:
    collector = Collector()
    for sentence in sentences:
        collector.append(sentence)
    unique, first = collector.unique()
    return unique, first.tolist()


@given(st.lists(st.text(max_size=5)), st.slices(6))
def test_it_behaves_as_a_list(sentences, part) -> None:
    unique = list(dict.fromkeys(sentences))
    held, _ = collected(sentences)
    assert held == unique
    assert list(held) == unique
    assert held[part] == unique[part]
    assert [held[i] for i in range(-len(unique), len(unique))] == unique * 2
    assert text.fingerprint(held) == text.fingerprint(unique)
    assert pickle.loads(pickle.dumps(held)) == unique


def test_it_takes_numpy_integers_and_knows_its_ends() -> None:
    held, _ = collected(["One.", "Zwölf.", "\ud800 alone"])
    assert [held[i] for i in np.array([2, 0])] == ["\ud800 alone", "One."]
    assert held[np.int32(-2)] == "Zwölf."
    assert "Zwölf." in held
    for beyond in (3, -4):
        with pytest.raises(IndexError):
            held[beyond]
    assert held != ["One.", "Zwölf."]
    assert held != "One."
    assert "3 sentences: 'One.', 'Zwölf.'" in repr(held)


@given(st.lists(st.sampled_from(["a", "bb", "", "ccc", "é"]), max_size=30))
def test_the_first_of_equal_sentences_is_kept(sentences) -> None:
    unique, first = collected(sentences)
    assert unique == list(dict.fromkeys(sentences))
    assert first == [sentences.index(sentence) for sentence in sentences]


def test_memory_beside_the_text_stays_within_bounds() -> None:
    def records(count: int) -> Iterator[corpora.Record]:
        for i in range(count):
            yield corpora.Record(f"Ship {i % (count * 4 // 5)} came in.", i // 10, i if i % 3 else -1)

    tracemalloc.start()
    try:
        corpus = corpora._assemble("made up", records(200_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(corpus), corpus.duplicates) == (160_000, 40_000)
    read = sum(len(f"Ship {i % 160_000} came in.") for i in range(200_000))
    assert (peak - read) / 200_000 < BYTES_A_SENTENCE
