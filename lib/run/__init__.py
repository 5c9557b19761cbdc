"""Execution of notebooks, and the basics: paths, parameters, progress, errors."""
