"""``python -m tools.run``, which is what ``make figures`` calls."""

import signal
import sys

from tools.run.runner import main


def leave(number: int, _: object) -> None:
    """Exit with a shell's status for a signal, so that `tools.run.runner` cleans up."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    for ending in (signal.SIGTERM, signal.SIGHUP):
        # What nohup ignores stays ignored.
        if signal.getsignal(ending) is signal.SIG_DFL:
            signal.signal(ending, leave)
    sys.exit(main())
