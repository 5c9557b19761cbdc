"""Verdicts on what "How Well Sentence Embeddings Capture Meaning" claims, by the rules in ``lib/catalog/claims.csv``.

Models have the names of `lib.studies.localization`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, compress, product
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
from lib.localization import GRID, classify, double, svm
from lib.run import paths
from lib.run.cluster import in_processes
from lib.stats import Interval, Ledger, Sampling
from lib.studies.localization import (
    ENSEMBLES,
    MIXED,
    SENTENCES,
    WORDS,
    Answers,
    Components,
    accuracies,
    agreement,
    bag_of_words,
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


@dataclass(frozen=True)
class Judge:
    """Judges claims, and enters the verdicts into a ledger.

    Attributes
    ----------
    ledger : Ledger
    sampling : Sampling
    models, sets : str
        What stands in for the paper's models (trained vectors), and for its sets ("": nothing, they are the paper's).
    """

    ledger: Ledger
    sampling: Sampling
    models: str
    sets: str

    def enter(self, id: str, found: Sequence[np.ndarray], part: str = "", analogue: str = "", note: str = "") -> None:
        """Judge a claim, or a part of one, by estimates and intervals."""
        self.ledger.interval(f"localization-{id}", *found, part=part, analogue=analogue, note=note)

    def interval(self, statistic: Callable, *columns: np.ndarray, **options: Any) -> Interval:
        """The bootstrap interval of a statistic of columns."""
        return stats.bootstrap(statistic, *columns, sampling=self.sampling, **options)

    def accuracy(self, tested: Mapping[str, Answers]) -> None:
        """Claims that compare the accuracies of two models on the same sentences, of sections 3.2.4, 5 and 6.

        `tested` are the answers on MSRP and Opinosis, or on verses in their place.
        """
        for id, part, pairs, holm in COMPARISONS:
            analogue = self.sets if id.startswith("pca") or part == "dimension" else self.models
            self.enter(id, leads(tested, pairs, self.sampling, holm), part, analogue)
        for part, answers in zip(("MSRP (verses by default)", "Opinosis"), tested.values(), strict=False):
            found = leads({part: answers}, list(product(WORDS, SENTENCES)), self.sampling, holm=True)
            self.enter("words-over-sentences", found, part, self.models)
            self.enter("pca-loses-little", leads({part: answers}, [("PCA BOW", "BOW")], self.sampling), part, self.sets)

    def mistakes(self, tested: Mapping[str, Answers], vectors: Mapping[str, np.ndarray]) -> None:
        """Claims of section 5.2.

        Parameters
        ----------
        tested : mapping of set to Answers
            The models of Table 1, and of `SENTENCES` trainings with a second seed: "PV-DM, seed 2".
        vectors : mapping
            The vectors of `SENTENCES` and of their second trainings, of the sentences of the last set.
        """
        for id, names, statistic in (
            ("mowe-sowe-agree", ["MOWE", "SOWE"], lambda *both: agreement(*both)[0, 1]),
            ("word-models-agree", [*WORDS, *SENTENCES], _word_models_agree),
        ):
            enough = {task: shared_mistakes(answers, names)["both"].min() for task, answers in tested.items()}
            most = max(enough, key=enough.get)
            self.enter(id, [float(enough[most])] * 3, "enough", self.models, most)
            labels, predictions = tested[most].labels, tested[most].predictions[names].to_numpy()
            found = 0.0, -1.0, 1.0  # too few to judge by
            if enough[most] >= ENOUGH:
                found = self.interval(statistic, labels, predictions, clusters=labels)
            self.enter(id, found, "agree", self.models)
        labels, _, predictions = list(tested.values())[-1]
        trainings = [*SENTENCES, *(f"{name}, seed 2" for name in SENTENCES)]
        itself = np.arange(len(labels))
        near = [neighbors.exact(vectors[name], vectors[name], 10, exclude=itself).ids for name in trainings]
        overlaps = np.array([[n2o.overlap(a, b) for b in near] for a in near]).transpose(2, 0, 1)
        both = (
            self.interval(stats.mean, _between_less_within(overlaps), clusters=labels),
            self.interval(
                lambda *both: _between_less_within(agreement(*both)),
                labels,
                predictions[trainings].to_numpy(),
                clusters=labels,
                method="normal",
            ),
        )
        self.enter("dissimilar-maps", np.concatenate(both, axis=1), analogue=self.models)

    def overlap(self, answers: Answers, words: pd.DataFrame) -> None:
        """Whether sentences that mean the same share words, which may explain the lead of word models (5.3, 6)."""
        labels = answers.labels
        for part, a, b in (("weak", "own", "other"), ("strong", "own_nearest", "other_nearest")):
            found = self.interval(stats.mean, (words[a] - words[b]).to_numpy(), clusters=labels)
            self.enter("word-overlap", found, part, self.sets)
        lead = answers.correct[list(WORDS)].mean(axis=1) - answers.correct[list(SENTENCES)].mean(axis=1)
        group = words.assign(lead=lead).groupby(labels)
        table = group[["lead", "margin", "words"]].mean().assign(size=group.size())
        found = np.array(self.interval(_slope_and_rest, *table[["lead", "margin", "size", "words"]].to_numpy().T))
        for part, interval in zip(("slope", "rest"), found.T, strict=True):
            self.enter("overlap-explains-gap", interval, part, self.models)

    def table_1(self, sets: Mapping[str, tasks.ParaphraseGroups], deals: Sequence[int], dim: int) -> None:
        """Bags of words as in Table 1: the interval in which another deal of the folds would come out (95 %)."""
        rated = published.cells("localization_table1", by=["model", "dataset"]) / 100
        within = t.isf(0.025, len(deals) - 1) * np.sqrt(1 + 1 / len(deals))
        for model, steps in {"BOW": (), "PCA BOW": (Components(dim),)}.items():
            gaps = []
            for dataset, task in zip(("MSRP", "Opinosis"), sets.values(), strict=True):
                bow = bag_of_words(task.sentences)
                options = [{"seed": seed, "C": GRID} for seed in deals]
                answers = in_processes(scores, ((task.labels, each, (bow, *steps)) for each in options))
                found = [(np.unique(task.labels)[each.argmax(axis=1)] == task.labels).mean() for each in answers]
                half = within * np.std(found, ddof=1)
                gaps.append(np.mean(found) - rated[model, dataset] + np.array([0, -half, half]))
            self.enter("table1-bow", np.transpose(gaps), model)

    def both_sets(self, tested: Mapping[str, Answers], words: Mapping[str, pd.DataFrame]) -> None:
        """Claims that compare MSRP, the first set, with Opinosis, the second (section 5.1)."""
        first, second = tested.values()
        names = [*WORDS, *SENTENCES]
        correct = pd.concat([first.correct, second.correct])[names].to_numpy()
        labels = np.concatenate([first.labels, second.labels + first.labels.max() + 1])
        on_first = np.arange(len(labels)) < len(first.labels)
        sizes = np.bincount(labels)[labels]

        def tau(correct, on_first):
            return kendalltau(correct[on_first].mean(axis=0), correct[~on_first].mean(axis=0)).statistic

        def gaps(correct, on_first, sizes):
            """The first set's accuracies less the second's, plain, and with groups weighted alike."""
            sides = [
                [np.average(correct[rows], axis=0, weights=weights[rows]) for rows in (on_first, ~on_first)]
                for weights in (np.ones(len(sizes)), 1 / sizes)
            ]
            return np.array([here - there for here, there in sides])

        def difference(margin, on_first):
            return margin[on_first].mean() - margin[~on_first].mean()

        def share(right, on_first, *others):
            return 1 - _coefficients(right, on_first, *others)[1] / _coefficients(right, on_first)[1]

        found = self.interval(tau, correct, on_first, clusters=labels, method="fisher")
        self.enter("order-consistent", found, "tau", self.models)
        pairs = list(combinations(names, 2))
        here, there = np.split(np.array(leads(tested, pairs, self.sampling, holm=True)), 2, axis=1)
        minus_here, minus_there = -here[[0, 2, 1]], -there[[0, 2, 1]]
        opposed = [np.minimum(here, minus_there), np.minimum(minus_here, there)]
        self.enter("order-consistent", np.concatenate(opposed, axis=1), "reversals", self.models)
        found = np.array(self.interval(gaps, correct, on_first, sizes, clusters=labels))
        self.enter("msrp-easier", found[..., :2].reshape(3, -1), "bags of words")
        self.enter("msrp-easier", found[..., 2:].reshape(3, -1), "others", self.models)
        margin, length = pd.concat(words.values())[["margin", "words"]].to_numpy().T
        self.enter("why-msrp-easier", self.interval(difference, margin, on_first, clusters=labels), "margin")
        found = self.interval(share, correct[:, 0], on_first, margin, sizes, length, clusters=labels)
        self.enter("why-msrp-easier", found, "share")

    def task(self, models: Mapping[str, Embeddings], answers: Answers) -> pd.DataFrame:
        """What the accuracy of a linear SVM says of a space (sections 3, 3.3).

        Returns
        -------
        DataFrame with a row for each model: accuracy, scatter (within groups over between groups), separable (accuracy
        on its own training sentences with C = 100)
        """
        labels = answers.labels
        table = answers.correct[list(models)].mean().rename("accuracy").rename_axis("model").to_frame()
        columns = {name: spread(vectors, labels) for name, vectors in models.items()}
        table["scatter"] = [_scatter(each).item() for each in columns.values()]
        vectors = map(double, models.values())
        table["separable"] = [svm(C=GRID[-1]).fit(each, labels).score(each, labels) for each in vectors]
        tied = list(combinations(table.index[table["separable"] == 1], 2))
        found = leads({"": answers}, tied, self.sampling, holm=True)
        self.enter("svm-measures-localization", found, "counterexample")

        def tau(x, y):
            return np.nan_to_num(kendalltau(x, y).statistic)  # 0 where all are separable

        accuracy, ratio, separable = table.to_numpy().T
        self.enter("svm-measures-localization", self.interval(tau, separable, accuracy, method="fisher"), "order")
        noise = np.random.default_rng(0).normal(scale=10, size=len(labels))
        perfect = np.column_stack([np.eye(labels.max() + 1)[labels], noise])
        right = classify(perfect, labels, C=GRID[-1], scale=False).accuracy
        worst = columns[table["accuracy"].where(table["accuracy"] < right).idxmax()]
        both = np.column_stack([spread(perfect, labels), worst])
        found = self.interval(lambda rows: -np.diff(_scatter(rows)), both, clusters=labels, method="normal")
        self.enter("compact-required", found, "counterexample", note=f"{right:.0%} right")
        self.enter("compact-required", self.interval(stats.spearman, accuracy, ratio, method="fisher"), "tendency")
        return table

    def training(self, names: Sequence[str], text: Sequence[str], tested: tasks.ParaphraseGroups) -> None:
        """What training on the tested sentences gains (section 5.3): five seeds of each embedder.

        Each is trained on a text that ends with the tested sentences, and on one that ends with as many others.
        """
        count = len(tested)
        texts = [*text[count:], *tested.sentences], list(text)
        jobs = product(range(1, 6), names, texts, [tested])
        right = np.reshape(list(in_processes(_right_after, jobs)), (5, len(names), 2, count))
        gains = (right[:, :, 0] - right[:, :, 1]).mean(axis=1)
        self.enter("training-on-test-text", self.interval(stats.mean, gains.T, clusters=tested.labels, seeds=True))

    def identities(self, models: Mapping[str, Any], dim: int) -> None:
        """Claims that need no classifier: cosines of sums and means, variance kept by words, speed."""
        bow, mean, total = models["BOW"], models["MOWE"], models["SOWE"]
        known = np.linalg.norm(mean, axis=1) > 0
        unit = [side[known] / np.linalg.norm(side[known], axis=1, keepdims=True) for side in (mean, total)]
        self.ledger.identity("localization-cosine-identity", unit[0] @ unit[0].T - unit[1] @ unit[1].T)
        words = np.sort(variances(bow))[-dim:].sum()
        components = PCA(min(dim, *bow.shape), svd_solver="full").fit(bow.toarray()).explained_variance_.sum()
        kept = components * (bow.shape[0] - 1) / bow.shape[0]
        self.ledger.identity("localization-pca-keywords", max(0.0, words - kept) / kept, part="variance")
        speeds = np.log(pd.read_csv(SPEEDS, index_col="model").to_numpy())
        differences = np.concatenate([speeds[0] - speeds[2:], speeds[1] - speeds[2:]]).T
        self.enter("cheap", self.interval(stats.mean, differences))

    def sizes(self, msrp: tasks.ParaphraseGroups, opinosis: tasks.ParaphraseGroups) -> None:
        """Counts of section 4, and whether labels of MSRP speak against its closure."""
        missed, gaps = [], []
        for task, stated, tokens in ((msrp, (859, 273), 2976), (opinosis, (521, 89), 1085)):
            missed.append(np.subtract([len(task), task.labels.max() + 1], stated))
            types = [{token for sentence in task.sentences for token in cut(sentence)} for cut in TOKENIZERS]
            gaps.append([len(each) - tokens for each in types])
        for part, residual in zip(("sentences", "groups"), missed[0], strict=True):
            self.ledger.identity("localization-msrp-size", residual, part=part)
        self.ledger.identity("localization-opinosis-size", missed[1], part="sizes")
        self.ledger.identity("localization-opinosis-size", np.abs(gaps).max(axis=0).min(), part="tokens")
        pairs = tasks.load("MRPC", "all")
        groups = groups_from_pairs(compress(pairs.ids, pairs.label))
        group_of = {member: i for i, group in enumerate(groups) if len(group) > 2 for member in group}
        labels = dict(zip(map(frozenset, pairs.ids), pairs.label, strict=True))
        inside = [label for pair, label in labels.items() if len({group_of.get(id, -id) for id in pair}) == 1]
        spare = len(inside) - len(group_of) + len(set(group_of.values()))
        against = inside.count(0)
        low, high = binomtest(against, spare).proportion_ci() if spare else (0.0, 1.0)
        found = against / max(1, spare), low, high
        self.enter("closure-is-meaning", found, note=f"{spare} pairs are spare")


def table_1_comparison(tested: Mapping[str, Answers], sampling: Sampling) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Table 1 and our accuracies on MSRP and Opinosis, with intervals over groups; and how alike the orders are.

    Rows set, model, paper, ours, low, high; and set, spearman (of the paper's accuracies with ours), low, high.
    """
    printed = published.cells("localization_table1", by=["dataset", "model"]) / 100
    models, orders = [], []
    for dataset, answers in zip(("MSRP", "Opinosis"), tested.values(), strict=True):
        paper = printed[dataset]
        ours = accuracies(answers, sampling).loc[paper.index, ["accuracy", "low", "high"]]
        models.append(ours.rename(columns={"accuracy": "ours"}).assign(paper=paper, set=dataset))
        order = stats.bootstrap(
            lambda rows, paper=paper: stats.spearman(rows.mean(axis=0), paper),
            answers.correct[paper.index].to_numpy(),
            sampling=sampling,
            clusters=answers.labels,
            method="fisher",
        )
        orders.append((dataset, *order))
    table = pd.concat(models).rename_axis("model").reset_index()
    orders = pd.DataFrame(orders, columns=["set", "spearman", "low", "high"])
    return table[["set", "model", "paper", "ours", "low", "high"]], orders


def _word_models_agree(labels, predictions):
    """Agreement of word models less that of pairs with a sentence model: on all, and where all models are wrong."""
    first, second = np.triu_indices(predictions.shape[1], 1)
    alike, found = second < len(WORDS), []
    for rows in (np.ones(len(labels), bool), (predictions != labels[:, None]).all(axis=1)):
        rates = agreement(labels[rows], predictions[rows])[first, second]
        found.append(rates[alike].mean() - rates[~alike].mean())
    return np.array(found)


def _between_less_within(rates):
    """Rates [..., 6, 6] of each two models, the first three, less the mean rate of each with its second seed."""
    within, (i, j) = np.diagonal(rates, 3, -2, -1), np.triu_indices(3, 1)
    return rates[..., i, j] - (within[..., i] + within[..., j]) / 2


def _coefficients(outcome, *predictors):
    """Least squares: the constant, then a coefficient for each predictor."""
    return np.linalg.lstsq(np.column_stack([np.ones(len(outcome)), *predictors]), outcome, rcond=None)[0]


def _slope_and_rest(lead, margin, size, words):
    """How the lead grows with the margin; and the lead at margin 0, the rest as it is, over the mean lead."""
    slope = _coefficients(lead, margin, size, words)[1]
    return np.array([slope, 1 - slope * margin.mean() / lead.mean()])


def _scatter(columns):
    """Scatter within groups over scatter between them, of each two columns of `spread`."""
    sums = columns.sum(axis=0)
    return sums[::2] / sums[1::2]


def _right_after(seed, name, learned, tested):
    """Which tested sentences are placed right after training with this seed on a text, float64[n]."""
    vectors = encoded(name, learned, tested.sentences, {"seed": seed})
    return (classify(vectors, tested.labels).predictions == tested.labels).astype(float)
