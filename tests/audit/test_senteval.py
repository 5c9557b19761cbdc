"""SentEval's classifiers: against SentEval's own results, and a model at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from audit import senteval, side_by_side
from audit.senteval import SentEval
from lib.tasks import ClassificationTask


def noisy_set(sizes: list[int], classes: int) -> tuple[list, np.ndarray]:
    """Splits of sentences whose vectors hint at their labels, and the vectors."""
    rng = np.random.default_rng(0)
    total = sum(sizes)
    labels = rng.integers(classes, size=total)
    hints = 0.3 * rng.normal(size=(classes, 20))[labels]
    noise = rng.normal(size=(total, 20)) * np.geomspace(0.05, 2, 20)
    splits = []
    for size, end in zip(sizes, np.cumsum(sizes), strict=True):
        sentences = ["x " * count for count in rng.integers(1, 30, size=size)]
        splits.append(ClassificationTask(sentences, labels[end - size : end]))
    return splits, (hints + noise).astype(np.float32)


# SentEval's own code, on a CPU, gave these accuracies on dev and test.
@pytest.mark.parametrize(
    ("sizes", "classes", "hidden", "dev", "test"),
    [
        ([403], 2, 0, 96.11, 87.86),
        ([401, 100], 4, 8, 92.52, 58.0),
        ([300, 80, 121], 4, 8, 90.0, 85.12),
    ],
    ids=["folds are tested", "train and test", "train, dev and test"],
)
def test_accuracies_are_those_of_sentevals_own_code(
    sizes, classes, hidden, dev, test
) -> None:
    splits, vectors = noisy_set(sizes, classes)
    found = SentEval(hidden).labeled(splits, vectors, 4, normalize=False)
    sentence = 100 / len(found.correct)
    assert found.dev.mean() == pytest.approx(dev, abs=sentence)
    assert 100 * found.correct.mean() == pytest.approx(test, abs=1.01 * sentence)


def alone(
    vectors: np.ndarray, labels: np.ndarray, fold: tuple, penalty: float, hidden: int
) -> tuple[float, int]:
    """One model in PyTorch's words: its best accuracy, and the passes until then."""
    train, dev = (
        (torch.from_numpy(vectors[rows]), torch.from_numpy(labels[rows]))
        for rows in fold
    )
    torch.manual_seed(side_by_side.SEED)
    model = nn.Sequential(nn.Linear(vectors.shape[1], hidden or 3))
    if hidden:
        model.extend([nn.Sigmoid(), nn.Linear(hidden, 3)])
    adam = torch.optim.Adam(model.parameters(), weight_decay=penalty)
    rng = np.random.RandomState(side_by_side.SEED)
    best, passes, misses = -1.0, 0, 0
    for done in range(1, 205):
        order = torch.from_numpy(rng.permutation(len(train[1])))
        for rows in order.split(64):
            adam.zero_grad()
            nn.functional.cross_entropy(
                model(train[0][rows]), train[1][rows]
            ).backward()
            adam.step()
        if done % 4:
            continue
        accuracy = (model(dev[0]).argmax(1) == dev[1]).double().mean().item()
        if accuracy > best:
            best, passes = accuracy, done
        elif (misses := misses + 1) > 5:
            break
    return best, passes


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("hidden", [0, 8])
def test_side_by_side_each_model_is_what_it_is_alone(hidden, normalize) -> None:
    (task,), vectors = noisy_set([200], 3)
    labels = task.labels
    folds = senteval.dealt(np.arange(200), labels, 3, None)
    data = side_by_side.Data(vectors, labels, hidden, normalize)
    penalties = np.tile([1e-5, 1e-2], (3, 1))
    for fold, found in zip(
        folds, side_by_side.trained(data, folds, penalties), strict=True
    ):
        known = vectors[fold[0]]
        shift, scale = (known.mean(0), known.std(0)) if normalize else (0, 1)
        columns = (vectors - shift) / scale
        expected = [alone(columns, labels, fold, p, hidden) for p in (1e-5, 1e-2)]
        accuracy, passes = zip(*expected, strict=True)
        assert found.accuracy.tolist() == pytest.approx(accuracy)
        assert found.passes.tolist() == list(passes)


@pytest.mark.parametrize("hidden", [0, 8])
@pytest.mark.parametrize("sizes", [[403], [300, 80, 121]], ids=["folds", "splits"])
def test_a_gpu_labels_as_the_processor_does(sizes, hidden, monkeypatch) -> None:
    if not torch.cuda.is_available():
        pytest.skip("this machine has no NVIDIA GPU")
    splits, vectors = noisy_set(sizes, 2)
    found = {}
    for device in ("cuda", "cpu"):
        monkeypatch.setattr(side_by_side, "DEVICE", device)
        found[device] = SentEval(hidden).labeled(splits, vectors, 4, normalize=True)
    there, here = found.values()
    np.testing.assert_allclose(there.dev, here.dev, atol=1)
    assert (there.correct != here.correct).mean() < 0.02


def test_groups_stay_together_and_results_are_kept(own_cache, monkeypatch) -> None:
    (task,), vectors = noisy_set([120], 2)
    groups = np.arange(120) // 2
    for train, test in senteval.dealt(np.arange(120), task.labels, 3, groups):
        assert not set(groups[train]) & set(groups[test])
    task = ClassificationTask(task.sentences, task.labels, groups)
    given = "toy", [task], vectors, 2, [False, True]
    first = SentEval().chosen(*given)
    columns = [SentEval().stored(*given[:-1], each) for each in (False, True)]
    np.testing.assert_array_equal(first.dev, np.maximum(*(c.dev for c in columns)))
    monkeypatch.setattr(SentEval, "labeled", None)
    np.testing.assert_array_equal(SentEval().chosen(*given).correct, first.correct)
