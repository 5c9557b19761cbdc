"""Training Sent2Vec: what it learns, stops anywhere, and messages on bad input."""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from joblib import cpu_count

from lib.base import paths
from lib.sent2vec import Settings, preset, text, training
from lib.vectors import unit
from tests.refusals import refused

SMALL = Settings(
    dim=10,
    epochs=3,
    word_ngrams=2,
    bucket=50,
    min_count=2,
    min_target_count=2,
    subsample=0.01,
    seed=7,
)


def sentences(n: int = 240) -> list[str]:
    """Two topics of ten words each, and words of both."""
    rng = np.random.default_rng(0)
    topics = [[f"{name}{i}" for i in range(10)] for name in ("sea", "law")]
    both = [f"word{i}" for i in range(5)]
    return [
        " ".join(rng.permutation([*rng.choice(topics[i % 2], 6), *rng.choice(both, 2)]))
        for i in range(n)
    ]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch, tmp_path) -> None:
    """Several blocks an epoch, checkpoints after every second, own temporary files."""
    monkeypatch.setattr(text, "BLOCK", 2000)
    monkeypatch.setattr(training, "ROUND", 2)
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")


ADD_STEP = training._Training._add_step


def after_each_step(call) -> Callable:
    """`_Training._add_step`, which then calls `call` with the step."""

    def added(self) -> None:
        ADD_STEP(self)
        call(self.history[-1])

    return added


def assert_same(one: training.Trained, other: training.Trained) -> None:
    assert one.dictionary.words == other.dictionary.words
    np.testing.assert_array_equal(one.input_matrix, other.input_matrix)
    np.testing.assert_array_equal(one.output_matrix, other.output_matrix)
    assert [step[:4] for step in one.history] == [step[:4] for step in other.history]


# -- what is learned -------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["reference", "paper"])
def test_words_of_one_topic_come_together_and_the_loss_falls(variant) -> None:
    settings = replace(SMALL, epochs=30, variant=variant)
    trained = training.train(sentences(), settings)
    words = trained.dictionary.words
    sea = [i for i, word in enumerate(words) if word.startswith(b"sea")]
    law = [i for i, word in enumerate(words) if word.startswith(b"law")]
    vectors = unit(trained.input_matrix)
    cosines = vectors @ vectors.T
    within = (cosines[np.ix_(sea, sea)].mean() + cosines[np.ix_(law, law)].mean()) / 2
    assert within > cosines[np.ix_(sea, law)].mean() + 0.15
    assert trained.history[-1].loss < 0.8 * trained.history[0].loss


def test_an_epoch_is_a_pass_over_the_text() -> None:
    """The program makes more passes: its epochs count words that it leaves out."""
    lines = [*sentences(60), "rare1 rare2 word0", "word1", ""]
    trained = training.train(lines, SMALL)
    steps = trained.history
    # Of chance: 11 words scored, log 2 each.
    assert steps[0].loss < 11 * math.log(2) * 1.001
    once = len(trained.dictionary.ids([line.encode() for line in lines[:60]])[0])
    assert steps[-1].words == 3 * once
    assert {step.epoch for step in steps} == {1, 2, 3}
    for step in steps:
        assert step.lr == pytest.approx(0.2 * (1 - step.words / steps[-1].words))


def test_the_rate_of_each_update_falls_by_the_word_to_zero() -> None:
    """Where all draws are certain, training is a sequence of steps that NumPy repeats.

    Only "a" is a target, "b" its whole context and its only negative; two blocks.
    """
    lines = ["a b", "a"] * 600
    settings = Settings(
        dim=4,
        epochs=1,
        lr=0.05,
        negatives=1,
        dropout_k=0,
        min_count=1,
        min_target_count=601,
        subsample=1.0,
        variant="paper",
    )
    trained = training.train(lines, settings)
    a, b = map(trained.dictionary.words.index, (b"a", b"b"))
    context = training.train(lines, replace(settings, lr=1e-9)).input_matrix[b]
    context = context.astype(float)
    outputs = np.zeros((2, 4))
    words = 1800
    for before in range(0, words, 3):
        lr = 0.05 * (1 - before / words)
        error = lr * ([1, 0] - 1 / (1 + np.exp(-outputs @ context)))
        gradient = error @ outputs
        outputs += np.outer(error, context)
        context += gradient
    np.testing.assert_allclose(trained.input_matrix[b], context, rtol=1e-3)
    np.testing.assert_allclose(trained.output_matrix[[a, b]], outputs, rtol=0.01)


def test_of_more_threads_than_cores_as_many_are_used_as_there_are_cores() -> None:
    assert preset("wiki-bigrams", threads=16, variant="paper").workers == min(
        16, cpu_count()
    )  # the docstring's example
    losses = [
        training.train(sentences(), replace(SMALL, threads=n)).history[-1].loss
        for n in (1, cpu_count() + 14)
    ]
    assert losses[1] == pytest.approx(losses[0], rel=0.1)


# -- the same bytes --------------------------------------------------------------------


# README: "a trainer for text of any size"
def test_a_list_a_file_and_a_compressed_file_train_the_same(tmp_path) -> None:
    content = "".join(f"{line}\n" for line in sentences()).encode()
    plain = tmp_path / "text.txt"
    plain.write_bytes(content)
    compressed = tmp_path / "text.gz"
    compressed.write_bytes(gzip.compress(content))
    expected = training.train(sentences(), SMALL)
    assert_same(training.train(plain, SMALL), expected)
    assert_same(training.train(str(compressed), SMALL), expected)
    # A newline within a sentence is a blank.
    broken = [line.replace(" ", "\n", 1) for line in sentences()]
    assert_same(training.train(broken, SMALL), expected)


# -- checkpoints -----------------------------------------------------------------------


def test_a_training_that_was_stopped_goes_on_to_the_same_bytes_and_leaves_nothing(
    monkeypatch,
) -> None:
    monkeypatch.setattr(training, "SECONDS_BETWEEN_CHECKPOINTS", 0)
    undisturbed = training.train(sentences(), SMALL)

    def stop(step: training.Step) -> None:
        if step.epoch == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(training._Training, "_add_step", after_each_step(stop))
    with pytest.raises(KeyboardInterrupt):
        training.train(sentences(), SMALL)
    steps: list[training.Step] = []
    monkeypatch.setattr(training._Training, "_add_step", after_each_step(steps.append))
    assert_same(training.train(sentences(), SMALL), undisturbed)
    assert 0 < len(steps) < len(undisturbed.history)
    assert not list((paths.CACHE / "trainings").iterdir())


def test_the_same_training_twice_at_once_does_no_harm(monkeypatch) -> None:
    """The second run resumes the first one's checkpoint, ends, and deletes it.

    The first one is still at work at that time.
    """
    monkeypatch.setattr(training, "SECONDS_BETWEEN_CHECKPOINTS", 0)
    started, second = [], []

    def train_again(step: training.Step) -> None:
        if step.epoch == 2 and not started:
            started.append(step)
            second.append(training.train(sentences(), SMALL))

    monkeypatch.setattr(training._Training, "_add_step", after_each_step(train_again))
    first = training.train(sentences(), SMALL)
    assert_same(first, second[0])
    assert not list((paths.CACHE / "trainings").iterdir())


# -- bad input -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "changes", "sentence"),
    [
        (
            sentences(),
            {"min_count": 10**6},
            "min_count: fewer than two words occur 1000000 times",
        ),
        (["a", "b"] * 9, {}, "none has two words that occur min_count times"),
        (
            sentences(),
            {"min_target_count": 10**6},
            "min_target_count: no word occurs 1000000 times",
        ),
        (
            sentences(),
            {"lr": 1e6},
            "of 5,760 words; give a lower one than 1e+06",
        ),
        (iter(sentences()), {}, "can be read only once; give a list"),
        ([b"a b"], {}, "number 0 is a bytes; give strings"),
        (Path("no such file"), {}, "no such file: no such file; give a text"),
    ],
)
def test_bad_text_gets_a_sentence(source, changes, sentence) -> None:
    with refused(sentence):
        training.train(source, replace(SMALL, **changes))


def test_bad_settings_get_a_sentence() -> None:
    with refused("dim: 1.5 is not accepted; give 1 to 100000, a whole number"):
        Settings(dim=1.5)
    with refused("variant: 'papr' is not known; did you mean paper"):
        Settings(variant="papr")
    with refused("preset: 'wiki' is not known; did you mean"):
        preset("wiki")


# -- presets ---------------------------------------------------------------------------


def test_presets_are_the_rows_of_table_5_and_of_appendix_b() -> None:
    twitter = Settings(
        dim=700,
        min_count=20,
        min_target_count=20,
        epochs=3,
        subsample=1e-6,
        dropout_k=0,
    )
    assert preset("twitter-unigrams") == twitter
    wiki = Settings(
        dim=700,
        min_count=8,
        min_target_count=20,
        epochs=9,
        subsample=5e-6,
        dropout_k=4,
        word_ngrams=2,
        bucket=4_000_000,
        l1=0.0005,
        seed=3,
    )
    assert preset("wiki-bigrams-l1", seed=3) == wiki
