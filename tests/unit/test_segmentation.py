"""Segmentation: the same in one process and in several, streaming."""

from __future__ import annotations

import pytest

from lib.corpora import segmentation
from lib.corpora.segmentation import Passage, segment, segmented


def test_an_opening_quotation_mark_goes_with_its_sentence() -> None:
    assert segment('It rained. "We stayed," he said. "We read."') == [
        "It rained.",
        '"We stayed," he said.',
        '"We read."',
    ]


@pytest.mark.parametrize("processes", [1, 2])
def test_processes_and_chunks_do_not_matter(monkeypatch, processes) -> None:
    monkeypatch.setattr(segmentation, "CHUNK", 200)
    monkeypatch.setattr(segmentation, "WORDS", 0)
    passages = [Passage("", True), Passage(" \n", False)]
    for i in range(60):
        story = f'Rain fell on Monday. "We stayed in," she said. "Ship{i} sailed."'
        passages.append(Passage(story, opens=i % 3 == 0))
    expected = [(passage.opens, segment(passage.text)) for passage in passages]
    assert list(segmented(passages, processes)) == expected
    assert list(segmented([], processes)) == []
