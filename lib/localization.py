"""Semantic localization: how well sentences that mean the same keep to one place in the vector space.

"How Well Sentence Embeddings Capture Meaning".
"""

from __future__ import annotations

from lib.closure import groups_from_pairs

__all__ = ["groups_from_pairs"]
