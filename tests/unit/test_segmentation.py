"""Segmentation: the same in one process and in several, streaming, with another pipeline on request."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from lib import text
from lib.corpora import segmentation
from lib.corpora.segmentation import Passage
from lib.errors import InputError

STORY = 'Rain fell on Monday. "We stayed in," she said. "Then {0} sailed."'


@pytest.fixture
def small_chunks(monkeypatch) -> None:
    monkeypatch.setattr(segmentation, "CHUNK", 200)
    monkeypatch.setattr(segmentation, "REMEMBERED", 600)


def passages(count: int) -> list[Passage]:
    return [Passage(STORY.format(f"ship{i}"), opens=i % 3 == 0) for i in range(count)]


def expected(count: int) -> list[tuple[bool, list[str]]]:
    return [(passage.opens, text.segment(passage.text)) for passage in passages(count)]


def test_it_is_what_segmenting_one_by_one_gives() -> None:
    assert list(segmentation.segment(passages(7))) == expected(7)
    assert expected(1)[0][1] == ["Rain fell on Monday.", '"We stayed in," she said.', '"Then ship0 sailed."']
    assert list(segmentation.segment([])) == []
    assert list(segmentation.segment([Passage("", True), Passage(" \n", False)])) == [(True, []), (False, [])]


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("processes", [1, 2])
def test_processes_and_chunks_do_not_matter(processes) -> None:
    assert list(segmentation.segment(passages(60), processes=processes)) == expected(60)


@pytest.mark.usefixtures("small_chunks")
def test_a_dead_worker_costs_time_only(monkeypatch, caplog) -> None:
    monkeypatch.setattr(segmentation, "_ask", lambda pool, *_: pool.submit(os._exit, 1))
    assert list(segmentation.segment(passages(3), processes=1)) == expected(3)
    assert list(segmentation.segment(passages(9), processes=2)) == expected(9)
    assert "a worker process died" in caplog.text


@pytest.mark.usefixtures("small_chunks")
def test_it_reads_no_further_ahead_than_a_few_chunks(monkeypatch) -> None:
    read = 0

    def source() -> Iterator[Passage]:
        nonlocal read
        for read, passage in enumerate(passages(1000), start=1):  # noqa: B007 - the count is looked at below
            yield passage

    monkeypatch.setattr(segmentation, "_ask", lambda *_: None)  # no worker: nothing to wait for
    for processes, chunks in ((1, 1), (2, 5)):
        segmented = segmentation.segment(source(), processes=processes)
        next(segmented)
        assert read <= chunks * (200 // len(STORY) + 1)
        segmented.close()


def test_words_of_a_text_are_forgotten(small_chunks) -> None:
    splitter = segmentation._Splitter(segmentation.SENTENCIZER)
    splitter.seen = segmentation.REMEMBERED
    known = len(splitter.nlp.vocab.strings)
    splitter.split([f"Word{i}th and fro." for i in range(500)])
    assert len(splitter.nlp.vocab.strings) <= known + 10


# -- other pipelines ----------------------------------------------------------------------------


def test_an_installed_pipeline_is_used(tmp_path) -> None:
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer", config={"punct_chars": [";"]})
    nlp.to_disk(tmp_path / "semicolons")
    found = list(segmentation.segment([Passage("One; two.  Three;", True)], str(tmp_path / "semicolons")))
    assert found == [(True, ["One;", "two. Three;"])]
    assert "spacy" not in segmentation.version("semicolons")
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(InputError, match="marks no sentences"):
        list(segmentation.segment(passages(1), str(tmp_path / "blank")))


def test_a_pipeline_that_is_not_installed_gets_a_sentence() -> None:
    with pytest.raises(InputError, match=r"no spaCy pipeline 'en_core_web_xy' is installed; .* sentencizer") as error:
        list(segmentation.segment(passages(1), "en_core_web_xy"))
    assert "\n" not in str(error.value)
