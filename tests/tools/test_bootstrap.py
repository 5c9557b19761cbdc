"""The set-up harms nothing that it did not make."""

from __future__ import annotations

import pytest

from tools import bootstrap


def test_an_environment_behind_a_link_is_not_emptied(tmp_path, monkeypatch) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "kept").touch()
    monkeypatch.setattr(bootstrap, "VENV", tmp_path / ".venv")
    bootstrap.VENV.symlink_to(theirs)
    with pytest.raises(SystemExit, match="remove the link"):
        bootstrap.build()
    assert (theirs / "kept").exists()
