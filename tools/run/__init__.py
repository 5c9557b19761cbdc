"""The runner: executes the notebooks and compares their tables with the reference."""
