"""``python -m lib.run``, which is what ``make figures`` calls."""

import sys

from lib.run.runner import main

if __name__ == "__main__":
    sys.exit(main())
