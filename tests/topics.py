"""A small text about two topics, from which an embedder can learn them."""

from __future__ import annotations

ANIMALS = [
    "the cat and the dog sleep",
    "a dog chases the cat",
    "the cat eats as the dog sleeps",
    "cat and dog",
] * 12
MONEY = [
    "the bank lends money at interest",
    "money in the bank",
    "interest on money that the bank lends",
] * 16
TEXT = ANIMALS + MONEY
