"""What was learned from a text is learned once."""

from __future__ import annotations

import numpy as np
import pytest

from lib import embedders, fitted
from lib.embedders.base import Embedder
from lib.run import paths

SENTENCES = ["the dog barks", "a cat and a dog", "the cat sleeps", "dogs and cats bark and sleep"]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    return tmp_path / "fitted"


@pytest.fixture
def fits(monkeypatch) -> list[str]:
    """The names of the embedders that had to learn."""
    learned = []
    fit = Embedder.fit

    def counting(embedder, sentences, show_progress_bar=False):
        learned.append(embedder.name)
        return fit(embedder, sentences, show_progress_bar)

    monkeypatch.setattr(Embedder, "fit", counting)
    return learned


@pytest.mark.parametrize("name", ["tfidf", "glove-6b-50d+sif"])
def test_the_second_time_it_is_read(name, fits) -> None:
    first, second = (fitted.fit(embedders.load(name), SENTENCES) for _ in range(2))
    assert fits == [name]
    assert first.fitted_on == second.fitted_on
    a, b = first.encode(SENTENCES), second.encode(SENTENCES)
    np.testing.assert_array_equal(a.toarray() if name == "tfidf" else a, b.toarray() if name == "tfidf" else b)


def test_another_text_or_setting_is_learned_anew(fits) -> None:
    fitted.fit(embedders.load("tfidf"), SENTENCES)
    fitted.fit(embedders.load("tfidf"), SENTENCES[1:])
    fitted.fit(embedders.load("glove-6b-50d+sif", a=0.01), SENTENCES)
    fitted.fit(embedders.load("glove-6b-50d+sif", a=0.1), SENTENCES)
    assert len(fits) == 4


@pytest.mark.parametrize("damage", [lambda data: data[:100], lambda data: b"", lambda data: data[:-30] + bytes(30)])
def test_a_damaged_file_is_made_anew(damage, cache, fits) -> None:
    fitted.fit(embedders.load("tfidf"), SENTENCES)
    file = next(cache.glob("*.npz"))
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    fitted.fit(embedders.load("tfidf"), SENTENCES)
    assert fits == ["tfidf"] * 2
    assert file.read_bytes() == whole


def test_word_vectors_that_are_gone_are_trained_anew(tmp_path, fits) -> None:
    name, text = "w2v-corpus-8d", SENTENCES * 2
    before = fitted.fit(embedders.load(name), text).encode(text)
    (file,) = (tmp_path / "trained").glob("*.bin")
    file.unlink()
    np.testing.assert_array_equal(fitted.fit(embedders.load(name), text).encode(text), before)
    assert fits == [name] * 2
    assert file.exists()


def test_what_needs_no_text_or_has_it_is_left_alone(fits, cache) -> None:
    fitted.fit(embedders.load("glove-6b-50d"), SENTENCES)
    once = embedders.load("bow").fit(["other words"])
    assert fitted.fit(once, SENTENCES).vocabulary == {"other": 0, "words": 1}
    assert fits == ["bow"]
    assert not cache.exists()


class Forgetful(Embedder):
    """Learns, and does not say what."""

    name, settings, needs_fit = "forgetful", {}, True

    def _fit(self, sentences, show_progress_bar) -> None:
        self.length = len(sentences)

    def _encode(self, sentences) -> np.ndarray:
        return np.full((len(sentences), 1), self.length, np.float32)


def test_one_that_does_not_say_what_it_learned_learns_each_time(fits) -> None:
    for _ in range(2):
        assert fitted.fit(Forgetful(), SENTENCES).encode(["x"]) == len(SENTENCES)
    assert fits == ["forgetful"] * 2
