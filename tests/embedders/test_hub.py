"""Any sentence encoder by its hub id or its folder: a small one, and no hub."""

from __future__ import annotations

import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import numpy as np
import pytest
import tokenizers
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules as models

from lib import embedders, swap
from lib.base import progress
from lib.embedders import hub, own
from lib.embedders.transformer import Transformer
from lib.store import EmbeddingStore
from tests.official.transformers import CHARACTERS, SPECIAL, write_bert
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


def put(model: Path, cache: Path, name: str, commit: str = 40 * "a") -> Path:
    """Lay a model into the hub's cache; returns its folder there."""
    folder = cache / f"models--{name.replace('/', '--')}"
    shutil.copytree(model, folder / "snapshots" / commit)
    (folder / "refs").mkdir()
    (folder / "refs/main").write_text(commit)
    return folder / "snapshots" / commit


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
    assert own.load(str(model), "mine").settings == by_id.settings
    assert own.load(str(model), "mine", prompt="x").settings != by_id.settings


def test_a_prompt_is_put_before_each_sentence_and_the_catalog_names_it(
    model, hub_cache
) -> None:
    asking = embedders.load(str(model), prompt="query: ")
    expected = mean_of_tokens(model, ["query: cat", "query: a"])
    np.testing.assert_allclose(asking.encode(["cat", "a"]), expected, atol=1e-5)
    assert asking.settings != embedders.load(str(model)).settings
    pinned = hub.REVISIONS["intfloat/e5-small-v2"]
    put(model, hub_cache, "intfloat/e5-small-v2", pinned)
    for name in ("intfloat/e5-small-v2", "intfloat/e5-small-v2@main"):
        assert embedders.load(name).settings == asking.settings


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


# -- what is in the hub's cache, and what is fetched -----------------------------------


def test_only_the_listed_revision_or_the_one_asked_for_is_taken(
    model, hub_cache
) -> None:
    put(model, hub_cache, "intfloat/e5-small-v2", 40 * "b")
    with refused("; give intfloat/e5-small-v2@main, which is there"):
        embedders.load("intfloat/e5-small-v2")
    other = embedders.load(f"intfloat/e5-small-v2@{40 * 'b'}@int8")
    assert other.base.prompt == "query: "
    for name in ("intfloat/e5-small-v2@v2", "intfloat/e5-small-v2@v2@int8"):
        with refused("(revision v2)"):
            embedders.load(name)
    with refused("no form '@int9'"):
        embedders.load(f"{model}@int9")


def split(folder: Path) -> None:
    """Save a model's weights in parts, with their index."""
    whole = transformers.AutoModel.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    whole.save_pretrained(folder, max_shard_size="10KB")


def add_dense(folder: Path) -> None:
    """Let a module with weights of its own follow, in the older format."""
    listed = json.loads((folder / "modules.json").read_text())
    kind = "sentence_transformers.models.Dense"
    listed.append({"idx": 3, "name": "3", "path": "3_Dense", "type": kind})
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "3_Dense").mkdir()
    size = {"in_features": 12, "out_features": 5, "bias": False}
    activation = {"activation_function": "torch.nn.modules.activation.Tanh"}
    (folder / "3_Dense/config.json").write_text(json.dumps(size | activation))
    weights = {"linear.weight": torch.ones(5, 12)}
    torch.save(weights, folder / "3_Dense/pytorch_model.bin")


@pytest.fixture
def served(model, tmp_path, monkeypatch, hub_cache):
    """A hub on the loopback device: a model in parts, and what it was asked for."""
    folder = shutil.copytree(model, tmp_path / "served")
    split(folder)
    add_dense(folder)
    (folder / "training_args.bin").write_bytes(b"0")
    asked = []
    names = [f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.is_file()]

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            body = json.dumps(
                {
                    "id": "a/b",
                    "sha": 40 * "c",
                    "siblings": [{"rfilename": name} for name in names],
                }
            ).encode()
            if "/tree/" in path:
                tree = []
                for name in names:
                    size = (folder / name).stat().st_size
                    tree.append(
                        {"type": "file", "path": name, "size": size, "oid": name}
                    )
                body = json.dumps(tree).encode()
            elif "/resolve/" in path:
                name = path.partition(40 * "c" + "/")[2]
                body = (folder / name).read_bytes()
                if self.command == "GET":
                    asked.append(name)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", f'"{path.replace("/", "-")}"')
            self.send_header("X-Repo-Commit", 40 * "c")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        template = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", address)
        monkeypatch.setattr(
            huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template
        )
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
        yield folder, asked
        server.shutdown()


# Killed at any moment: what is there is kept, and what is not is fetched.
def test_what_a_download_lacks_is_fetched_and_nothing_else(
    served, hub_cache, monkeypatch
) -> None:
    folder, asked = served
    expected = SentenceTransformer(str(folder), device="cpu").encode(SENTENCES)
    np.testing.assert_allclose(
        embedders.load("a/b").encode(SENTENCES), expected, atol=1e-6
    )
    weights = [name for name in asked if name.endswith((".safetensors", ".bin"))]
    assert "3_Dense/pytorch_model.bin" in weights
    assert "training_args.bin" not in weights
    assert len(weights) == 1 + len(list(folder.glob("model-*.safetensors")))
    (cached,) = (hub_cache / "models--a--b/snapshots").iterdir()
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert hub.cached("a/b") == cached
    assert hub.cached(f"a/b@{40 * 'c'}") == cached
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    tokenizer = ["tokenizer.json", "tokenizer_config.json", "vocab.txt"]
    ends = [weights[0], weights[-1], "3_Dense/pytorch_model.bin"]
    for lacking in (*([name] for name in ends), tokenizer):
        for name in lacking:
            (cached / name).resolve().unlink()
            (cached / name).unlink()
        asked.clear()
        assert hub.cached("a/b") is None
        assert hub.find("a/b") == cached == hub.cached("a/b")
        assert sorted(asked) == lacking


def test_a_model_without_its_tokenizer_is_refused(tmp_path) -> None:
    folder = write_model(tmp_path / "model")
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        (folder / name).unlink()
    # Five special tokens; 94 characters, alone and inside words, and three words
    with refused("the tokenizer knows 5 tokens, the weights 196"):
        embedders.load(str(folder)).encode(SENTENCES)


# -- how much of a sentence it reads ---------------------------------------------------

TEXTS = ["a " * words + "b" for words in range(1, 100)]  # words + 3 tokens, or + 1
SMALL = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3}
SMALL["intermediate_size"] = 24


def write_any(folder: Path, config, limit: int = 0, **settings: str) -> Path:
    """A SentenceTransformer of this configuration; its tokenizer may have a limit."""
    folder.mkdir()
    vocabulary = [*SPECIAL, *CHARACTERS, *(f"##{c}" for c in CHARACTERS)]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    options = settings | ({"model_max_length": limit} if limit else {})
    tokenizer = transformers.BertTokenizer(
        str(folder / "vocab.txt"), do_lower_case=False, **options
    )
    config.vocab_size = len(vocabulary)
    torch.manual_seed(0)
    plain = folder / "plain"
    transformers.AutoModel.from_config(config).save_pretrained(plain)
    tokenizer.save_pretrained(plain)
    pooling = models.Pooling(12, pooling_mode=settings.get("pooling", "mean"))
    network = models.Transformer(str(plain))
    SentenceTransformer(modules=[network, pooling]).save(str(folder / "model"))
    return folder / "model"


def static(folder: Path) -> Path:
    """Static embeddings, whose tokenizer cuts."""
    words = tokenizers.models.WordLevel({"[UNK]": 0, "a": 1, "b": 2, "c": 3}, "[UNK]")
    tokenizer = tokenizers.Tokenizer(words)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.enable_truncation(30)
    module = models.StaticEmbedding(tokenizer, embedding_weights=np.eye(4, 5))
    SentenceTransformer(modules=[module], device="cpu").save(str(folder))
    return folder


def in_a_folder(folder: Path) -> Path:
    """The layout of older models: the network is in a folder of its own."""
    model = write_model(folder)
    (model / "0_Transformer").mkdir()
    for file in [f for f in model.iterdir() if f.is_file() and f.stem != "modules"]:
        file.rename(model / "0_Transformer" / file.name)
    listed = json.loads((model / "modules.json").read_text())
    listed[0]["path"] = "0_Transformer"
    (model / "modules.json").write_text(json.dumps(listed))
    return model


def with_default_prompt(folder: Path) -> Path:
    """A prompt of 4 tokens that is on unless another one is given."""
    model = write_any(folder, transformers.BertConfig(**SMALL), 30)
    file = model / "config_sentence_transformers.json"
    prompts = {"prompts": {"p": "c c c c "}, "default_prompt_name": "p"}
    file.write_text(json.dumps(json.loads(file.read_text()) | prompts))
    return model


def roberta(padding: int) -> transformers.RobertaConfig:
    return transformers.RobertaConfig(
        max_position_embeddings=66, pad_token_id=padding, **SMALL
    )


# By hand: positions behind that of the padding; [CLS] and [SEP] are tokens, too.
@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda f: write_any(f, roberta(1)), (64, 38)),
        (lambda f: write_any(f, roberta(0), 64), (64, 38)),
        (lambda f: write_any(f, transformers.BertConfig(**SMALL), 16), (16, 86)),
        (
            lambda f: write_any(
                f, transformers.GPT2Config(n_positions=40, n_embd=12, n_head=3)
            ),
            (40, 62),
        ),
        (in_a_folder, (40, 62)),
        (with_default_prompt, (30, 76)),
        (static, (30, 70)),
    ],
)
def test_the_limit_is_where_the_vector_stops_changing(
    tmp_path, own_cache, write, expected
) -> None:
    embedder = embedders.load(str(write(tmp_path / "model")))
    assert embedder.truncation(TEXTS) == expected
    vectors = embedder.encode(TEXTS)
    longer = embedder.encode([f"{text} c c c" for text in TEXTS])
    unchanged = np.abs(vectors - longer).max(axis=1) < 1e-6
    # Those that are cut, and the one that just fits.
    assert unchanged.sum() == expected[1] + 1
    assert embedder.truncation([]) == embedder.truncation(["a"])


def test_our_own_pooling_finds_the_network_in_a_folder_of_its_own(tmp_path) -> None:
    folder = in_a_folder(tmp_path / "model")
    ours = Transformer("plain", folder / "0_Transformer", "cls").encode(SENTENCES)
    np.testing.assert_array_equal(
        embedders.load(str(folder), pooling="cls").encode(SENTENCES), ours
    )


@pytest.mark.parametrize("padding", [0, 1])
def test_our_own_pooling_counts_as_it_cuts(tmp_path, own_cache, padding) -> None:
    folder = write_any(tmp_path / "model", roberta(padding))
    embedder = embedders.load(str(folder), pooling="avg")
    limit = 65 - padding
    assert embedder.truncation([*TEXTS, "\ud800 a"]) == (limit, 102 - limit)
    just, more = embedder.encode(["a " * (limit - 2), "a " * (limit - 1)])
    np.testing.assert_allclose(just, more, atol=1e-6)


def test_a_token_that_the_tokenizer_puts_before_the_text_counts(
    tmp_path, own_cache
) -> None:
    file = write_model(tmp_path / "model") / "tokenizer.json"
    normalizer = {"normalizer": {"type": "Prepend", "prepend": "c "}}
    file.write_text(json.dumps(json.loads(file.read_text()) | normalizer))
    embedder = embedders.load(str(file.parent), pooling="avg")
    # [CLS], c, [SEP], and a token for each letter
    assert embedder.truncation(["a" * 37, "a" * 38]) == (40, 1)


# -- what a reader must know -----------------------------------------------------------


@pytest.mark.parametrize("pooling", ["", "avg"])
def test_another_similarity_is_told_wherever_such_a_model_is_embedded(
    tmp_path, own_cache, capsys, pooling, monkeypatch
) -> None:
    monkeypatch.setattr(progress, "_told", set())
    folder = write_model(tmp_path / "model")
    said = "asks that its vectors be compared by the dot product"
    (folder / "config_sentence_transformers.json").write_text(
        '{"similarity_fn_name": "dot"}'
    )
    embedder = embedders.load(str(folder), pooling=pooling)
    embedder.fit_encode(SENTENCES)
    assert capsys.readouterr().err.count(said) == 1
    EmbeddingStore().embed(embedder, SENTENCES)
    assert said not in capsys.readouterr().err  # once is enough
    mine = own.load(str(folder), "mine", pooling)
    EmbeddingStore().embed(mine, SENTENCES)
    assert f"mine {said}" in capsys.readouterr().err
    for model in (embedder, mine, SentenceTransformer(str(folder), device="cpu")):
        found = swap.compare("bow", model, SENTENCES, k=2)
        assert found.new.placed.similarity == "dot"
        assert said not in "".join(found.lines())


def test_vectors_that_depend_on_the_batch_are_told_again_where_they_are_stored(
    tmp_path, own_cache
) -> None:
    left = {"padding_side": "left", "pooling": "cls"}
    config = transformers.BertConfig(**SMALL)
    folder = write_any(tmp_path / "model", config, **left)
    for _ in range(2):
        lines = swap.compare("bow", str(folder), TEXTS, k=3).lines()
        assert f"{folder} returns different vectors" in lines[-1]
    right = embedders.load(str(folder), pooling="cls")  # ours pads on the right
    assert right.spot_check(TEXTS) == []
