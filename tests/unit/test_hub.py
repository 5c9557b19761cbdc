"""Any sentence encoder by its hub id or its folder: a small one, and no hub."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import numpy as np
import pytest

from lib import embedders
from lib.embedders import hub, own
from lib.embedders.transformer import Transformer
from tests.official.transformers import write_bert
from tests.refusals import refused

SENTENCES = ["The cat", "the cat, again: a cat!", "x", "the the the"]


def write_model(folder: Path, seed: int = 0) -> Path:
    """A SentenceTransformer that averages a tiny BERT's tokens to a unit vector."""
    write_bert(folder, seed)
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = []
    for path, kind in kinds.items():
        module = f"sentence_transformers.models.{kind}"
        modules.append({"idx": 0, "name": kind, "path": path, "type": module})
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    pooling = {
        "word_embedding_dimension": 12,
        "pooling_mode_mean_tokens": True,
        "pooling_mode_cls_token": False,
    }
    (folder / "1_Pooling/config.json").write_text(json.dumps(pooling))
    (folder / "sentence_bert_config.json").write_text(
        '{"max_seq_length": 40, "do_lower_case": false}'
    )
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def hub_cache(tmp_path, monkeypatch) -> Path:
    """An empty cache, and a hub that refuses connections."""
    monkeypatch.setattr(
        huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub")
    )
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    hub._files.cache_clear()
    return tmp_path / "hub"


def put(model: Path, cache: Path, name: str) -> None:
    """Lay a model into the hub's cache."""
    folder = cache / f"models--{name.replace('/', '--')}"
    shutil.copytree(model, folder / "snapshots/0123abc")
    (folder / "refs").mkdir()
    (folder / "refs/main").write_text("0123abc")


def mean_of_tokens(model: Path, sentences: list[str]) -> np.ndarray:
    vectors = Transformer("tiny", model, "avg", precision="float32").encode(sentences)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_a_folder_is_pooled_and_normalized_as_it_says(model) -> None:
    embedder = embedders.load(str(model))
    vectors = embedder.encode(SENTENCES)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, mean_of_tokens(model, SENTENCES), atol=1e-5)
    alone = np.vstack([embedder.encode([sentence]) for sentence in SENTENCES])
    np.testing.assert_allclose(vectors, alone, atol=1e-5)


# README: "compare today's encoders", "any model id or folder can be a name in
# `embedder_names`"
# README: "an id of the model hub ... or a model's folder works, too"
def test_an_id_is_read_from_the_hubs_cache_without_a_network(model, hub_cache) -> None:
    put(model, hub_cache, "organization/tiny")
    by_folder = embedders.load(str(model))
    assert embedders.missing(["organization/tiny"]) == {}
    by_id = embedders.load("organization/tiny")
    assert by_id.name == "organization/tiny"
    assert by_id.settings == by_folder.settings
    for same in (by_id, own.load("organization/tiny"), own.load(str(model))):
        np.testing.assert_array_equal(
            same.encode(SENTENCES), by_folder.encode(SENTENCES)
        )
    kept = own.load("organization/tiny", "mine").cached_as
    assert own.load(str(model), "mine").cached_as == kept
    assert own.load(str(model), "mine", prompt="x").cached_as != kept


def test_a_prompt_is_put_before_each_sentence_and_the_catalog_names_it(
    model, hub_cache
) -> None:
    asking = embedders.load(str(model), prompt="query: ")
    expected = mean_of_tokens(model, ["query: cat", "query: a"])
    np.testing.assert_allclose(asking.encode(["cat", "a"]), expected, atol=1e-5)
    assert asking.settings != embedders.load(str(model)).settings
    put(model, hub_cache, "intfloat/e5-small-v2")
    listed = embedders.load("intfloat/e5-small-v2")
    assert listed.settings == asking.settings


# README: "if necessary with `POOLING=` and `PROMPT=`"
def test_a_model_that_does_not_say_how_it_pools_is_told_how(model, tmp_path) -> None:
    folder = write_bert(tmp_path / "plain")
    with refused(r"plain does not say how its tokens are pooled; give cls, last, avg"):
        embedders.load(str(folder))
    ours = Transformer("plain", folder, "cls").encode(SENTENCES)
    np.testing.assert_array_equal(
        embedders.load(str(folder), pooling="cls").encode(SENTENCES), ours
    )


def test_without_a_network_each_is_left_out_with_a_sentence(hub_cache) -> None:
    listed = hub.table["name"].to_list()
    here, absent = embedders.select("embedder_names", ["tfidf", *listed])
    assert here == ["tfidf"]
    assert list(absent) == listed
    for name in listed:
        with refused(f"{name} is not in the model hub's cache and cannot be fetched"):
            embedders.load(name)


def test_after_a_failure_of_the_network_the_hub_is_asked_again(
    hub_cache, monkeypatch
) -> None:
    assert "a/b is not in the model hub's cache" in hub.missing("a/b")
    answer = SimpleNamespace(siblings=[SimpleNamespace(rfilename="config.json")])
    ask = huggingface_hub.HfApi.model_info
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: answer)
    assert hub.missing("a/b") == ""
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", ask)
    assert hub.missing("a/b") == ""


def test_what_is_neither_a_folder_nor_an_id_gets_a_sentence() -> None:
    with refused("a/b/c is neither a folder here nor a model hub id"):
        embedders.load("a/b/c")
