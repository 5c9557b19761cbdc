"""Lesson 4: a paraphrase in a haystack.

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
``stsbenchmark:all``                the same, followed by those of its training set
``lines:PATH``                      your own: UTF-8, on each line a query, a tab and its
                                    paraphrase
==================================  ====================================================
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lib import corpora, embedders, tasks
from lib.base import paths
from lib.base.errors import InputError
from lib.base.parameters import in_range
from lib.corpora import Corpus, bible, running_text, text
from lib.embedders.base import Embedder
from lib.store import EmbeddingStore, fit
from lib.tasks import verses
from lib.vectors import Embeddings

LINES = "lines:"
# Its splits by source: the paper's, and then all.
STS_BENCHMARK = {
    "stsbenchmark": ("dev", "test"),
    "stsbenchmark:all": ("dev", "test", "train"),
}
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
    if source in STS_BENCHMARK:
        found = chain.from_iterable(map(_of_sts_benchmark, STS_BENCHMARK[source]))
    elif source.startswith(LINES):
        found = _of_lines(source.removeprefix(LINES))
    else:
        same = verses.alike(corpora.load(source), haystack)
        found = zip(same.left, same.right, strict=True)
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
    why = f"{len(below)} pairs have a word overlap below {limit:g}"
    in_range("pairs", count, 2, len(below), why)
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
        Queries that occur in it are left out.
    size : int
        How many sentences of the corpus to draw; 0 for all.

    Returns
    -------
    haystack : list of str
    answers : int64[n]
        Where each paraphrase stands in it.
    """
    in_range("haystack", size, 0, len(corpus), "0 is the whole corpus")
    kept = rng.choice(len(corpus), size or len(corpus), replace=False)
    sentences = [corpus.sentences[i] for i in np.sort(kept).tolist()]
    hay = pd.Index([*sentences, *pairs.paraphrases]).unique()
    hay = hay[~hay.isin(pairs.queries)]
    return hay.tolist(), hay.get_indexer(pairs.paraphrases)


def embed(
    embedder: Embedder, haystack: Sequence[str], queries: Sequence[str]
) -> tuple[Embeddings, Embeddings]:
    """The vectors of the queries and of the haystack.

    An embedder that learns from text is fitted on the haystack.
    """
    store = EmbeddingStore()
    searched = store.embed(embedder, haystack)
    return store.embed(fit(embedder, haystack), queries), searched


# -- other versions of a sentence ------------------------------------------------------


def versions(
    corpus: Corpus, number: int, seed: int
) -> tuple[np.ndarray, dict[str, list[list[str]]]]:
    """Sentences of the World English Gospels, and changed versions of each.

    Four other translations have these sentences.

    Returns
    -------
    rows : int64[number]
        Places of the sentences in `corpus`.
    changed : dict
        Four lists of `number` sentences under each of "translated", "shuffled" (the
        words in a random order) and "replaced" (each content word by another of the
        same frequency); and one under "one word replaced".
    """
    translations = []
    for name in bible.TRANSLATIONS:
        if name != bible.REFERENCE:
            each = corpora.load(f"bible-gospels:{name}")
            translations.append(verses.by_verse(each))
    groups = corpus.groups.tolist()
    in_all = set(groups).intersection(*translations)
    shared = [row for row, group in enumerate(groups) if group in in_all]
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(shared, number, replace=False))
    sentences = [corpus.sentences[row] for row in rows]
    changed: dict[str, list[list[str]]] = {
        kind: [] for kind in ("translated", "shuffled", "replaced")
    }
    for step, texts in enumerate(translations, start=1):
        changed["translated"].append([texts[groups[row]] for row in rows])
        mixed = [" ".join(rng.permutation(each.split())) for each in sentences]
        changed["shuffled"].append(mixed)
        others = _neighbors_in_frequency(corpus.sentences, step)
        changed["replaced"].append([_replaced(each, others) for each in sentences])
    others = _neighbors_in_frequency(corpus.sentences, 1)
    one = [_one_replaced(sentence, others, rng) for sentence in sentences]
    return rows, changed | {"one word replaced": [one]}


def embedded(
    name: str, corpus: Corpus, changed: Mapping[str, list[list[str]]]
) -> dict[str, list[Embeddings]]:
    """The vectors of changed sentences by an embedder fitted on `corpus` alone.

    The lists are of one length.
    """
    lists = list(chain.from_iterable(changed.values()))
    fitted = fit(embedders.load(name), corpus)
    vectors = EmbeddingStore().embed(fitted, list(chain.from_iterable(lists)))
    number = len(lists[0])
    starts = range(0, vectors.shape[0], number)
    parts = iter([vectors[start : start + number] for start in starts])
    return {kind: [next(parts) for _ in versions] for kind, versions in changed.items()}


def _neighbors_in_frequency(sentences: Iterable[str], step: int) -> dict[str, str]:
    """For each word, the one `step` places further in the order of frequency.

    Stop words are left out. The last words get the ones `step` places before.
    """
    from spacy.lang.en.stop_words import STOP_WORDS

    counts = Counter(chain.from_iterable(map(WORD.findall, sentences)))
    by_frequency = [word for word, _ in counts.most_common()]
    content = [word for word in by_frequency if word.lower() not in STOP_WORDS]
    further = content[step:] + content[-2 * step : -step]
    return dict(zip(content, further, strict=True))


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


def _of_sts_benchmark(split: str) -> Iterable[tuple[str, str]]:
    task: Any = tasks.load("STSBenchmark", split)
    news = np.array(task.genre) == GENRE
    for row in np.flatnonzero(news & (task.score >= LOWEST_SCORE)):
        yield task.left[row], task.right[row]


def _of_lines(path: str) -> Iterable[tuple[str, str]]:
    for place, line in running_text.user_lines(paths.from_root(path)):
        cells = [text.squeeze(cell) for cell in line.split("\t")]
        if len(cells) != 2 or not all(map(text.shows, cells)):
            raise InputError(
                f"pairs_source: {place}: give a query, a tab and its paraphrase"
            )
        yield cells[0], cells[1]


def _independent(found: Iterable[tuple[str, str]]) -> Pairs:
    """The pairs without repeated sentences.

    Left out are pairs of a sentence with itself, and pairs that share a sentence with
    an earlier one.
    """
    seen: set[str] = set()
    pairs = Pairs([], [])
    for query, paraphrase in found:
        if query != paraphrase and seen.isdisjoint((query, paraphrase)):
            pairs.queries.append(query)
            pairs.paraphrases.append(paraphrase)
        seen.update((query, paraphrase))
    return pairs
