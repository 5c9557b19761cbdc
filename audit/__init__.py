"""What replications alone import: claims, verdicts, printed tables, measurements.

Each module serves verdicts; `lib` knows none of them.
"""
