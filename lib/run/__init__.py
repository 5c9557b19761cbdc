"""The ground: errors, paths, parameters, progress, files and the cache; the runner."""

import sys

# While Python looks for `python -m lib.run`: a user's numpy.py in the project's folder
# must not take NumPy's place.
if sys.argv[0] == "-m":
    sys.path.append(sys.path.pop(0))
