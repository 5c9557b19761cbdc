"""Helpers behind the notebooks: text, embedders, neighbors, measures and figures."""
