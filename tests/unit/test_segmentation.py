"""Segmentation: the same in one process and in several, streaming."""

from __future__ import annotations

import pytest

from lib.corpora import segmentation
from lib.corpora.segmentation import Passage, segment, segmented

STORY = 'Rain fell on Monday. "We stayed in," she said. "Then {0} sailed."'


@pytest.fixture
def small_chunks(monkeypatch) -> None:
    monkeypatch.setattr(segmentation, "CHUNK", 200)
    monkeypatch.setattr(segmentation, "WORDS", 0)


def passages(count: int) -> list[Passage]:
    return [Passage(STORY.format(f"ship{i}"), opens=i % 3 == 0) for i in range(count)]


def expected(count: int) -> list[tuple[bool, list[str]]]:
    return [(passage.opens, segment(passage.text)) for passage in passages(count)]


def test_an_opening_quotation_mark_goes_with_its_sentence() -> None:
    assert segment('It rained. "We stayed," he said. "We read."') == [
        "It rained.",
        '"We stayed," he said.',
        '"We read."',
    ]


def test_it_is_what_segmenting_one_by_one_gives() -> None:
    assert list(segmented(passages(7))) == expected(7)
    assert expected(1)[0][1] == [
        "Rain fell on Monday.",
        '"We stayed in," she said.',
        '"Then ship0 sailed."',
    ]
    assert list(segmented([])) == []
    assert list(segmented([Passage("", True), Passage(" \n", False)])) == [
        (True, []),
        (False, []),
    ]


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("processes", [1, 2])
def test_processes_and_chunks_do_not_matter(processes) -> None:
    assert list(segmented(passages(60), processes)) == expected(60)
