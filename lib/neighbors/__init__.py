"""Nearest neighbors by cosine similarity."""

from lib.neighbors.brute_force import exact
from lib.neighbors.contract import Neighbors
from lib.neighbors.distributed import of_each

__all__ = ["Neighbors", "exact", "of_each"]
