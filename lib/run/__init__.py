"""Executing notebooks, and what every room of the project stands on: paths, parameters, progress, errors."""
