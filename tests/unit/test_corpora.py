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
from lib.run.errors import InputError
from tests.refusals import refused


@pytest.fixture(scope="module", params=["bible-gospels", "wikipedia-sample", "lee"])
def corpus(request) -> corpora.Corpus:
    return corpora.load(request.param)


def test_sentences_are_unique_clean_and_described_one_by_one(corpus) -> None:
    assert len(set(corpus.sentences)) == len(corpus.sentences) == len(corpus)
    assert all(
        sentence and sentence == text.squeeze(sentence) for sentence in corpus.sentences
    )
    for field in (corpus.documents, corpus.groups):
        assert field.dtype == np.int32
        assert field.shape == (len(corpus),)


def test_ledes_are_ascending_and_open_documents(corpus) -> None:
    assert corpus.ledes.dtype == np.int32
    assert (np.diff(corpus.ledes) > 0).all()
    documents = corpus.documents[corpus.ledes]
    assert len(set(documents.tolist())) > 0.95 * len(set(corpus.documents.tolist()))


# README: "The default text is a sample of Wikipedia (18,000 sentences)", and "English
# Bible translations, of which we know which sentences mean the same"
def test_counts_of_the_default_texts() -> None:
    assert round(len(corpora.load("wikipedia-sample")), -3) == 18_000
    corpus = corpora.load("bible-gospels")
    assert (len(corpus), len(corpus.ledes)) == (23_797, 579)
    assert (
        np.unique(corpus.groups[corpus.groups >= 0], return_counts=True)[1] == 5
    ).sum() > 4_600


# -- alignment -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gospels() -> dict[str, dict[int, frozenset[str]]]:
    """Translation -> number of the matching World English verse -> word types."""
    verses: dict[str, dict[int, frozenset[str]]] = {
        name: {} for name in bible.TRANSLATIONS
    }
    for verse in bible.verses(*bible.PARTS["bible-gospels"]):
        if verse.meaning != bible.UNALIGNED:
            verses[verse.translation][verse.meaning] = frozenset(
                verse.text.lower().replace(",", "").split()
            )
    return verses


@pytest.mark.parametrize(
    "translation", [name for name in bible.TRANSLATIONS if name != "web"]
)
def test_a_verse_shares_more_words_with_its_translation_than_with_that_ones_neighbors(
    gospels, translation
) -> None:
    english, other = gospels["web"], gospels[translation]
    shared = sorted(english.keys() & other.keys())
    assert len(shared) > 4_750
    same = [text.jaccard(english[number], other[number]) for number in shared]
    for step in (1, -1):
        beside = [
            text.jaccard(english[number], other.get(number + step, frozenset()))
            for number in shared
        ]
        assert np.mean(same) > 3 * np.mean(beside)
        # No stretch has slipped: wherever ten verses in a row are taken, they fit best
        # where they are.
        windows = np.convolve(np.subtract(same, beside), np.ones(10) / 10, mode="valid")
        assert windows.min() > 0.1


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (
            40_013_055,
            (
                "the carpenter's son? Is not his mother called Mary? and his brothers "
                "James and Joseph"
            ),
        ),
        (40_017_001, "Peter and James and his brother John,"),
        (40_023_008, "to be called Rabbi; for one is your Teacher,"),
    ],
)
def test_montgomery_has_the_spaces_and_apostrophes_that_its_package_lacks(
    number, words
) -> None:
    verses = bible.verses(*bible.PARTS["bible-gospels"])
    assert words in next(
        verse.text for verse in verses if verse[:2] == ("mont", number)
    )


# -- one translation -------------------------------------------------------------------


@pytest.fixture(scope="module")
def alone() -> dict[str, corpora.Corpus]:
    return {name: corpora.load(f"bible-gospels:{name}") for name in bible.TRANSLATIONS}


def test_a_translation_alone_has_its_own_verses_by_chapter(alone) -> None:
    whole = corpora.load("bible-gospels")
    assert {
        sentence for corpus in alone.values() for sentence in corpus.sentences
    } == set(whole.sentences)
    for translation, corpus in alone.items():
        verses = [
            verse
            for verse in bible.verses(*bible.PARTS["bible-gospels"])
            if verse.translation == translation
        ]
        assert corpus.sentences == list(dict.fromkeys(verse.text for verse in verses))
        assert corpus.name == f"bible-gospels:{translation}"
        assert (
            len(corpus.ledes)
            == len({verse.number // 1000 for verse in verses})
            == corpus.documents.max() + 1
        )


def test_groups_of_a_translation_alone_are_those_of_all_five(alone) -> None:
    whole = corpora.load("bible-gospels")
    groups = dict(zip(whole.sentences, whole.groups.tolist(), strict=True))
    for corpus in alone.values():
        assert corpus.groups.tolist() == [
            groups[sentence] for sentence in corpus.sentences
        ]


# -- the New Testament, after the Gospels: the verses of one part are kept in memory ---


@pytest.fixture(scope="module")
def new_testament() -> list[bible.Verse]:
    return bible.verses(*bible.PARTS["bible-nt"])


@pytest.mark.parametrize("translation", bible.TRANSLATIONS)
def test_no_verse_is_cut_inside_a_word(new_testament, translation) -> None:
    verses = [verse.text for verse in new_testament if verse.translation == translation]
    # A verse that is cut elsewhere ends in a letter; a whole one nearly always ends in
    # a punctuation mark.
    assert np.mean([verse[-1].isalnum() for verse in verses]) < 0.02


def test_no_verse_is_a_filler_or_holds_the_number_of_another(new_testament) -> None:
    odd = re.compile(r"dummy|fehlt|^\[\]$|[\\`]|;\d|[.:!?] \d\d? [A-Z]|---")
    assert [verse for verse in new_testament if odd.search(verse.text)] == []


def test_a_translation_of_the_new_testament_has_its_verses() -> None:
    corpus = corpora.load("bible-nt:mont")
    assert len(corpus) > 7_900
    assert len(np.unique(corpus.groups)) > 0.99 * len(corpus)


@pytest.mark.parametrize(
    ("translation", "number", "meaning"),
    [
        ("dr", 41_009_001, 41_009_002),
        ("wmth", 42_002_052, 42_002_051),
    ],
)
def test_verses_are_aligned_where_a_translation_counts_otherwise(
    translation, number, meaning
) -> None:
    chapter = bible.verses(number // 1000 * 1000, (number // 1000 + 1) * 1000)
    places = {
        verse.number: verse.meaning
        for verse in chapter
        if verse.translation == translation
    }
    assert places[number] == meaning


def test_every_fifth_verse_stands_in_all_five_translations() -> None:
    corpus = corpora.load("bible-gospels-fifth")
    assert len(corpus) == 4_565
    assert set(corpus.sentences) <= set(corpora.load("bible-gospels").sentences)
    assert (np.unique(corpus.groups, return_counts=True)[1] == 5).mean() > 0.98


# -- unique sentences ------------------------------------------------------------------


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)),
    st.slices(6),
)
def test_sentences_behave_as_a_list(sentences, part) -> None:
    unique = list(dict.fromkeys(sentences))
    kept = assemble(
        "made up", [Record(sentence, 0) for sentence in [*sentences, "one", "one"]]
    ).sentences
    expected = list(dict.fromkeys([*unique, "one"]))
    assert isinstance(kept, Sentences)
    assert kept == expected == list(kept)
    assert kept[part] == expected[part]
    assert [kept[i] for i in range(-len(expected), len(expected))] == expected * 2
    assert text.fingerprint(kept) == text.fingerprint(expected)
    assert pickle.loads(pickle.dumps(kept)) == expected
    with pytest.raises(IndexError):
        kept[len(expected)]


def test_repeated_verses_join_their_groups() -> None:
    corpus = assemble(
        "made up",
        [
            Record("he spoke", 0, 10),
            Record("he said", 1, 10),
            Record("he spoke", 2, 20),  # a parallel passage in the same words
            Record("he talked", 3, 20),
            Record("rain fell", 3, 30),
        ],
    )
    assert corpus.groups.tolist() == [10, 10, 10, 30]
    assert corpus.ledes.tolist() == [0, 1, 2]


def test_an_unknown_group_joins_nothing() -> None:
    records = [
        ("he spoke", -1),
        ("he spoke", 20),
        ("he said", 20),
        ("she said", -1),
        ("he said", -1),
    ]
    corpus = assemble(
        "made up", [Record(sentence, 0, group) for sentence, group in records]
    )
    assert corpus.groups.tolist() == [-1, 20, -1]


def test_a_document_whose_opening_was_left_out_has_no_lede() -> None:
    records = [
        ("a b", 0, False),
        ("c d", 0, False),
        ("e f", 1, True),
        ("g h", 2, False),
    ]
    corpus = assemble(
        "made up", [Record(*record[:2], opens=record[2]) for record in records]
    )
    assert corpus.ledes.tolist() == [2]


# -- the user's own file ---------------------------------------------------------------


# README: "`lines:PATH`, for a file with one sentence a line"
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


def test_what_a_file_of_lines_lost_is_counted_and_said(tmp_path) -> None:
    (tmp_path / "own.txt").write_text(
        "A first one.\nA second.\n\n \nA first one.\nA third.\nA first one.\n"
    )
    corpus = corpora.load(f"lines:{tmp_path / 'own.txt'}")
    assert (len(corpus), corpus.repeated, corpus.empty) == (3, 2, 2)
    said = corpus.reading()
    assert (
        "7 lines read; left out 2 repeated and 2 empty ones; 3 sentences in 2 "
        "documents remain."
    ) in said
    assert "Fewer than ten documents" in said


def test_counts_survive_the_cache() -> None:
    first, again = corpora.load("lee"), corpora.load("lee")
    assert first.repeated == again.repeated > 0
    assert "Fewer than ten documents" not in again.reading()


def test_with_fewer_than_ten_documents_each_sentence_stands_for_itself(
    tmp_path,
) -> None:
    for documents, expected in (
        (9, list(range(18))),
        (10, [i // 2 for i in range(20)]),
    ):
        blocks = [f"First of {i}.\nSecond of {i}.\n" for i in range(documents)]
        (tmp_path / "own.txt").write_text("\n".join(blocks))
        corpus = corpora.load(f"lines:{tmp_path / 'own.txt'}")
        assert corpus.passages.tolist() == corpus.clusters.tolist() == expected


def test_translations_of_a_verse_are_one_cluster_and_no_other_sentence_is_in_it() -> (
    None
):
    corpus = corpora.load("bible-gospels-fifth")
    known = corpus.groups >= 0
    np.testing.assert_array_equal(corpus.clusters[known], corpus.groups[known])
    assert not np.isin(corpus.clusters[~known], corpus.groups[known]).any()


def test_a_file_without_its_kind_is_answered_with_the_kind(tmp_path) -> None:
    file = tmp_path / "file.txt"
    file.write_text("A sentence.\n")
    with pytest.raises(InputError) as error:
        corpora.load(str(file))
    assert (
        str(error.value)
        == f"corpus: {str(file)!r} is not known; did you mean lines:{file}?"
    )


# README: "`text:PATH` for running text, which is then cut into sentences"
def test_running_text_plain_and_gzip_by_paragraphs(tmp_path) -> None:
    content = (
        "\ufeffRain fell\r\non the town. It\n stopped.\n \n\n\n"
        "Rain fell on the town. She left\nit.\n"
    )
    (tmp_path / "plain.txt").write_bytes(content.encode())
    (tmp_path / "packed.gz").write_bytes(gzip.compress(content.encode()))
    for file in ("plain.txt", "packed.gz"):
        corpus = corpora.load(f"text:{tmp_path / file}")
        assert corpus.sentences == [
            "Rain fell on the town.",
            "It stopped.",
            "She left it.",
        ]
        assert corpus.documents.tolist() == [0, 0, 1]
        assert corpus.ledes.tolist() == [
            0
        ]  # the second document's lede is the first one's


@pytest.mark.parametrize("end", [" ", "\n"])
def test_a_paragraph_without_end_is_cut_between_sentences(
    tmp_path, monkeypatch, end
) -> None:
    monkeypatch.setattr(running_text, "LONGEST", 50)
    sentences = [f"Ship {i} came in{'!' if i % 5 else '.'}" for i in range(100)]
    (tmp_path / "long.txt").write_text(
        f"{end.join(sentences)}\n\n{'o' * 120}", encoding="utf-8"
    )
    passages = list(running_text.paragraphs(tmp_path / "long.txt"))
    assert max(len(passage.text) for passage in passages) <= 50
    assert [passage.text for passage in passages if passage.opens] == [
        passages[0].text,
        "o" * 50,
    ]
    corpus = corpora.load(f"text:{tmp_path / 'long.txt'}")
    assert corpus.sentences[:100] == sentences
    assert corpus.documents.tolist() == [0] * 100 + [1] * 2


@pytest.mark.parametrize("kind", ["lines", "text"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "text.txt: cannot be read (No such file or directory)"),
        (b"", "text.txt: the file is empty"),
        (b"\n \n", "holds no sentence"),
        (b"good\nbad \xff\n", "line 2: byte 0xff is not utf-8"),
        (gzip.compress(b"a sentence\n" * 1000, mtime=0)[:-20], "cannot be read"),
    ],
)
def test_a_file_that_cannot_serve_gets_a_sentence(
    tmp_path, kind, content, message
) -> None:
    file = tmp_path / "text.txt"
    if content is not None:
        file.write_bytes(content)
    with refused(message):
        corpora.load(f"{kind}:{file}")


def test_what_is_no_name_is_refused_with_the_nearest() -> None:
    for name in ("bible-gospel", "bible-gospels:kjv", "lee:web"):
        with pytest.raises(InputError, match=r"^corpus: .*(bible-gospels|lee)"):
            corpora.load(name)


# -- what templates leave --------------------------------------------------------------


def test_parentheses_lose_the_punctuation_of_what_was_removed_from_them() -> None:
    article = (
        "Achilles (; , Akhilleus, ) was a Greek hero ( ) of the Trojan War,the "
        "greatest ( ; Attic) warrior ."
    )
    assert list(running_text._prose(article.replace(" .", "."))) == [
        (
            "Achilles (Akhilleus) was a Greek hero of the Trojan War, the greatest "
            "(Attic) warrior."
        )
    ]


@pytest.mark.parametrize(
    "line",
    [
        "It denotes a vowel, such as , , or .",
        "File:Tiger fish in tank.",
        "a b.jpg|A fish in it.",
    ],
)
def test_a_sentence_with_a_gap_or_a_caption_is_left_out(line) -> None:
    assert list(running_text._prose(line)) == []
