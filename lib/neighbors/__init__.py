"""Nearest neighbors by cosine similarity."""

from lib.neighbors.brute_force import Neighbors, exact

__all__ = ["Neighbors", "exact"]
