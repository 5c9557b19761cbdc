"""Programs of a checkout, which ``make`` calls; `lib` and notebooks know none."""

import lib  # noqa: F401 - it comes first: see there what it does to the path
