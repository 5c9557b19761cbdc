"""Sent2Vec (Pagliardini, Gupta and Jaggi 2018).

The trainer, the model, and the model files of the authors' program.
"""

from lib.sent2vec.model import Sent2Vec
from lib.sent2vec.settings import Settings, preset

__all__ = ["Sent2Vec", "Settings", "preset"]
