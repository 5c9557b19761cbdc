"""Segmentation: the same in one process and in several, streaming, with another pipeline on request."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import starmap
from pathlib import Path

import pytest

from lib.corpora import segmentation, text
from lib.corpora.segmentation import Passage
from lib.run.errors import InputError

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
@pytest.mark.parametrize("processes", [1, 2])
def test_a_text_that_cannot_be_read_to_its_end_is_not_taken_for_a_short_one(monkeypatch, processes) -> None:
    monkeypatch.setattr(segmentation, "in_processes", lambda function, inputs, _: starmap(function, inputs))

    def source() -> Iterator[Passage]:
        yield from passages(20)
        raise InputError("text: cut short")

    with pytest.raises(InputError, match="cut short"):
        list(segmentation.segment(source(), processes=processes))


@pytest.mark.usefixtures("small_chunks")
def test_it_reads_no_further_ahead_than_a_few_chunks() -> None:
    read = 0

    def source() -> Iterator[Passage]:
        nonlocal read
        for read, passage in enumerate(passages(1000), start=1):  # noqa: B007 - the count is looked at below
            yield passage

    next(segmentation.segment(source()))
    assert read <= 200 // len(STORY) + 1


def test_words_of_a_text_are_forgotten(small_chunks) -> None:
    splitter = segmentation._Splitter(segmentation.SENTENCIZER)
    splitter.seen = segmentation.REMEMBERED
    known = len(splitter.nlp.vocab.strings)
    splitter.split([f"Word{i}th and fro." for i in range(500)])
    assert len(splitter.nlp.vocab.strings) <= known + 10


# -- other pipelines ----------------------------------------------------------------------------


@pytest.fixture
def installed(tmp_path, monkeypatch) -> Path:
    """A folder of Python's path, with two packages as `pip` installs spaCy's pipelines; one marks no sentences."""
    import spacy

    for name, pipes in (("en_semicolons", [";"]), ("en_blank", None)):
        nlp = spacy.blank("en")
        if pipes:
            nlp.add_pipe("sentencizer", config={"punct_chars": pipes})
        monkeypatch.delitem(sys.modules, name, raising=False)  # that of the test before
        package = tmp_path / name
        package.mkdir()
        nlp.to_disk(package / f"{name}-1.2.3")
        (package / f"{name}-1.2.3" / "meta.json").rename(package / "meta.json")
        (package / "meta.json").write_text(json.dumps({"lang": "en", "name": name[3:], "version": "1.2.3"}))
        load = "load_model_from_init_py(__file__, **overrides)"
        (package / "__init__.py").write_text(
            f"from spacy.util import load_model_from_init_py\n\n\ndef load(**overrides):\n    return {load}\n"
        )
        about = tmp_path / f"{name}-1.2.3.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2.3\n")
        (about / "entry_points.txt").write_text(f"[spacy_models]\n{name} = {name}\n")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("installed")
def test_an_installed_pipeline_is_used() -> None:
    found = list(segmentation.segment([Passage("One; two.  Three;", True)], "en_semicolons"))
    assert found == [(True, ["One;", "two. Three;"])]
    assert segmentation.version("en_semicolons").endswith(" 1.2.3")
    with pytest.raises(InputError, match="marks no sentences"):
        list(segmentation.segment(passages(1), "en_blank"))


def test_an_installed_pipeline_that_lacks_a_file_gets_a_sentence(installed) -> None:
    (installed / "en_blank" / "en_blank-1.2.3" / "config.cfg").unlink()
    with pytest.raises(InputError, match=r"segmenter: en_blank cannot be read \(.*config.*\); install it again"):
        list(segmentation.segment(passages(1), "en_blank"))


def test_a_pipeline_is_not_read_from_a_folder(installed) -> None:
    """Its configuration could name code that is run."""
    with pytest.raises(InputError, match=r"no spaCy pipeline .* is installed; .* sentencizer, .*en_semicolons"):
        list(segmentation.segment(passages(1), str(installed / "en_semicolons" / "en_semicolons-1.2.3")))


def test_a_pipeline_that_is_not_installed_gets_a_sentence() -> None:
    with pytest.raises(InputError, match=r"no spaCy pipeline 'en_core_web_xy' is installed; .* sentencizer") as error:
        list(segmentation.segment(passages(1), "en_core_web_xy"))
    assert "\n" not in str(error.value)
