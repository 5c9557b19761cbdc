"""Corpora: what the contract promises, and that the Bible translations are aligned."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from lib import corpora
from lib.corpora import bible, cache, running_text, text
from lib.run.errors import InputError


@pytest.fixture(scope="module", params=["bible-gospels", "wikipedia-sample", "lee"])
def corpus(request) -> corpora.Corpus:
    return corpora.load(request.param)


def test_sentences_are_unique_clean_and_described_one_by_one(corpus) -> None:
    assert len(set(corpus.sentences)) == len(corpus.sentences) == len(corpus)
    assert all(sentence and sentence == text.squeeze(sentence) for sentence in corpus.sentences)
    for field in (corpus.documents, corpus.groups):
        assert field.dtype == np.int32
        assert field.shape == (len(corpus),)


def test_ledes_are_ascending_and_open_documents(corpus) -> None:
    assert corpus.ledes.dtype == np.int32
    assert (np.diff(corpus.ledes) > 0).all()
    documents = corpus.documents[corpus.ledes]
    assert len(set(documents.tolist())) > 0.95 * len(set(corpus.documents.tolist()))


def test_counts_of_the_gospels() -> None:
    corpus = corpora.load("bible-gospels")
    assert (len(corpus), len(corpus.ledes)) == (23_797, 579)
    assert (np.unique(corpus.groups[corpus.groups >= 0], return_counts=True)[1] == 5).sum() > 4_600


def test_loading_twice_gives_the_same_fingerprint() -> None:
    assert corpora.load("lee").fingerprint == corpora.load("lee").fingerprint


# -- alignment ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gospels() -> dict[str, dict[int, frozenset[str]]]:
    """translation -> number of the World English verse that it should match -> word types"""
    verses: dict[str, dict[int, frozenset[str]]] = {name: {} for name in bible.TRANSLATIONS}
    for verse in bible.verses(bible.MATTHEW, bible.ROMANS):
        if verse.meaning != bible.UNALIGNED:
            verses[verse.translation][verse.meaning] = frozenset(verse.text.lower().replace(",", "").split())
    return verses


@pytest.mark.parametrize("translation", [name for name in bible.TRANSLATIONS if name != "web"])
def test_a_verse_shares_more_words_with_its_translation_than_with_that_ones_neighbors(gospels, translation) -> None:
    english, other = gospels["web"], gospels[translation]
    shared = sorted(english.keys() & other.keys())
    assert len(shared) > 4_750
    same = [text.jaccard(english[number], other[number]) for number in shared]
    for step in (1, -1):
        beside = [text.jaccard(english[number], other.get(number + step, frozenset())) for number in shared]
        assert np.mean(same) > 3 * np.mean(beside)
        # No stretch has slipped: wherever ten verses in a row are taken, they fit best where they are.
        windows = np.convolve(np.subtract(same, beside), np.ones(10) / 10, mode="valid")
        assert windows.min() > 0.1


@pytest.mark.parametrize("translation", bible.TRANSLATIONS)
def test_no_verse_is_cut_inside_a_word(translation) -> None:
    verses = [verse.text for verse in bible.verses(bible.MATTHEW, bible.END) if verse.translation == translation]
    # A verse that is cut elsewhere ends in a letter; a whole one nearly always ends in a punctuation mark.
    assert np.mean([verse[-1].isalnum() for verse in verses]) < 0.02


@pytest.mark.parametrize(
    ("translation", "number", "meaning"),
    [
        ("dr", 41_008_001, 41_008_001),
        ("dr", 41_009_001, 41_009_002),
        ("wmth", 42_002_023, 42_002_023),
        ("wmth", 42_002_052, 42_002_051),
    ],
)
def test_verses_are_aligned_where_a_translation_counts_otherwise(translation, number, meaning) -> None:
    chapter = bible.verses(number // 1000 * 1000, (number // 1000 + 1) * 1000)
    places = {verse.number: verse.meaning for verse in chapter if verse.translation == translation}
    assert places[number] == meaning


def test_fillers_for_missing_verses_are_no_verses() -> None:
    verses = {verse.text for verse in bible.verses(bible.GENESIS, bible.END)}
    assert not any("dummy" in verse or "fehlt" in verse or verse == "[]" for verse in verses)
    assert not any("\\" in verse or "`" in verse for verse in verses)


def test_repeated_verses_join_their_groups() -> None:
    corpus = corpora._assemble(
        "made up",
        [
            corpora.Record("he spoke", 0, 10),
            corpora.Record("he said", 1, 10),
            corpora.Record("he spoke", 2, 20),  # a parallel passage in the same words
            corpora.Record("he talked", 3, 20),
            corpora.Record("rain fell", 3, 30),
        ],
    )
    assert corpus.groups.tolist() == [10, 10, 10, 30]
    assert corpus.ledes.tolist() == [0, 1, 2]
    assert corpus.duplicates == 1


def test_a_group_of_repetitions_alone_joins_the_right_one() -> None:
    records = [("he spoke", 10), ("he spoke", 20), ("rain fell", 30), ("snow fell", 15)]
    corpus = corpora._assemble("made up", [corpora.Record(sentence, 0, group) for sentence, group in records])
    assert corpus.groups.tolist() == [10, 30, 15]


def test_a_document_whose_opening_was_left_out_has_no_lede() -> None:
    records = [("a b", 0, False), ("c d", 0, False), ("e f", 1, True), ("g h", 2, False)]
    corpus = corpora._assemble("made up", [corpora.Record(*record[:2], opens=record[2]) for record in records])
    assert corpus.ledes.tolist() == [2]
    assert (corpus.documents_read, corpus.sentences_read) == (3, 4)


# -- the user's own file ------------------------------------------------------------------------


def test_lines_plain_and_gzip_with_documents(tmp_path) -> None:
    content = "\ufeffA first  one.\nA second.\n\n\nA third.\nA second.\n"
    (tmp_path / "plain.txt").write_text(content, encoding="utf-8")
    (tmp_path / "packed.gz").write_bytes(gzip.compress(content.encode()))
    for file in ("plain.txt", "packed.gz"):
        corpus = corpora.load(f"lines:{tmp_path / file}")
        assert corpus.sentences == ["A first one.", "A second.", "A third."]
        assert corpus.documents.tolist() == [0, 0, 1]
        assert corpus.ledes.tolist() == [0, 2]
        assert corpus.groups.tolist() == [-1, -1, -1]
        assert corpus.duplicates == 1


def test_running_text_plain_and_gzip_by_paragraphs(tmp_path) -> None:
    content = "\ufeffRain fell\r\non the town. It\n stopped.\n \n\n\nRain fell on the town. She left\nit.\n"
    (tmp_path / "plain.txt").write_bytes(content.encode())
    (tmp_path / "packed.gz").write_bytes(gzip.compress(content.encode()))
    for file in ("plain.txt", "packed.gz"):
        corpus = corpora.load(f"text:{tmp_path / file}")
        assert corpus.sentences == ["Rain fell on the town.", "It stopped.", "She left it."]
        assert corpus.documents.tolist() == [0, 0, 1]
        assert corpus.ledes.tolist() == [0]  # the second document's lede is the first one's
        assert (corpus.documents_read, corpus.sentences_read, corpus.duplicates) == (2, 4, 1)


@pytest.mark.parametrize("end", [" ", "\n"])
def test_a_paragraph_without_end_is_cut_between_sentences(tmp_path, monkeypatch, end) -> None:
    monkeypatch.setattr(running_text, "LONGEST", 50)
    sentences = [f"Ship {i} came in{'!' if i % 5 else '.'}" for i in range(100)]
    (tmp_path / "long.txt").write_text(f"{end.join(sentences)}\n\n{'o' * 120}", encoding="utf-8")
    passages = list(running_text.paragraphs(tmp_path / "long.txt"))
    assert max(len(passage.text) for passage in passages) <= 50
    assert [passage.text for passage in passages if passage.opens] == [passages[0].text, "o" * 50]
    corpus = corpora.load(f"text:{tmp_path / 'long.txt'}")
    assert corpus.sentences[:100] == sentences
    assert corpus.documents.tolist() == [0] * 100 + [1] * 2


@pytest.mark.parametrize("kind", ["lines", "text"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no file"),
        (b"", "holds no sentence"),
        (b"\n \n", "holds no sentence"),
        (b"good\nbad \xff\n", "line 2: not UTF-8"),
        (gzip.compress(b"a sentence\n" * 1000, mtime=0)[:-20], "cannot be read"),
    ],
)
def test_a_file_that_cannot_serve_gets_a_sentence(tmp_path, kind, content, message) -> None:
    file = tmp_path / "text.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError) as error:
        corpora.load(f"{kind}:{file}")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_name_points_to_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean bible-gospels"):
        corpora.load("bible-gospel")


def test_a_segmenter_for_what_is_no_running_text_gets_a_sentence() -> None:
    with pytest.raises(InputError, match=r"'lee' comes with its sentences; .* reuters, gigaword:YEAR, text:PATH"):
        corpora.load("lee", segmenter="en_core_web_sm")


# -- the cache ----------------------------------------------------------------------------------


@pytest.fixture
def own_text(tmp_path, monkeypatch) -> str:
    """The name of a corpus that is long enough for the cache."""
    monkeypatch.setattr(corpora, "LONG_WORK", 1)
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "cache")
    (tmp_path / "own.txt").write_text("Rain fell. It stopped.\n\nRain fell. Snow fell.\n", encoding="utf-8")
    return f"text:{tmp_path / 'own.txt'}"


def same(left: corpora.Corpus, right: corpora.Corpus) -> bool:
    arrays = ("sentences", "documents", "ledes", "groups")
    counts = ("name", "duplicates", "documents_read", "fragments", "fingerprint")
    return all(np.array_equal(list(getattr(left, name)), list(getattr(right, name))) for name in arrays) and all(
        getattr(left, name) == getattr(right, name) for name in counts
    )


def entries(folder: Path) -> list[Path]:
    """What the cache of `own_text` holds; locks lie beside it."""
    return [path for path in (folder / "cache").iterdir() if path.is_dir()]


def test_the_cache_gives_back_what_was_segmented(own_text, monkeypatch, tmp_path) -> None:
    fresh = corpora.load(own_text)
    assert len(entries(tmp_path)) == 1
    monkeypatch.setattr(corpora.segmentation, "segment", None)  # would raise if it were called
    again = corpora.load(own_text)
    assert same(fresh, again)
    assert again.sentences[np.int64(1)] == "It stopped."
    assert again.documents.dtype == again.ledes.dtype == again.groups.dtype == np.int32


def test_another_text_is_another_entry(own_text, tmp_path) -> None:
    corpora.load(own_text)
    (tmp_path / "own.txt").write_text("Hail fell. It stopped.\n\nRain fell. Snow fell.\n", encoding="utf-8")
    assert corpora.load(own_text).sentences[0] == "Hail fell."
    assert len(entries(tmp_path)) == 2


@pytest.mark.parametrize("file", ["text.npy", "starts.npy", "corpus.json"])
def test_a_damaged_entry_is_made_again(own_text, tmp_path, caplog, file) -> None:
    fresh = corpora.load(own_text)
    damaged = entries(tmp_path)[0] / file
    damaged.write_bytes(damaged.read_bytes()[:-3] + b"!!!")
    assert same(corpora.load(own_text), fresh)
    assert "damaged" in caplog.text
    caplog.clear()
    assert same(corpora.load(own_text), fresh)
    assert not caplog.text


def test_a_cache_that_cannot_be_written_costs_nothing_else(own_text, tmp_path, caplog) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert len(corpora.load(own_text)) == 3
    assert "not written" in caplog.text


def test_a_number_of_processes_that_is_none_gets_a_sentence(own_text) -> None:
    with pytest.raises(InputError, match="processes: 0 is not accepted"):
        corpora.load(own_text, processes=0)
