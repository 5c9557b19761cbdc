"""The odds of random production: alpha and a (equation 11) over n, frequency lists and cuts of the vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lib import catalog, corpora
from lib.corpora import Corpus, text
from lib.embedders.word_probabilities import RandomWalk, checked, random_walk
from lib.run.errors import InputError
from lib.run.parameters import one_of

ENWIKI = "frequencies/enwiki_vocab_min200.txt"


def frequencies(name: str, *loaded: Corpus) -> Mapping[str, float]:
    """p(w) by a frequency list's name: "wordfreq", "enwiki" (the paper's), or a corpus (`lib.corpora.load`).

    Those of a corpus are of its lower-cased words without punctuation. Corpora that are `loaded` are not read again.
    Raises InputError for a list that is not here.
    """
    if name == "wordfreq":
        return text.word_probabilities()
    if name == "enwiki":
        return text.read_probabilities(catalog.file(ENWIKI))
    corpus = next((corpus for corpus in loaded if corpus.name == name), None) or corpora.load(name)
    return text.relative_frequencies(corpus.sentences, text.lower_words)


def available(names: Sequence[str], *loaded: Corpus) -> tuple[dict[str, Mapping[str, float]], dict[str, str]]:
    """The frequency lists that are here, by name, and the others, each with what it lacks.

    Raises InputError if none is here, and for a name that is neither a list nor a corpus.
    """
    here, absent = {}, {}
    for name in names:
        if ":" not in name:
            one_of("frequency_lists", name, ["wordfreq", "enwiki", *corpora.names()])
        try:
            here[name] = frequencies(name, *loaded)
        except InputError as error:
            absent[name] = str(error)
    if not here:
        raise InputError(f"frequency_lists: none of {', '.join(names) or 'nothing'} is here; 'wordfreq' always is")
    return here, absent


def over_n(probabilities: Mapping[str, float], steps: Sequence[float]) -> pd.DataFrame:
    """threshold, alpha, partition and a of a frequency list (`random_walk`) for each number of steps, its index n."""
    values = checked("over_n", probabilities)
    return pd.DataFrame([random_walk(values, n) for n in steps], index=pd.Index(steps, name="n"))


def over_cut(probabilities: Mapping[str, float], sizes: Sequence[int], n: float) -> pd.DataFrame:
    """The same if only the `size` most frequent words are kept, their p(w) over its sum; sizes beyond are left out."""
    ordered = -np.sort(-checked("over_cut", probabilities))
    sizes = [size for size in sizes if size <= len(ordered)]
    walks = [random_walk(ordered[:size] / ordered[:size].sum(), n) for size in sizes]
    return pd.DataFrame(walks, index=pd.Index(sizes, name="words"))


def like_for_like(probabilities: Mapping[str, float], n: float) -> RandomWalk:
    """What follows if both sides of equation (11) count n steps: 1 - (1 - p(w))**n > 1 - (1 - 1/|V|)**n.

    The paper compares p(w), of one step, to the probability of n. If both are of n, the condition is p(w) > 1/|V|,
    whatever n is.
    """
    values = checked("like_for_like", probabilities)
    return random_walk(-np.expm1(n * np.log1p(-np.minimum(values, 1 - 1e-12))), n)


def over_tokens(probabilities: Mapping[str, float], n: float) -> RandomWalk:
    """What follows if alpha is the share of running text, and not of the vocabulary, that is above the threshold."""
    values = checked("over_tokens", probabilities)
    threshold, _, partition, _ = random_walk(values, n)
    alpha = float(values[values > threshold].sum() / values.sum())
    return RandomWalk(threshold, alpha, partition, (1 - alpha) / (alpha * partition) if alpha else np.inf)


def table(lists: Mapping[str, Mapping[str, float]], n: float) -> pd.DataFrame:
    """Equation (11) for several frequency lists.

    Returns
    -------
    DataFrame with columns list, words, threshold, alpha, a; and what `a` would be by `like_for_like` and `over_tokens`
    """
    rows = []
    for name, probabilities in lists.items():
        walk = random_walk(checked(name, probabilities), n)
        others = like_for_like(probabilities, n).a, over_tokens(probabilities, n).a
        rows.append((name, len(probabilities), walk.threshold, walk.alpha, walk.a, *others))
    return pd.DataFrame(rows, columns=["list", "words", "threshold", "alpha", "a", "like_for_like", "over_tokens"])


def curves(
    lists: Mapping[str, Mapping[str, float]], steps: Sequence[int], sizes: Sequence[int], n: float
) -> pd.DataFrame:
    """`a` over n and over the cut of each list: columns list, over ("n", "words"), at, value; finite values only."""
    parts = []
    for name, probabilities in lists.items():
        for walks in (over_n(probabilities, steps), over_cut(probabilities, sizes, n)):
            found = walks["a"].rename("value").rename_axis("at").reset_index()
            parts.append(found.assign(list=name, over=walks.index.name))
    whole = pd.concat(parts, ignore_index=True)[["list", "over", "at", "value"]]
    return whole[np.isfinite(whole["value"])]
