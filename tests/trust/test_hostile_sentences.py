"""Whatever stands in a sentence: finite vectors of the right shape or one sentence, no hang, no poisoned neighbor."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

from lib import corpora, embedders
from lib.corpora import text
from lib.corpora.segmentation import segment
from lib.embedders.composition import SIF, USIF, Average, PowerMeans
from lib.embedders.own import Checked
from lib.embedders.random_encoders import BOREP, RandomLSTM
from lib.embedders.sent2vec import Sent2VecTrained
from lib.embedders.sparse import LSA, BagOfWords, PcaBagOfWords, TfIdf
from lib.embedders.static import WordLlama
from lib.embedders.trained import ParagraphVectors, Training
from lib.embedders.urae import URAE
from lib.probing import make
from lib.run.errors import InputError
from lib.sent2vec import Sent2Vec
from lib.sent2vec.settings import Settings
from lib.store import EmbeddingStore
from lib.studies.localization import bag_of_words
from tests.sizes import CASES, NIGHTLY
from tests.trust import wild

MODEL_CASES = CASES // 100 if NIGHTLY else 2  # of what takes tens of milliseconds a sentence
TRAININGS = CASES // 100 if NIGHTLY else 2  # of what is trained anew for each case
SIZE = 10**6 if NIGHTLY else 40_000  # of a sentence that is one word, or one row of marks
TEXT = [
    "The cat sat on the mat .", "A dog sat on the mat .", "In the beginning was the word .", "the dog and the cat",
    "the word was with the dog", "the cat and the word", "God said : the dog is a cat .", "a cat on a mat and a dog",
]  # fmt: skip
WORDS = sorted({word for sentence in TEXT for word in sentence.lower().split()})
VECTORS = dict(zip(WORDS, np.random.default_rng(0).normal(size=(len(WORDS), 6)).astype(np.float32), strict=True))
FREQUENCIES = {word: 1 / (2 + i) ** 2 for i, word in enumerate(WORDS)}
SMALL = {"dim": 8, "epochs": 2}
FAMILIES = {
    "bow": BagOfWords,
    "tf-idf": TfIdf,
    "pca-bow": lambda: PcaBagOfWords(3),
    "lsa": lambda: LSA(3),
    "average": lambda: Average("average", VECTORS, text.lower_word_tokens),
    "sif": lambda: SIF(VECTORS, FREQUENCIES, tokenize=text.lower_word_tokens),
    "usif": lambda: USIF(VECTORS, FREQUENCIES, n=1, m=2, tokenize=text.lower_word_tokens),
    "power means": lambda: PowerMeans(VECTORS, tokenize=text.lower_word_tokens),
    "borep": lambda: BOREP(VECTORS, 16, tokenize=text.lower_word_tokens),
    "random lstm": lambda: RandomLSTM(VECTORS, 16, tokenize=text.lower_word_tokens),
    "word2vec": lambda: Average("w2v", Training("w2v", dim=8)),
    "fasttext": lambda: Average("fasttext", Training("fasttext", "FastText", subwords=True, dim=8)),
    "sent2vec": lambda: Sent2VecTrained("sent2vec", word_ngrams=2, **SMALL),
    "paragraph vectors": lambda: ParagraphVectors(dim=8, epochs=2, inference_epochs=3),
    "urae": lambda: URAE(VECTORS, trees="balanced", epochs=1, batch=4, tokenize=text.lower_word_tokens),
    "wordllama": WordLlama,
    "checked": lambda: Checked(lambda sentences: [[len(s), 1.0] for s in sentences], "own"),
}
NOT_ZERO = ("pca-bow", "checked", "use-multilingual-q8", "minilm-avg")  # for a sentence without known words


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lib.run.paths.CACHE", tmp_path_factory.mktemp("cache"))
        yield


@pytest.fixture(scope="module")
def fitted(cache):
    """A function from a family's name to its embedder, fitted once."""
    made = {}

    def get(name: str):
        if name not in made:
            made[name] = (FAMILIES[name]() if name in FAMILIES else embedders.load(name)).fit(TEXT)
        return made[name]

    return get


def dense(vectors) -> np.ndarray:
    return vectors.toarray() if sp.issparse(vectors) else np.asarray(vectors)


def check(embedder, batch: list[str]) -> np.ndarray:
    vectors = embedder.encode(batch)
    assert vectors.dtype == np.float32
    vectors = dense(vectors)
    assert vectors.shape[0] == len(batch)
    assert np.isfinite(vectors).all()
    return vectors


def check_alone(embedder, batch: list[str], vectors: np.ndarray, tolerance: float) -> None:
    """That each sentence has the vector that it has alone, and in another order."""
    turned = dense(embedder.encode(batch[::-1]))[::-1]
    alone = np.concatenate([dense(embedder.encode([sentence])) for sentence in batch])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    for other in (turned, alone):
        assert (np.abs(other - vectors) <= tolerance * lengths + 1e-12).all()


# -- embedders ----------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_every_kind_of_sentence_has_a_vector_that_nothing_beside_it_changes(family, fitted) -> None:
    batch = list(wild.SENTENCES.values())
    check_alone(fitted(family), batch, check(fitted(family), batch), 1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_batch_of_anything_is_encoded_and_poisons_nothing(family, fitted) -> None:
    embedder = fitted(family)
    plain = check(embedder, [TEXT[0]])[0]

    @settings(max_examples=CASES if family not in ("random lstm", "paragraph vectors", "urae") else MODEL_CASES)
    @given(wild.batches)
    def every(batch: list[str]) -> None:
        vectors = check(embedder, [TEXT[0], *batch, ""])
        assert np.abs(vectors[0] - plain).max() <= 1e-5 * np.linalg.norm(plain)
        if family not in NOT_ZERO:
            assert not vectors[-1].any()

    every()


@pytest.mark.parametrize("family", FAMILIES)
def test_anything_can_be_fitted_on_or_is_refused(family) -> None:
    plain = [*TEXT, *wild.SENTENCES.values()] * 2
    check(FAMILIES[family]().fit(plain), list(wild.SENTENCES.values()))

    @settings(max_examples=TRAININGS)
    @given(wild.batches)
    def every(batch: list[str]) -> None:
        try:
            embedder = FAMILIES[family]().fit(batch * 2)
        except InputError:
            return
        check(embedder, [*batch, *TEXT])

    every()


@pytest.mark.parametrize("kind", wild.MEGABYTES)
@pytest.mark.parametrize("family", ["bow", "average", "borep", "fasttext", "sent2vec", "wordllama"])
def test_a_sentence_of_megabytes_takes_neither_minutes_nor_gigabytes(family, kind, fitted) -> None:
    embedder, short, long = fitted(family), wild.MEGABYTES[kind](SIZE // 10), wild.MEGABYTES[kind](SIZE)
    seconds = []
    for sentence in (short, long):
        started = time.process_time()
        check(embedder, [sentence, TEXT[0]])
        seconds.append(time.process_time() - started)
    assert seconds[1] < 40 * seconds[0] + 1.0  # ten times as much for ten times the length; a hundred if quadratic


# -- text ---------------------------------------------------------------------------------------


@settings(max_examples=CASES)
@given(wild.sentences)
def test_text_is_segmented_without_losing_any(sentence) -> None:
    found = segment(sentence)
    without_quotes = ["".join(part.replace('"', "").split()) for part in ("".join(found), sentence)]
    assert without_quotes[0] == without_quotes[1]  # a last quotation mark that nothing follows opens no sentence
    assert all(part == text.squeeze(part) and part for part in found)


# -- what is made of sentences ------------------------------------------------------------------


@settings(max_examples=max(1, CASES // 5))
@given(wild.batches)
def test_a_file_of_any_lines_is_a_corpus_or_is_refused(batch) -> None:
    from lib.run import paths

    file = paths.CACHE / "lines.txt"
    file.write_bytes("\n".join([*batch, *TEXT]).encode("utf-8", "surrogatepass"))
    try:
        corpus = corpora.load(f"lines:{file}")
    except InputError:
        return
    assert len(set(corpus.sentences)) == len(corpus) == len(corpus.documents)
    assert all(sentence == text.squeeze(sentence) and sentence for sentence in corpus.sentences)


@settings(max_examples=MODEL_CASES)
@given(wild.batches)
def test_a_store_keeps_the_vectors_of_anything(batch) -> None:
    from lib.run import paths

    embedder = BagOfWords().fit(TEXT)
    store = EmbeddingStore(paths.CACHE / "store")
    batch = [*batch, TEXT[0]]
    for _ in range(2):
        np.testing.assert_array_equal(dense(store.embed(embedder, batch)), dense(embedder.encode(batch)))


@settings(max_examples=TRAININGS)
@given(wild.batches)
def test_sent2vec_is_trained_on_anything_saved_and_read(batch) -> None:
    from lib.run import paths

    options = Settings(min_count=1, min_target_count=1, word_ngrams=2, bucket=100, **SMALL)
    model = Sent2Vec.train([*batch, *TEXT], options)
    model.save(paths.CACHE / "model.bin")
    both = [one.encode([*batch, *TEXT]) for one in (model, Sent2Vec.load(paths.CACHE / "model.bin"))]
    np.testing.assert_array_equal(*both)
    assert np.isfinite(both[0]).all()


@settings(max_examples=max(1, CASES // 5))
@given(wild.batches)
def test_bags_of_words_of_anything(batch) -> None:
    sentences = [*batch, *batch, "plain"]
    bags = bag_of_words(sentences)
    assert bags.shape[0] == len(sentences)
    np.testing.assert_array_equal(bags[: len(batch)].toarray(), bags[len(batch) : -1].toarray())


@pytest.mark.parametrize("task", ["SentLen", "WC", "BShift"])
def test_probing_tasks_are_made_of_anything_or_refused(task) -> None:
    @settings(max_examples=max(1, CASES // 10))
    @given(wild.batches)
    def every(batch: list[str]) -> None:
        lines = list(dict.fromkeys([*batch, *(f"{one} and {other}" for one in TEXT for other in TEXT)]))
        unknown = np.full(len(lines), -1, np.int32)
        corpus = corpora.Corpus("wild", lines, np.zeros(len(lines), np.int32), np.zeros(1, np.int32), unknown)
        try:
            probe = make(task, corpus, size=12, classes=2 if task != "BShift" else None)
        except InputError:
            return
        assert all(len(split) for split in map(lambda each: each.sentences, probe.splits))

    every()
