"""Nearest neighbors by cosine similarity."""

from lib.neighbors.brute_force import exact
from lib.neighbors.contract import Neighbors

__all__ = ["Neighbors", "exact"]
