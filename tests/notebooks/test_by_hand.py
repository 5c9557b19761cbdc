"""What a lesson computes by hand matches its formula.

Code is read out of the notebook and checked.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from lib.base import paths
from lib.sent2vec import Sent2Vec
from lib.studies import trainings

LR = 0.3


def defined(notebook: str, function: str, **names) -> Callable:
    """A function that a cell of a notebook begins with, given the names it reads."""
    content = (paths.NOTEBOOKS / f"{notebook}.ipynb").read_text(encoding="utf-8")
    sources = ("".join(cell["source"]) for cell in json.loads(content)["cells"])
    known = {"np": np, **names}
    exec(next(own for own in sources if own.startswith(f"def {function}(")), known)
    return known[function]


@pytest.fixture(scope="module")
def update():
    """One step of Sent2Vec as lesson 5 has it."""
    return defined("05_sent2vec_training", "update")


def loss(V, U, context, target, negatives) -> float:
    """-log sigmoid(u_t v) - sum of log sigmoid(-u_n v), v the mean over occurrences."""
    v = sum(V[row] for row in context) / len(context)
    return np.log1p(np.exp(-U[target] @ v)) + sum(
        np.log1p(np.exp(U[word] @ v)) for word in negatives
    )


def slopes(matrix, value, step=1e-6) -> np.ndarray:
    """The derivative of a value by each number of a matrix, by central differences."""
    found = np.empty_like(matrix)
    for place in np.ndindex(matrix.shape):
        kept = matrix[place]
        matrix[place] = kept + step
        above = value()
        matrix[place] = kept - step
        found[place] = (above - value()) / (2 * step)
        matrix[place] = kept
    return found


@pytest.mark.parametrize("context", [[1, 2], [1, 2, 2], [3, 1, 3, 2, 3]])
def test_a_step_of_sent2vec_goes_down_the_slope_of_its_loss(
    update, rng, context
) -> None:
    V, U = rng.normal(size=(2, 6, 4))
    sample = context, 0, [4, 5]
    expected = [M - LR * slopes(M, lambda: loss(V, U, *sample)) for M in (V, U)]
    update(V, U, *sample, lr=LR)
    for found, right in zip((V, U), expected, strict=True):
        np.testing.assert_allclose(found, right, atol=1e-8)


# Lesson 5: "It takes the same steps. (A test of the project compares the two.)"
def test_a_step_of_sent2vec_is_one_of_the_trainer(update) -> None:
    """On a line of two words, each the context and the only negative of the other.

    The trainer reads the sigmoid from a table, as the authors' program does.
    """

    def matrices(lr) -> list[np.ndarray]:
        alone = {"dim": 2, "epochs": 1, "negatives": 1, "subsample": 1.0}
        least = {"min_count": 1, "min_target_count": 1, "variant": "paper"}
        tiny = Sent2Vec.train(["sun moon"], **alone, **least, lr=lr)
        own = trainings.word_weights(tiny)["row"]
        both = tiny.input_matrix, tiny.output_matrix
        return [matrix[own].astype(float) for matrix in both]

    V, U = matrices(1e-9)  # as they begin
    update(V, U, [1], 0, [1], lr=1.0)  # moon predicts sun
    update(V, U, [0], 1, [0], lr=1.0)  # sun predicts moon
    for found, right in zip((V, U), matrices(1.0), strict=True):
        np.testing.assert_allclose(found, right, atol=2e-3)


def test_the_expected_loss_of_a_target_is_that_of_every_draw(rng) -> None:
    V, U = rng.normal(size=(2, 5, 3))
    q = rng.dirichlet(np.ones(5))
    kept = rng.uniform(size=5)
    losses = defined(
        "replication/sent2vec",
        "losses",
        V=V,
        U=U,
        drawn=q,
        kept=kept,
        base=SimpleNamespace(negatives=10),
    )
    words = np.array([2, 4])
    expected, three, four = losses(words)[:, 0]
    target = loss(V, U, [4], 2, [])
    of_word = [loss(V, U, [4], 2, [word]) - target for word in range(5)]
    others = [q[word] * of_word[word] for word in range(5) if word != 2]
    drawn = 10 * sum(others) / (1 - q[2])
    assert expected == pytest.approx(kept[2] * (target + drawn))
    every = 10 * q @ of_word
    assert three == pytest.approx(kept[2] * target + every)
    assert four == pytest.approx(kept[2] * (target + every))
