"""What the README shows of the studies comes from the notebooks and their last run."""

from __future__ import annotations

import json

import pytest

from lib.run import paths
from lib.run.errors import InputError
from tests import small_site
from tools import readme
from tools.site.sources import Sources

OPENING = "# {title}\n\n**Question.** Which | of two?\n\n**Reads.** Text. **Takes** {minutes} minutes to read."
TEXT = """# Studies

By hand <!-- not a mark -->

<!-- cost -->
old
<!-- /cost -->
between
<!-- studies -->
<!-- /studies -->
the end
"""


@pytest.fixture
def sources(tmp_path, monkeypatch) -> Sources:
    """Two studies that have been run, for 80 seconds and for ten minutes, with a figure each."""
    project = Sources(tmp_path, tmp_path / "figures/default")
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "README.md").write_text(TEXT)
    for name, seconds, gigabytes in (("01_first", 80.4, 1.25), ("02_second", 600.0, 3.04)):
        opening = OPENING.format(title=f"{name[1]}. Of {name[3:]}", minutes=5 * int(name[1]))
        notebook = small_site.notebook([small_site.markdown(opening)])
        (tmp_path / "notebooks" / f"{name}.ipynb").write_text(json.dumps(notebook))
        results = project.figures / name
        results.mkdir(parents=True)
        (results / paths.COST).write_text(f"seconds,gigabytes\n{seconds},{gigabytes}\n")
        shown = tmp_path / "figures/reference/default" / name / "bars.png"
        shown.parent.mkdir(parents=True)
        shown.write_bytes(small_site.picture(30, f'{name}: "a" | b'))
    monkeypatch.setattr(readme, "COVERS", {"01_first": "bars", "02_second": "bars"})
    return project


def test_a_row_has_link_question_times_and_a_figure_with_its_own_description(sources) -> None:
    rows = [line for line in readme.studies(sources).splitlines() if "](" in line]
    image = '<img src="figures/reference/default/01_first/bars.png" alt="01_first: &quot;a&quot; &#124; b" width="240">'
    assert rows[0] == f"| [1. Of first](notebooks/01_first.ipynb) | Which &#124; of two? | 5 min | 80 s | {image} |"
    assert "| 10 min | 10 minutes |" in rows[1]


def test_the_cost_is_the_sum_of_the_times_and_the_most_memory(sources) -> None:
    assert readme.total(sources) == (
        "`make figures` takes 11 minutes and 3.0 GB of memory, and seconds when run again.\n"
    )


def test_only_what_stands_between_the_marks_changes_and_a_second_time_nothing(sources) -> None:
    file = sources.root / "README.md"
    readme.write(sources, file)
    written = file.read_text()
    assert written.startswith("# Studies\n\nBy hand <!-- not a mark -->\n\n<!-- cost -->\n`make figures` takes")
    assert written.endswith("|\n\n<!-- /studies -->\nthe end\n")
    assert "\n<!-- /cost -->\nbetween\n<!-- studies -->\n" in written
    assert "old" not in written
    readme.write(sources, file)
    assert file.read_text() == written


@pytest.mark.parametrize(
    "text", ["no marks", "<!-- a -->\n", "<!-- /a -->", "<!-- a -->\n<!-- /a --><!-- a -->\n<!-- /a -->"]
)
def test_marks_that_are_missing_or_twice_there_get_a_sentence(text) -> None:
    with pytest.raises(InputError, match="<!-- a --> and <!-- /a --> must stand in it once each"):
        readme.filled(text, {"a": "new"})


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        (f"figures/default/02_second/{paths.COST}", f"02_second/{paths.COST}: is missing; run make figures first"),
        (
            "figures/reference/default/02_second/bars.png",
            "bars.png: is missing; run make reference, or name another figure",
        ),
    ],
)
def test_what_has_not_been_run_gets_a_sentence_and_the_file_stays(missing, sentence, sources) -> None:
    (sources.root / missing).unlink()
    with pytest.raises(InputError, match=sentence):
        readme.write(sources, sources.root / "README.md")
    assert (sources.root / "README.md").read_text() == TEXT


def test_a_notebook_that_does_not_say_how_long_it_takes_to_read_gets_a_sentence(sources) -> None:
    file = sources.root / "notebooks/01_first.ipynb"
    file.write_text(file.read_text().replace("minutes to read", "a while"))
    with pytest.raises(InputError, match=r"does not say .*Takes.* N minutes to read"):
        readme.studies(sources)


def test_the_command_says_in_one_line_what_is_missing(sources, monkeypatch, capsys) -> None:
    monkeypatch.setattr(readme, "Sources", lambda: sources)
    monkeypatch.setattr(readme, "README", sources.root / "README.md")
    assert readme.main([]) == 0
    (sources.figures / "01_first" / paths.COST).unlink()
    assert readme.main([]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_every_study_has_a_figure_that_stands_for_it() -> None:
    assert readme.COVERS.keys() == {notebook.stem for notebook in paths.NOTEBOOKS.glob("[0-9]*.ipynb")}


def test_this_readme_has_the_marks() -> None:
    text = readme.README.read_text(encoding="utf-8")
    assert "a new table" in readme.filled(text, {"studies": "a new table", "cost": ""})
