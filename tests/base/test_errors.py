"""What was wrong is one sentence in a notebook, too."""

from __future__ import annotations

from IPython.core.interactiveshell import InteractiveShell


def test_a_notebook_shows_the_sentence_without_frames(capsys) -> None:
    shell = InteractiveShell()
    shell.run_cell("from lib import corpora")
    shell.run_cell("corpora.load('no such text')")
    said = capsys.readouterr().out
    assert said.startswith("InputError: ")
    assert "no such text" in said
    assert said.count("\n") == 1
    shell.run_cell("1 / 0")  # other errors as before
    assert "ZeroDivisionError" in capsys.readouterr().out
