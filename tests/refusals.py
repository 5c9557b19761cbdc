"""What is refused gets one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from lib.base import paths
from lib.base.errors import InputError
from lib.swap import __main__ as swap_command


@contextmanager
def refused(message: str) -> Iterator[None]:
    """Expect an error for users, of one line, with this message in it."""
    with pytest.raises(InputError) as error:
        yield
    said = str(error.value)
    assert message in said
    assert "\n" not in said


def swap_refuses(
    options: Mapping[str, str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Expect that ``sentence-swap`` ends with status 2 and writes nothing."""
    given = [f"--{name}={value}" for name, value in options.items()]
    assert swap_command.main(given) == 2
    assert message in capsys.readouterr().err
    assert not paths.FIGURES.exists()
