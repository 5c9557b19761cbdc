"""What is refused gets one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lib.base.errors import InputError


@contextmanager
def refused(message: str) -> Iterator[None]:
    """Expect an error for users, of one line, with this message in it."""
    with pytest.raises(InputError) as error:
        yield
    said = str(error.value)
    assert message in said
    assert "\n" not in said
