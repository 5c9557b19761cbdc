"""Long work shows items, rate and time left; in a log as plain lines."""

from __future__ import annotations

import re

from lib.base import paths, progress


def test_plain_lines_in_the_log(tmp_path, monkeypatch) -> None:
    log = tmp_path / "run.log"
    monkeypatch.setenv(paths.LOG_VARIABLE, str(log))
    with progress.bar(10, "outer", "epochs") as outer:
        for _ in progress.track(range(4), "inner", "steps"):
            outer.update(2)
    said = log.read_bytes().decode()
    assert re.search(r"^inner: 4 of 4 steps \(100 %\).* left$", said, re.MULTILINE)
    assert "\nouter: 8 of 10 epochs (80 %)" in said
    assert not re.search("[\r\x1b]", said)


def test_without_a_log_and_a_terminal_lines_go_to_standard_error_and_none_if_not_wanted(
    monkeypatch, capsys
) -> None:
    monkeypatch.delenv(paths.LOG_VARIABLE, raising=False)
    assert list(progress.track(range(3), "quiet", show=False)) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")
    list(progress.track(range(2), "plain"))
    assert "plain: 2 of 2 items (100 %)" in capsys.readouterr().err
