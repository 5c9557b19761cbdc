"""Study 4: a paraphrase in a haystack.

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 8. And, for study
1, verses that are translated, shuffled or have other words (`versions`).

Where pairs come from (`load`):

==================================  ====================================================
source                              pairs
==================================  ====================================================
``bible-gospels:ylt`` and the like  a verse of that translation, and the same verse of
                                    the haystack's translation
``stsbenchmark``                    news of the STS Benchmark's dev and test sets, rated
                                    4 or more, as in the paper
``lines:PATH``                      your own: UTF-8, on each line a query, a tab and its
                                    paraphrase
==================================  ====================================================
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import corpora, embedders, n2o, tasks
from lib.corpora import UNKNOWN_GROUP, Corpus, bible, reading, text
from lib.embedders.base import Embedder
from lib.run import paths
from lib.run.errors import InputError
from lib.run.parameters import in_range
from lib.stats import Interval, Sampling, spearman
from lib.store import EmbeddingStore, fit
from lib.vectors import Embeddings

LINES = "lines:"
FOR_A_CORRELATION = 4  # embedders
WORD = re.compile(r"[A-Za-z]+")
# The paper's choice among the pairs of the STS Benchmark.
GENRE = "main-news"
LOWEST_SCORE = 4.0


class Pairs(NamedTuple):
    """Queries, each with its paraphrase.

    Attributes
    ----------
    queries, paraphrases : list of str
        Of one length; no sentence is in two pairs, so that pairs are independent.
    """

    queries: list[str]
    paraphrases: list[str]


def load(source: str, haystack: Corpus) -> Pairs:
    """All pairs of a source.

    Parameters
    ----------
    source : str
        As in the table above.
    haystack : Corpus
        One translation, where `source` is another.

    Raises
    ------
    InputError
        A corpus or a file that is not there, a line that is no pair, or no pair at all.
    """
    if source == "stsbenchmark":
        found = _of_sts_benchmark()
    elif source.startswith(LINES):
        found = _of_lines(source.removeprefix(LINES))
    else:
        found = _of_translations(corpora.load(source), haystack)
    pairs = _independent(found)
    if not pairs.queries:
        raise InputError(
            f"pairs_source: {source!r} has no pair; "
            "give other pairs, or another translation"
        )
    return pairs


def draw(pairs: Pairs, count: int, limit: float, rng: np.random.Generator) -> Pairs:
    """`count` of the pairs whose word overlap lies below a limit; 0 for all of them.

    Word overlap is the Jaccard index of word types. Raises InputError, which says how
    many there are, if they are fewer than `count`.
    """
    below = np.flatnonzero(word_overlap(pairs) < limit)
    count = count or len(below)
    in_range(
        "pairs", count, 2, len(below), f"so many have a word overlap below {limit:g}"
    )
    chosen = np.sort(rng.choice(below, count, replace=False))
    return Pairs(*([sentences[i] for i in chosen] for sentences in pairs))


def word_overlap(pairs: Pairs) -> np.ndarray:
    """The Jaccard index of the word types of each pair, float64[n].

    Words are lower-cased, without punctuation.
    """
    types = [map(text.content_types, pair) for pair in zip(*pairs, strict=True)]
    return np.array([text.jaccard(*pair) for pair in types])


def one_form(sentences: Iterable[str]) -> list[str]:
    """Runs of letters and digits in lower case.

    Text from different sources gets one casing and tokenization.
    """
    return [" ".join(re.findall(r"\w+", sentence.lower())) for sentence in sentences]


def hide(
    pairs: Pairs, corpus: Corpus, size: int, rng: np.random.Generator
) -> tuple[list[str], np.ndarray]:
    """The haystack in which the paraphrases are hidden.

    Parameters
    ----------
    corpus : Corpus
        The queries are left out of it, should it have them.
    size : int
        So many sentences of the corpus, drawn; 0 for all.

    Returns
    -------
    haystack : list of str
    answers : int64[n]
        Where each paraphrase stands in it.
    """
    in_range("haystack", size, 0, len(corpus), "0 is the whole corpus")
    kept = np.sort(rng.choice(len(corpus), size or len(corpus), replace=False)).tolist()
    queries = set(pairs.queries)
    sentences = [*(corpus.sentences[i] for i in kept), *pairs.paraphrases]
    haystack = list(
        dict.fromkeys(sentence for sentence in sentences if sentence not in queries)
    )
    return haystack, pd.Index(haystack).get_indexer(pairs.paraphrases)


def embed(
    embedder: Embedder, haystack: Sequence[str], queries: Sequence[str]
) -> tuple[Embeddings, Embeddings]:
    """The vectors of the queries and of the haystack.

    What an embedder learns from text, it learns from the haystack.
    """
    store = EmbeddingStore()
    searched = store.embed(embedder, haystack)
    return store.embed(fit(embedder, haystack), queries), searched


def likeness(ids: Mapping[str, np.ndarray], source: str) -> pd.DataFrame:
    """Mean N2O of each embedder with those of one origin, its near copies left out.

    Parameters
    ----------
    ids : mapping of str to int[q, k]
        The neighbors that each embedder finds.
    source : str
        One of `lib.embedders.kinds.ORIGINS`.

    Returns
    -------
    DataFrame[q, embedders]
        Each family of partners counts once; an embedder without a partner is left out.
    """
    of_family = dict(zip(ids, embedders.families(list(ids)), strict=True))
    partners = [name for name in ids if embedders.kind(name).origin == source]
    columns = {}
    for name in ids:
        others = [other for other in partners if not embedders.related(name, other)]
        overlaps = {other: n2o.overlap(ids[name], ids[other]) for other in others}
        if overlaps:
            columns[name] = pd.DataFrame(overlaps).T.groupby(of_family).mean().mean()
    return pd.DataFrame(columns)


def association(
    likeness: np.ndarray, quality: np.ndarray, families: np.ndarray, sampling: Sampling
) -> Interval:
    """Spearman's correlation, over embedders, of two means over queries.

    Parameters
    ----------
    likeness, quality : float[q, embedders]
        Of the same queries. The interval covers other queries and other embedders: each
        draw resamples both.
    families : int[embedders]
        Equal for relatives, which are drawn together.
    """
    queries, embedders = likeness.shape
    members = [np.flatnonzero(families == family) for family in np.unique(families)]
    rng = np.random.default_rng(sampling.seed)

    def correlation(rows: np.ndarray, columns: np.ndarray) -> float:
        chosen = np.ix_(rows, columns)
        return spearman(likeness[chosen].mean(axis=0), quality[chosen].mean(axis=0))

    draws = []
    for _ in range(sampling.repetitions):
        rows = rng.integers(queries, size=queries)
        drawn = rng.integers(len(members), size=len(members))
        draws.append(
            correlation(rows, np.concatenate([members[family] for family in drawn]))
        )
    tail = (1 - sampling.confidence) / 2
    low, high = np.nanquantile(draws, [tail, 1 - tail])
    estimate = correlation(np.arange(queries), np.arange(embedders))
    return Interval(estimate, min(low, estimate), max(high, estimate))


# -- sentences changed for the experiment of study 1 -----------------------------------


def versions(
    corpus: Corpus, number: int, seed: int
) -> tuple[np.ndarray, dict[str, list[list[str]]]]:
    """Sentences of the World English Gospels, and changed versions of each.

    Four other translations have these sentences.

    Returns
    -------
    verses : int64[number]
        Places of the sentences in `corpus`.
    changed : dict
        Four lists of `number` sentences under each of "translated", "shuffled" (the
        words in a random order) and "replaced" (each content word by another of the
        same frequency); and one under "one word replaced".
    """
    names = [name for name in bible.TRANSLATIONS if name != bible.REFERENCE]
    translations = [corpora.load(f"bible-gospels:{name}") for name in names]
    by_group = [
        dict(zip(each.groups.tolist(), each.sentences, strict=True))
        for each in translations
    ]
    shared = [
        i
        for i, group in enumerate(corpus.groups.tolist())
        if all(group in texts for texts in by_group)
    ]
    rng = np.random.default_rng(seed)
    verses = np.sort(rng.choice(shared, number, replace=False))
    sentences = [corpus.sentences[i] for i in verses]
    others = [
        _neighbors_in_frequency(corpus.sentences, step)
        for step in range(1, len(by_group) + 1)
    ]
    changed = {
        "translated": [[texts[corpus.groups[i]] for i in verses] for texts in by_group],
        "shuffled": [
            [" ".join(rng.permutation(sentence.split())) for sentence in sentences]
            for _ in by_group
        ],
        "replaced": [
            [_replaced(sentence, words) for sentence in sentences] for words in others
        ],
        "one word replaced": [
            [_one_replaced(sentence, others[0], rng) for sentence in sentences]
        ],
    }
    return verses, changed


def embedded(
    name: str, corpus: Corpus, changed: Mapping[str, list[list[str]]]
) -> dict[str, list[Embeddings]]:
    """The vectors of changed sentences by an embedder fitted on `corpus` alone.

    The lists are of one length.
    """
    lists = [sentences for versions in changed.values() for sentences in versions]
    vectors = EmbeddingStore().embed(
        fit(embedders.load(name), corpus), list(chain(*lists))
    )
    number = len(lists[0])
    parts = (
        vectors[start : start + number] for start in range(0, vectors.shape[0], number)
    )
    return {kind: [next(parts) for _ in versions] for kind, versions in changed.items()}


def _neighbors_in_frequency(sentences: Iterable[str], step: int) -> dict[str, str]:
    """For each word, the one `step` places further in the order of frequency.

    Stop words are left out. The last words get the ones `step` places before.
    """
    from spacy.lang.en.stop_words import STOP_WORDS

    counts = Counter(word for sentence in sentences for word in WORD.findall(sentence))
    content = [
        word for word, _ in counts.most_common() if word.lower() not in STOP_WORDS
    ]
    return dict(zip(content, content[step:] + content[-2 * step : -step], strict=True))


def _replaced(sentence: str, others: Mapping[str, str]) -> str:
    return WORD.sub(lambda found: others.get(found[0], found[0]), sentence)


def _one_replaced(
    sentence: str, others: Mapping[str, str], rng: np.random.Generator
) -> str:
    content = [found for found in WORD.finditer(sentence) if found[0] in others]
    if not content:
        return sentence
    found = content[rng.integers(len(content))]
    return sentence[: found.start()] + others[found[0]] + sentence[found.end() :]


# -- sources ---------------------------------------------------------------------------


def _of_translations(other: Corpus, haystack: Corpus) -> Iterable[tuple[str, str]]:
    """Verses that each of the two has once."""
    here, there = _by_group(haystack), _by_group(other)
    return [(there[group], here[group]) for group in there if group in here]


def _by_group(corpus: Corpus) -> dict[int, str]:
    sentences = pd.Series(list(corpus.sentences), corpus.groups).sort_index()
    single = ~sentences.index.duplicated(keep=False) & (
        sentences.index != UNKNOWN_GROUP
    )
    return sentences[single].to_dict()


def _of_sts_benchmark() -> Iterable[tuple[str, str]]:
    for split in ("train", "dev", "test"):
        task = tasks.load("STSBenchmark", split)
        for left, right, genre, score in zip(
            task.left, task.right, task.genre, task.score, strict=True
        ):
            if genre == GENRE and score >= LOWEST_SCORE:
                yield left, right


def _of_lines(path: str) -> Iterable[tuple[str, str]]:
    for place, line in reading.lines(paths.from_root(path)):
        cells = [text.squeeze(cell) for cell in line.split("\t")]
        if len(cells) != 2 or not all(cells):
            raise InputError(
                f"pairs_source: {place}: give a query, a tab and its paraphrase"
            )
        yield cells[0], cells[1]


def _independent(found: Iterable[tuple[str, str]]) -> Pairs:
    """The pairs without repeated sentences.

    Left out are pairs of a sentence with itself, and pairs that share a sentence with
    an earlier one.
    """
    seen, kept = set(), []
    for pair in found:
        if pair[0] != pair[1] and seen.isdisjoint(pair):
            kept.append(pair)
        seen.update(pair)
    return Pairs([query for query, _ in kept], [paraphrase for _, paraphrase in kept])
