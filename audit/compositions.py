"""What uSIF's paper scores, what it prints, and how its rivals are tuned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from audit import published
from audit.learned import regress
from lib import stats, tasks
from lib.corpora import text
from lib.embedders.base import Embedder
from lib.stats import Sampling
from lib.studies import scores
from lib.studies.compositions import Composer, evaluate
from lib.studies.scores import ItemSet

# Our sets in the paper's tables.
PAPER = {f"STS{year}": [f"STS'{year}"] for year in range(12, 16)}
PAPER |= {
    "STSBenchmark": ["STS Benchmark"],
    "SICK-R": ["SICK'14", "SICK-R"],
    "SICK-E": ["SICK-E"],
    "SST2": ["SST"],
}
# Pairs or sentences in each file of the paper's test sets; a year's score is the mean
# over its files. STS 2013 is given without SMT, which is not distributed.
SIZES = {
    "STS'12": [750, 750, 459, 750, 399],
    "STS'13": [189, 750, 561],
    "STS'14": [450, 300, 750, 750, 750, 750],
    "STS'15": [375, 750, 375, 750, 750],
    "STS Benchmark": [1379],
    "SICK'14": [4927],
    "SICK-R": [4927],
    "SICK-E": [4927],
    "SST": [1821],
}
ALIASES = {"ParaNMT Trigram-Word Addition": "ParaNMT Trigram-Word"}
# What the rows of the paper's own methods need.
NEEDS = {
    "GloVe": "the paper's sets",
    "PSL": "paragram-sl999",
    "ParaNMT": "paranmt-50m",
}
TOKENIZERS = {
    "words": text.lower_words,
    "words and marks": text.lower_word_tokens,
    "blanks": text.whitespace_tokens,
    "Penn Treebank": text.treebank_tokens,
    "letters": text.gensim_tokens,
}
UNLISTED = {"rarest": "as the rarest word", "skip": "skipped"}


# -- sets ------------------------------------------------------------------------------


def connected(task: Any) -> np.ndarray:
    """The cluster of each pair, int[pairs]: pairs with a common sentence share it."""
    sentences, names = pd.factorize(np.array([*task.left, *task.right]))
    left, right = np.split(sentences, 2)
    ones = np.ones(len(left))
    graph = coo_array((ones, (left, right)), shape=(len(names), len(names)))
    _, member = connected_components(graph, directed=False)
    return member[left]


def rated(name: str) -> list[ItemSet]:
    """Rated pairs as in `lib.studies.scores`; a bootstrap draws connected sentences."""
    sets = scores.rated(name)
    task: Any = tasks.load(name)
    if task.ids is not None:
        return sets  # by document
    member = connected(task)
    if len(sets) == 1:
        return [sets[0]._replace(clusters=member)]
    files = np.array(task.genre)
    return [each._replace(clusters=member[files == each.name]) for each in sets]


def learned(name: str) -> ItemSet:
    """A supervised task on frozen embeddings (section 4.4).

    SST2 and SICK-E by logistic regression (accuracy), SICK-R by regression.

    The paper follows "the setup in Wieting et al. (2016b)" without describing it.
    Penalties are chosen on dev.
    """
    parts: list[Any] = [tasks.load(name, split) for split in tasks.splits(name)]
    if name == "SST2":
        return scores.classified(name, name)
    member = connected(parts[-1])
    if name != "SICK-R":
        return scores.classified(name, name)._replace(clusters=member)

    def predictions(embedder: Embedder) -> np.ndarray:
        embedder.fit(
            [sentence for part in parts for sentence in part.left + part.right]
        )
        pairs = []
        for part in parts:
            left = embedder.encode(part.left)
            right = embedder.encode(part.right)
            pairs.append((left, right, part.score))
        return regress(*pairs)

    return ItemSet(name, name, predictions, member, parts[-1].score)


# -- tuning ----------------------------------------------------------------------------


def tuned(
    on_dev: pd.DataFrame, on_test: pd.DataFrame, candidates: Sequence[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores of the candidate that scores best on other data, chosen in each draw.

    Parameters
    ----------
    on_dev, on_test : DataFrame
        Draws with the levels what, group and vectors, equally many of either.
    candidates : sequence of str
        Among "what".

    Returns
    -------
    scores : DataFrame
        Draws on test, with the levels group and vectors.
    chosen : DataFrame
        The place of the candidate in each draw, a column for each set of vectors; in
        the first row that of the estimate.
    """
    found = {}
    chosen = {}
    means = stats.mean_over(on_dev[list(candidates)], "group")
    for vectors in means.columns.unique("vectors"):
        of_dev = means.xs(vectors, axis=1, level="vectors")[list(candidates)]
        place = of_dev.to_numpy().argmax(axis=1)
        chosen[vectors] = place
        of_test = on_test.xs(vectors, axis=1, level="vectors")
        for group in of_test.columns.unique("group"):
            values = of_test.xs(group, axis=1, level="group")[list(candidates)]
            found[group, vectors] = values.to_numpy()[np.arange(len(place)), place]
    table = pd.DataFrame(found).rename_axis(columns=["group", "vectors"])
    return table, pd.DataFrame(chosen)


# -- the print -------------------------------------------------------------------------


def printed(sampling: Sampling) -> pd.DataFrame:
    """The scores of tables 1 to 3 as shares, and draws of them.

    A draw adds the sampling error of the test sets, normal and independent, for nobody
    has the models' predictions: √(p (1 - p) / n) of an accuracy p on n sentences, and
    (1 - r²) / √(n - 3) of a correlation r over n pairs. The files of a year are taken
    to have the year's mean.

    Returns
    -------
    DataFrame
        As `lib.stats.draws` has them, with the levels model and dataset.
    """
    table = pd.concat(published.load(f"usif_table{number}") for number in (1, 2, 3))
    table = table.dropna(subset="value").replace({"model": ALIASES})
    values = table["value"].to_numpy() / 100
    errors = []
    for value, dataset, measure in zip(
        values, table["dataset"], table["measure"], strict=True
    ):
        sizes = np.array(SIZES[dataset])
        of_files = (1 - value**2) / np.sqrt(sizes - 3)
        if measure == "accuracy":
            of_files = np.sqrt(value * (1 - value) / sizes)
        errors.append(np.linalg.norm(of_files) / len(sizes))
    rng = np.random.default_rng(sampling.seed)
    noise = rng.normal(size=(sampling.repetitions, len(values))) * errors
    columns = pd.MultiIndex.from_frame(table[["model", "dataset"]])
    return pd.DataFrame(np.vstack([values, values + noise]), columns=columns)


def printed_gains(in_print: pd.DataFrame) -> pd.DataFrame:
    """uSIF's gain relative to SIF's score, where tables 1 and 2 have both.

    Draws like `printed`, with the vectors in place of the model.
    """
    gains = {
        vectors: in_print[f"{vectors}+UP"] / in_print[f"{vectors}+WR"] - 1
        for vectors in ("GloVe", "PSL")
    }
    return pd.concat(gains, axis=1).dropna(axis=1)


def shortfalls(in_print: pd.DataFrame) -> pd.DataFrame:
    """By how much SIF is below the mean of the other papers' models in table 1.

    A column for each of SIF's cells, as `printed_gains` has them.
    """
    table = published.load("usif_table1")
    models = table["model"]
    is_own = models.str.contains("[+](?:WR|UP)$")
    others = in_print[models[~is_own].unique()].T.groupby(level="dataset").mean().T
    others = others[table["dataset"].unique()]
    gaps = {v: others - in_print[f"{v}+WR"] for v in ("GloVe", "PSL")}
    return pd.concat(gaps, axis=1).dropna(axis=1)


def in_paper_terms(
    draws: pd.DataFrame, models: dict[str, str], sampling: Sampling
) -> pd.DataFrame:
    """Our scores, with the data set and the row of the paper's tables.

    Parameters
    ----------
    draws : DataFrame
        With the levels what, group and vectors.
    models : dict of str to str
        From "what" to the row.
    sampling : Sampling

    Returns
    -------
    DataFrame
        A row for each score and data set, with columns composition, set, vectors,
        value, low, high, dataset, model, ours (times 100) and name, that of our row.
    """
    own = draws[list(models)]
    table = stats.intervals(own, sampling).table(own.columns).reset_index()
    table = table.rename(columns={"what": "composition", "group": "set"})
    table["dataset"] = table["set"].map(PAPER)
    table = table.explode("dataset").dropna(subset="dataset")
    table["model"] = table["composition"].map(models)
    table["ours"] = 100 * table["value"]
    table["name"] = table["vectors"] + ", " + table["composition"]
    return table


def beside(name: str, ours: pd.DataFrame, note: str = "") -> pd.DataFrame:
    """A table of the paper in its groups, with our rows below those they belong to.

    Parameters
    ----------
    name : str
        Such as "usif_table1".
    ours : DataFrame
        As `in_paper_terms` has it.
    note : str, optional
        On our rows.
    """
    table = published.layout(name)
    first = published.load(name).groupby("model").first()
    for column in ("reference", "group"):
        table.insert(0, column, table["model"].map(first[column]))
    ours = ours[ours["dataset"].isin(table.columns)]
    wide = ours.pivot(index="name", columns="dataset", values="ours")
    wide = wide.map("{:.1f}".format, na_action="ignore")
    stands = ours.groupby("model")["name"].unique()
    is_own = table["model"].str.contains("[+](?:WR|UP)$")
    vectors = table["model"].str.partition("+")[0]
    needs = vectors.map(NEEDS).where(is_own & ~table["model"].isin(stands.index), "")
    table["missing"] = needs
    return published.beside(table, wide.assign(missing=note), stands)


# -- what vectors are made of ----------------------------------------------------------


def explained(
    embedder: Embedder, texts: Sequence[Sequence[str]], sampling: Sampling
) -> stats.Interval:
    """Shares of the squared singular values, means over some texts, float[3].

    Of the fifth component, of the sixth, and of all beyond the fifth.
    """
    vectors = [embedder.fit_encode(some).astype(float) for some in texts]
    place = np.repeat(np.arange(len(texts)), [len(some) for some in texts])

    def shares(rows: np.ndarray, of_text: np.ndarray) -> np.ndarray:
        found = []
        for number in range(len(texts)):
            own = rows[of_text == number]
            squares = np.linalg.eigvalsh(own.T @ own)[::-1]
            by_size = squares / squares.sum()
            found.append([by_size[4], by_size[5], by_size[5:].sum()])
        return np.mean(found, axis=0)

    columns = np.vstack(vectors), place
    return stats.bootstrap(shares, *columns, sampling=sampling, method="normal")


def treatments(
    words: Composer, item_sets: Sequence[ItemSet], sampling: Sampling
) -> pd.DataFrame:
    """uSIF's gain over SIF, in percent, by how sentences become words.

    Returns
    -------
    DataFrame
        Columns tokenizer, unlisted words (what is done with those that the list of
        frequencies lacks), value, low and high.
    """
    cells = list(product(TOKENIZERS, UNLISTED))
    composed = {}
    for name, unlisted in cells:
        own = replace(words, tokenize=_lowered(TOKENIZERS[name]))
        composed[f"SIF {name} {unlisted}"] = own.sif(unlisted=unlisted)
        composed[f"uSIF {name} {unlisted}"] = own.usif(unlisted=unlisted)
    found = scores.by_group(evaluate({words.name: composed}, item_sets, sampling))
    found = found.droplevel(["group", "vectors"], axis=1)
    gains = {}
    for name, unlisted in cells:
        ratio = found[f"uSIF {name} {unlisted}"] / found[f"SIF {name} {unlisted}"]
        gains[name, UNLISTED[unlisted]] = 100 * ratio - 100
    table = pd.DataFrame(gains).rename_axis(columns=["tokenizer", "unlisted words"])
    return stats.intervals(table, sampling).table(table.columns).reset_index()


def _lowered(tokenize: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    return lambda sentence: tokenize(sentence.lower())
