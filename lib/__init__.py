"""Sentence embedders, measures and studies; `lib.base` lies under all of it."""

import sys

# While Python looks for `python -m lib.x` or `tools.x`: a user's numpy.py in the
# project's folder must not take NumPy's place.
if sys.argv[0] == "-m":
    sys.path.append(sys.path.pop(0))
