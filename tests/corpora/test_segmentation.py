"""Segmentation: the same in one process and in several, streaming."""
# ruff: noqa: RUF001 - letters and marks of other scripts are what is tested

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


@pytest.mark.parametrize(
    "text",
    [
        "我爱北京。|太阳升！|你是谁？！|他说：“你好。”|走了｡|圆周率是３．１４．|好",
        "彼は来た。|「はい。」|本当…だ（笑）。|『え？』|うん!|はい?|そう.|で",
        "यह घर है।|वह नदी है॥|क्या?",
        "هل هذا نهر؟| نعم.| لا",
        "یہ گھر ہے۔|وہ دریا ہے۔",
        "Սա տուն է։| Դա գետ է։| Սա տուն է:| ժամը 12:30 է:",
        "ይህ ቤት ነው።|ያ ወንዝ ነው፧|ይህ፡ቤት፡ነው፡፡| ያ ወንዝ ነው",
        "ეს სახლია.| ის მდინარეა.",
        "આ ઘર છે.| તે નદી છે.",
        "안녕하세요?| 학생입니다.",
        "ဒါက အိမ်ပါ။| ဒါက မြစ်ပါ။",
        "នេះជាផ្ទះ។| នោះជាទន្លេ។",
        "We saw 3.5 km.| Dr. Smith, of モーニング娘。,| went: wow‼️ See (図。).| Yes",
    ],
)
def test_sentences_of_other_scripts_end_at_their_own_marks(text) -> None:
    expected = [part.strip() for part in text.split("|")]
    assert segment(text.replace("|", "")) == expected


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
