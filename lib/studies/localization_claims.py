"""Verdicts on what "How Well Sentence Embeddings Capture Meaning" claims, by the rules in ``lib/catalog/claims.csv``.

A ledger takes what each function measures. Models have the names of `lib.studies.localization`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest, kendalltau, t
from sklearn.decomposition import PCA

from lib import n2o, neighbors, stats, tasks
from lib.catalog import published
from lib.corpora import text
from lib.corpora.closure import groups_from_pairs
from lib.embedders.base import Embeddings
from lib.localization import GRID, classify, svm
from lib.run import paths
from lib.run.cluster import in_processes
from lib.stats import Ledger, Sampling
from lib.studies.localization import (
    ENSEMBLES,
    MIXED,
    SENTENCES,
    WORDS,
    Answers,
    Components,
    agreement,
    bag_of_words,
    double,
    encoded,
    leads,
    scores,
    shared_mistakes,
    spread,
    treebank_lower,
    variances,
)

ENOUGH = 30  # shared mistakes
SPEEDS = paths.ROOT / "docs" / "benchmarks" / "localization.csv"

# Claims that compare accuracies: id, part, pairs of models, whether Holm's correction is asked for.
COMPARISONS = (
    ("sowe-effective", "sentence models", list(product(["SOWE"], SENTENCES)), True),
    ("sowe-effective", "BOW", [("SOWE", "BOW")], False),
    ("urae-worst", "", list(product([*WORDS, *SENTENCES[:2]], ["URAE", "URAE, balanced"])), True),
    ("word-order", "outperformed", list(product(WORDS, ["URAE", "PV-DM"])), True),
    ("word-order", "order", [(name, f"{name}, shuffled") for name in ("PV-DM", "URAE")], False),
    ("urae-word-features", "URAE", [("URAE and BOW", "URAE")], False),
    ("urae-word-features", "BOW", [("URAE and BOW", "BOW")], False),
    ("bow-dimension", "similar", [("BOW", "MOWE"), ("BOW", "SOWE")], False),
    ("bow-dimension", "dimension", [("BOW", "BOW, random directions"), ("BOW", "PCA BOW")], False),
    ("pca-cheat", "", [("PCA BOW, all sentences", "PCA BOW")], False),
    ("pca-keywords", "accuracy", [("PCA BOW", "BOW, most variable words")], False),
    ("mowe-sowe-similar", "", [("SOWE", "MOWE")], False),
    ("ensemble", "single", list(product([MIXED], ENSEMBLES[MIXED])), False),
    ("ensemble", "control", [(MIXED, "word models")], False),
)

# Ways to read "each token, including punctuation".
TOKENIZERS = (
    treebank_lower,
    text.treebank_tokens,
    text.lower_word_tokens,
    text.whitespace_tokens,
    text.gensim_tokens,
)


def _word_models_agree(labels, said):
    """Agreement of word models less that of pairs with a sentence model: on all, and where all models are wrong."""
    found = []
    for rows in (np.ones(len(labels), bool), (said != labels[:, None]).all(axis=1)):
        pairs = {pair: agreement(labels[rows], *said[rows].T[list(pair)]) for pair in combinations(range(7), 2)}
        alike = [value for pair, value in pairs.items() if max(pair) < len(WORDS)]
        others = [value for pair, value in pairs.items() if max(pair) >= len(WORDS)]
        found.append(np.mean(alike) - np.mean(others))
    return np.array(found)


def _between_less_within(labels, said):
    """Agreement of each two models (the first three columns) less the mean agreement of each with its second seed."""
    within = [agreement(labels, said[:, i], said[:, i + 3]) for i in range(3)]
    return [agreement(labels, *said.T[[i, j]]) - (within[i] + within[j]) / 2 for i, j in combinations(range(3), 2)]


def judge_mistakes(
    ledger: Ledger, tested: Mapping[str, Answers], vectors: Mapping[str, np.ndarray], sampling: Sampling, analogue: str
) -> None:
    """Claims of section 5.2.

    Parameters
    ----------
    ledger : Ledger
    tested : mapping of set to Answers
        The models of Table 1, and of `SENTENCES` trainings with a second seed: "PV-DM, seed 2".
    vectors : mapping
        The vectors of `SENTENCES` and of their second trainings, of the sentences of the last set.
    sampling : Sampling
    analogue : str
    """
    for id, names, statistic in (
        ("mowe-sowe-agree", ("MOWE", "SOWE"), lambda labels, said: agreement(labels, *said.T)),
        ("word-models-agree", (*WORDS, *SENTENCES), _word_models_agree),
    ):
        enough = {task: shared_mistakes(answers, names)["both"].min() for task, answers in tested.items()}
        most = max(enough, key=enough.get)
        ledger.interval(f"localization-{id}", *[float(enough[most])] * 3, part="enough", analogue=analogue, note=most)
        labels, _, said = tested[most]
        found = 0.0, -1.0, 1.0  # too few to judge by
        if enough[most] >= ENOUGH:
            said = said[list(names)].to_numpy()
            found = stats.bootstrap(statistic, labels, said, sampling=sampling, clusters=labels)
        ledger.interval(f"localization-{id}", *found, part="agree", analogue=analogue)
    labels, _, said = list(tested.values())[-1]
    trainings = [*SENTENCES, *(f"{name}, seed 2" for name in SENTENCES)]
    itself = np.arange(len(labels))
    near = [neighbors.exact(vectors[name], vectors[name], 10, exclude=itself).ids for name in trainings]
    within = [n2o.overlap(near[i], near[i + 3]) for i in range(3)]
    columns = [n2o.overlap(near[i], near[j]) - (within[i] + within[j]) / 2 for i, j in combinations(range(3), 2)]
    resampled = partial(stats.bootstrap, sampling=sampling, clusters=labels)
    both = (
        resampled(stats.mean, np.column_stack(columns)),
        resampled(_between_less_within, labels, said[trainings].to_numpy(), method="normal"),
    )
    ledger.interval("localization-dissimilar-maps", *np.concatenate(both, axis=1), analogue=analogue)


def _coefficients(outcome, *predictors):
    """Least squares: the constant, then a coefficient for each predictor."""
    return np.linalg.lstsq(np.column_stack([np.ones(len(outcome)), *predictors]), outcome, rcond=None)[0]


def _slope_and_rest(lead, margin, size, words):
    """How the lead grows with the margin; and the lead at margin 0, the rest as it is, over the mean lead."""
    slope = _coefficients(lead, margin, size, words)[1]
    return np.array([slope, 1 - slope * margin.mean() / lead.mean()])


def judge_overlap(
    ledger: Ledger, answers: Answers, words: pd.DataFrame, sampling: Sampling, exact: str, analogue: str
) -> None:
    """Whether sentences that mean the same share words, and whether that explains the lead of word models (5.3, 6)."""
    labels = answers.labels
    for part, a, b in (("weak", "own", "other"), ("strong", "own_nearest", "other_nearest")):
        found = stats.bootstrap(stats.mean, (words[a] - words[b]).to_numpy(), sampling=sampling, clusters=labels)
        ledger.interval("localization-word-overlap", *found, part=part, analogue=exact)
    lead = answers.correct[list(WORDS)].mean(axis=1) - answers.correct[list(SENTENCES)].mean(axis=1)
    group = words.assign(lead=lead, size=1).groupby(labels)
    table = group[["lead", "margin", "words"]].mean().assign(size=group["size"].sum())
    columns = table[["lead", "margin", "size", "words"]].to_numpy().T
    found = np.array(stats.bootstrap(_slope_and_rest, *columns, sampling=sampling))
    for part, interval in zip(("slope", "rest"), found.T, strict=True):
        ledger.interval("localization-overlap-explains-gap", *interval, part=part, analogue=analogue)


def judge_accuracy(
    ledger: Ledger, tested: Mapping[str, Answers], sampling: Sampling, exact: Mapping[str, str], analogue: str
) -> None:
    """Claims that compare the accuracies of two models on the same sentences, of sections 3.2.4, 5 and 6.

    Parameters
    ----------
    ledger : Ledger
    tested : mapping of set to Answers
        MSRP and Opinosis, or verses in their place.
    sampling : Sampling
    exact : mapping
        What stands in, by claim, where the paper's own sets leave nothing to stand in for.
    analogue : str
        What stands in for the other claims.
    """
    for id, part, pairs, holm in COMPARISONS:
        stand_in = exact if id.startswith("pca") or part == "dimension" else analogue
        found = leads(tested, pairs, sampling, holm)
        ledger.interval(f"localization-{id}", *found, part=part, analogue=stand_in)
    for part, answers in zip(("MSRP", "Opinosis"), tested.values(), strict=False):
        found = leads({part: answers}, list(product(WORDS, SENTENCES)), sampling, holm=True)
        ledger.interval("localization-words-over-sentences", *found, part=part, analogue=analogue)
        found = leads({part: answers}, [("PCA BOW", "BOW")], sampling)
        ledger.interval("localization-pca-loses-little", *found, part=part, analogue=exact)


def judge_table_1(ledger: Ledger, sets: Mapping[str, tasks.ParaphraseGroups], deals: Sequence[int], dim: int) -> None:
    """Bags of words as in Table 1: the interval in which another deal of the folds would come out (95 %)."""
    rated = published.cells("localization_table1", by=["model", "dataset"]) / 100
    within = t.isf(0.025, len(deals) - 1) * np.sqrt(1 + 1 / len(deals))
    for model, steps in {"BOW": (), "PCA BOW": (Components(dim),)}.items():
        gaps = []
        for dataset, task in zip(("MSRP", "Opinosis"), sets.values(), strict=True):
            bow = bag_of_words(task.sentences)
            answers = in_processes(scores, ((task.labels, seed, GRID, bow, *steps) for seed in deals))
            found = [(np.unique(task.labels)[each.argmax(axis=1)] == task.labels).mean() for each in answers]
            half = within * np.std(found, ddof=1)
            gaps.append(np.mean(found) - rated[model, dataset] + np.array([0, -half, half]))
        ledger.interval("localization-table1-bow", *np.transpose(gaps), part=model)


def beside_table_1(tested: Mapping[str, Answers], sampling: Sampling) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Table 1 beside our accuracies on MSRP and Opinosis, with intervals over groups; and how alike the orders are.

    Rows set, model, paper, ours, low, high; and set, spearman (of the paper's accuracies with ours), low, high.
    """
    printed = published.cells("localization_table1", by=["dataset", "model"]) / 100
    models, orders = [], []
    for dataset, answers in zip(("MSRP", "Opinosis"), tested.values(), strict=True):
        paper = printed[dataset]
        correct = answers.correct[list(paper.index)].to_numpy()
        of = partial(stats.bootstrap, sampling=sampling, clusters=answers.labels)
        ours = pd.DataFrame(of(stats.mean, correct)._asdict(), paper.index).rename(columns={"estimate": "ours"})
        models.append(ours.assign(paper=paper, set=dataset))
        order = of(lambda rows, paper=paper: stats.spearman(rows.mean(axis=0), paper), correct, method="fisher")
        orders.append((dataset, *order))
    table = pd.concat(models).rename_axis("model").reset_index()
    return table[["set", "model", "paper", "ours", "low", "high"]], pd.DataFrame(
        orders, columns=["set", "spearman", "low", "high"]
    )


def judge_both_sets(
    ledger: Ledger, tested: Mapping[str, Answers], words: Mapping[str, pd.DataFrame], sampling: Sampling, analogue: str
) -> None:
    """Claims that compare MSRP, the first set, with Opinosis, the second (section 5.1)."""
    first, second = tested.values()
    names = [*WORDS, *SENTENCES]
    correct = pd.concat([first.correct, second.correct])[names].to_numpy()
    labels = np.concatenate([first.labels, second.labels + first.labels.max() + 1])
    on_first = np.arange(len(labels)) < len(first.labels)
    sizes = np.bincount(labels)[labels]
    resampled = partial(stats.bootstrap, sampling=sampling, clusters=labels)

    def tau(correct, on_first):
        return kendalltau(correct[on_first].mean(axis=0), correct[~on_first].mean(axis=0)).statistic

    found = resampled(tau, correct, on_first, method="fisher")
    ledger.interval("localization-order-consistent", *found, part="tau", analogue=analogue)
    pairs = list(combinations(names, 2))
    here, there = np.split(np.array(leads(tested, pairs, sampling, holm=True)), 2, axis=1)
    there = -there[[0, 2, 1]]
    opposed = [np.minimum(here, there), np.minimum(-here[[0, 2, 1]], -there[[0, 2, 1]])]
    ledger.interval(
        "localization-order-consistent", *np.concatenate(opposed, axis=1), part="reversals", analogue=analogue
    )

    def gaps(correct, on_first, sizes):
        def mean(rows, weights):
            return np.average(correct[rows], axis=0, weights=weights)

        plain = mean(on_first, None) - mean(~on_first, None)
        alike = mean(on_first, 1 / sizes[on_first]) - mean(~on_first, 1 / sizes[~on_first])
        return np.stack([plain, alike])

    found = np.array(resampled(gaps, correct, on_first, sizes))
    ledger.interval("localization-msrp-easier", *found[..., :2].reshape(3, -1), part="bags of words")
    ledger.interval("localization-msrp-easier", *found[..., 2:].reshape(3, -1), part="others", analogue=analogue)
    both = pd.concat(words.values())
    margin, length = both["margin"].to_numpy(), both["words"].to_numpy()

    def difference(margin, on_first):
        return margin[on_first].mean() - margin[~on_first].mean()

    def share(right, on_first, *others):
        return 1 - _coefficients(right, on_first, *others)[1] / _coefficients(right, on_first)[1]

    ledger.interval("localization-why-msrp-easier", *resampled(difference, margin, on_first), part="margin")
    found = resampled(share, correct[:, 0], on_first, margin, sizes, length)
    ledger.interval("localization-why-msrp-easier", *found, part="share")


def _scatter(columns):
    """Scatter within groups over scatter between them, of each two columns of `spread`."""
    sums = columns.sum(axis=0)
    return sums[::2] / sums[1::2]


def judge_task(ledger: Ledger, models: Mapping[str, Embeddings], answers: Answers, sampling: Sampling) -> pd.DataFrame:
    """What the accuracy of a linear SVM says of a space (sections 3, 3.3).

    Returns
    -------
    DataFrame with a row for each model: separable (accuracy on its own training sentences with C = 100), accuracy,
    scatter (within groups over between groups)
    """
    labels, names = answers.labels, list(models)
    table = answers.correct[names].mean().rename("accuracy").rename_axis("model").to_frame()
    columns = {name: spread(vectors, labels) for name, vectors in models.items()}
    table["scatter"] = [_scatter(each).item() for each in columns.values()]
    vectors = map(double, models.values())
    table["separable"] = [svm(C=GRID[-1]).fit(each, labels).score(each, labels) for each in vectors]
    tied = list(combinations(table.index[table["separable"] == 1], 2))
    found = leads({"": answers}, tied, sampling, holm=True)
    ledger.interval("localization-svm-measures-localization", *found, part="counterexample")

    def tau(x, y):
        return np.nan_to_num(kendalltau(x, y).statistic)  # 0 where all are separable

    x, y, ratio = table[["separable", "accuracy", "scatter"]].to_numpy().T
    found = stats.bootstrap(tau, x, y, sampling=sampling, method="fisher")
    ledger.interval("localization-svm-measures-localization", *found, part="order")
    noise = np.random.default_rng(0).normal(scale=10, size=len(labels))
    perfect = np.column_stack([np.eye(labels.max() + 1)[labels], noise])
    right = classify(perfect, labels, C=GRID[-1], scale=False).accuracy
    worst = columns[table["accuracy"].where(table["accuracy"] < right).idxmax()]
    both = np.column_stack([spread(perfect, labels), worst])
    found = stats.bootstrap(
        lambda rows: -np.diff(_scatter(rows)), both, sampling=sampling, clusters=labels, method="normal"
    )
    ledger.interval("localization-compact-required", *found, part="counterexample", note=f"{right:.0%} right")
    found = stats.bootstrap(stats.spearman, y, ratio, sampling=sampling, method="fisher")
    ledger.interval("localization-compact-required", *found, part="tendency")
    return table


def judge_training(
    ledger: Ledger, names: Sequence[str], text: Sequence[str], tested: tasks.ParaphraseGroups, sampling: Sampling
) -> None:
    """What training on the tested sentences gains (section 5.3): five seeds of each embedder.

    Each is trained on a text that ends with the tested sentences, and on one that ends with as many others.
    """
    count = len(tested)
    texts = [*text[count:], *tested.sentences], list(text)
    jobs = product(range(1, 6), names, texts, [tested])
    right = np.reshape(list(in_processes(_right_after, jobs)), (5, len(names), 2, count))
    gains = (right[:, :, 0] - right[:, :, 1]).mean(axis=1)
    found = stats.bootstrap(stats.mean, gains.T, sampling=sampling, clusters=tested.labels, seeds=True)
    ledger.interval("localization-training-on-test-text", *found)


def _right_after(seed, name, learned, tested):
    """Which tested sentences are placed right after training with this seed on a text, float64[n]."""
    vectors = encoded(name, learned, tested.sentences, {"seed": seed})
    return (classify(vectors, tested.labels).predictions == tested.labels).astype(float)


def judge_identities(ledger: Ledger, models: Mapping[str, Any], dim: int, sampling: Sampling) -> None:
    """Claims that need no classifier: cosines of sums and means, variance kept by words, speed."""
    bow, mean, total = models["BOW"], models["MOWE"], models["SOWE"]
    known = np.linalg.norm(mean, axis=1) > 0
    unit = [side[known] / np.linalg.norm(side[known], axis=1, keepdims=True) for side in (mean, total)]
    ledger.identity("localization-cosine-identity", unit[0] @ unit[0].T - unit[1] @ unit[1].T)
    words = np.sort(variances(bow))[-dim:].sum()
    components = PCA(min(dim, *bow.shape), svd_solver="full").fit(bow.toarray()).explained_variance_.sum()
    kept = components * (bow.shape[0] - 1) / bow.shape[0]
    ledger.identity("localization-pca-keywords", max(0.0, words - kept) / kept, part="variance")
    speeds = np.log(pd.read_csv(SPEEDS, index_col="model").to_numpy())
    differences = np.concatenate([speeds[0] - speeds[2:], speeds[1] - speeds[2:]]).T
    found = stats.bootstrap(stats.mean, differences, sampling=sampling)
    ledger.interval("localization-cheap", *found)


def judge_sizes(ledger: Ledger, msrp: tasks.ParaphraseGroups, opinosis: tasks.ParaphraseGroups) -> None:
    """Counts of section 4, and whether labels of MSRP speak against its closure."""
    stated = {"MSRP": (msrp, 859, 273, 2976), "Opinosis": (opinosis, 521, 89, 1085)}
    gaps = []
    for name, (task, sentences, groups, tokens) in stated.items():
        missed = [len(task) - sentences, int(task.labels.max()) + 1 - groups]
        if name == "Opinosis":
            ledger.identity("localization-opinosis-size", np.array(missed), part="sizes")
        else:
            for part, residual in zip(("sentences", "groups"), missed, strict=True):
                ledger.identity("localization-msrp-size", residual, part=part)
        gaps.append([len({token for each in task.sentences for token in cut(each)}) - tokens for cut in TOKENIZERS])
    ledger.identity("localization-opinosis-size", np.abs(gaps).max(axis=0).min(), part="tokens")
    pairs = tasks.load("MRPC", "all")
    alike = [pair for pair, label in zip(pairs.ids, pairs.label, strict=True) if label]
    groups = [group for group in groups_from_pairs(alike) if len(group) > 2]
    group_of = {member: number for number, group in enumerate(groups) for member in group}
    inside = {
        frozenset(pair): label
        for pair, label in zip(pairs.ids, pairs.label, strict=True)
        if pair[0] in group_of and group_of[pair[0]] == group_of.get(pair[1])
    }
    spare = len(inside) - len(group_of) + len(groups)
    against = list(inside.values()).count(0)
    low, high = binomtest(against, spare).proportion_ci() if spare else (0.0, 1.0)
    found = against / max(1, spare), low, high
    ledger.interval("localization-closure-is-meaning", *found, note=f"{spare} pairs are spare")
