"""How much tests try: a little in `make test`, a lot in `make test-nightly`."""

from __future__ import annotations

import os

NIGHTLY = bool(os.environ.get("SENTENCE_NIGHTLY"))

KILLS = 10 if NIGHTLY else 1  # of each long job, at a step and at a time
CASES = 2_000 if NIGHTLY else 50  # of wild input, of each kind
EXAMPLES = 300 if NIGHTLY else 30  # of an invariant
