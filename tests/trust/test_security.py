"""Nothing that comes from elsewhere runs: no pickle, no parameter, no name, no text. `SECURITY.md` has the promises."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import pickle
import secrets
import shutil
import stat
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import psutil
import pytest
import torch
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from lib import catalog, corpora, embedders, fitted, neighborhoods, tasks
from lib.catalog import published
from lib.corpora import cache as corpus_cache
from lib.embedders import own
from lib.embedders.elmo import Elmo
from lib.embedders.infersent import InferSent
from lib.embedders.static import WordVectors
from lib.run import markdown, parameters, paths
from lib.run import runner as run
from lib.run.errors import InputError
from lib.sent2vec import Sent2Vec
from lib.store import EmbeddingStore
from tests.browser.conftest import _free_port, _stop
from tests.copies import copy_project
from tests.official.elmo import write_elmo
from tests.official.transformers import write_bert
from tests.sizes import CASES

SENTENCES = ["a cat sat on the mat", "the dog saw a cat", "dogs and cats", "on the mat"]


@pytest.fixture
def trace(tmp_path) -> Iterator[Path]:
    """A folder that is made if anything runs what it is given; it must not be there at the end."""
    folder = tmp_path / "it ran"
    yield folder
    assert not folder.exists()


@pytest.fixture
def payload(trace) -> Any:
    """An object whose pickle runs something when it is read."""

    class Payload:
        def __reduce__(self):
            return os.mkdir, (str(trace),)

    return Payload()


def test_the_payload_does_run_where_it_is_unpickled(tmp_path) -> None:
    class Payload:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "it ran"),)

    pickle.loads(pickle.dumps(Payload()))
    assert (tmp_path / "it ran").exists()


# -- pickles under every name that a reader takes -----------------------------------------------


def forms(payload: Any, folder: Path) -> Iterator[bytes]:
    """The payload as a pickle, as what torch writes (both kinds), and as arrays of objects."""
    folder.mkdir(exist_ok=True)
    yield pickle.dumps(payload)
    yield pickle.dumps({"words": payload}, protocol=2)
    for modern in (True, False):
        torch.save({"enc_lstm.weight_ih_l0": payload}, folder / "torch", _use_new_zipfile_serialization=modern)
        yield (folder / "torch").read_bytes()
    objects = np.array([payload, payload], dtype=object)
    np.save(folder / "array.npy", objects, allow_pickle=True)
    yield (folder / "array.npy").read_bytes()
    np.savez(folder / "arrays.npz", state=objects)
    yield (folder / "arrays.npz").read_bytes()


def read_folder_of_vectors(file: Path) -> Any:
    folder = file.with_name("folder")
    folder.mkdir(exist_ok=True)
    shutil.copy(file, folder / "x_emb.npy")
    pd.DataFrame({"index": ["a", "b"]}).to_parquet(folder / "x_index.parquet")
    return WordVectors.load(folder, show_progress_bar=False)


def read_elmo(file: Path) -> Any:
    options, _ = write_elmo(file.parent)
    return Elmo(options, file)


def read_transformer(file: Path, weights: str, modules: bool = False) -> Any:
    folder = write_bert(file.with_name("bert"))
    (folder / "model.safetensors").unlink()
    shutil.copy(file, folder / weights)
    if modules:
        kind = "sentence_transformers.models.Transformer"
        (folder / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": kind}]))
    return own.load(str(folder))


def read_urae(file: Path) -> Any:
    from lib.embedders import urae_file

    return urae_file.read(file, file)


def read_checkpoint(file: Path) -> Any:
    from lib.finetuning.checkpoint import Checkpoint

    return Checkpoint(file, {}).read()


READERS: dict[str, Callable[[Path], Any]] = {
    "words.bin": lambda file: WordVectors.load(file, show_progress_bar=False),
    "words.txt": lambda file: WordVectors.load(file, show_progress_bar=False),
    "words.vec.gz": lambda file: WordVectors.load(file, show_progress_bar=False),
    "words.npy": read_folder_of_vectors,
    "infersent.pkl": lambda file: InferSent(file, {}),
    "elmo.hdf5": read_elmo,
    "sent2vec.bin": Sent2Vec.load,
    "model.safetensors": lambda file: read_transformer(file, "model.safetensors"),
    "pytorch_model.bin": lambda file: read_transformer(file, "pytorch_model.bin"),
    "a SentenceTransformer": lambda file: read_transformer(file, "model.safetensors", modules=True),
    "a SentenceTransformer's bin": lambda file: read_transformer(file, "pytorch_model.bin", modules=True),
    "params.mat": read_urae,
    "checkpoint.pt": read_checkpoint,
    "neighbors.parquet": neighborhoods.read,
    "lines.txt": lambda file: corpora.load(f"lines:{file}"),
    "text.txt": lambda file: corpora.load(f"text:{file}"),
    "params.yaml": lambda file: parameters._read_yaml(file),
}


@pytest.mark.parametrize("name", list(READERS))
def test_no_reader_unpickles(payload, trace, tmp_path, monkeypatch, name) -> None:
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    for content in forms(payload, tmp_path / "forms"):
        folder = tmp_path / "given"
        folder.mkdir()
        (folder / name).write_bytes(content)
        if name in ("lines.txt", "text.txt"):  # any bytes are a text to somebody
            try:
                READERS[name](folder / name)
            except InputError:
                continue
            finally:
                shutil.rmtree(folder)
        else:
            with pytest.raises(InputError):
                READERS[name](folder / name)
            shutil.rmtree(folder)
        assert not trace.exists()


def test_the_cache_is_not_unpickled_and_is_made_again(payload, trace, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    words = tmp_path / "words.txt"
    words.write_text("cat 1 2\ndog 3 4\nmat 5 6\n")

    def results() -> list[np.ndarray]:
        mine = fitted.fit(embedders.load("lsa-corpus-2d"), SENTENCES)
        vectors = WordVectors.load(words, show_progress_bar=False)
        stored = EmbeddingStore(tmp_path / "cache/embeddings").embed(embedders.load("tfidf"), SENTENCES)
        return [mine.encode(SENTENCES), np.array([vectors[word] for word in ("cat", "dog", "mat")]), stored.toarray()]

    expected = results()
    kept = [file for file in (tmp_path / "cache").rglob("*") if file.is_file() and file.suffix != ".lock"]
    assert {file.suffix for file in kept} >= {".npz", ".npy", ".json"}
    for file in kept:
        before = file.read_bytes()
        for content in forms(payload, tmp_path / "forms"):
            file.write_bytes(content)
            pretend_it_was_written(file)
            for found, wanted in zip(results(), expected, strict=True):
                np.testing.assert_array_equal(found, wanted)
            assert not trace.exists()
        if file.exists():
            file.write_bytes(before)


def pretend_it_was_written(file: Path) -> None:
    """Where the cache of word vectors has the sizes of its files, let it have that of this one."""
    about = file.with_name("about.json")
    if file.suffix == ".npy" and about.exists():
        description = json.loads(about.read_text())
        description["files"][file.name] = file.stat().st_size
        about.write_text(json.dumps(description))


def test_a_cached_corpus_with_a_pickle_and_its_checksum_is_not_used(payload, trace, tmp_path) -> None:
    entry = tmp_path / "text-0123"
    corpus_cache.write(entry, {"text": np.zeros(3, np.uint8), "starts": np.zeros(2, np.int64)}, {"duplicates": 0})
    assert corpus_cache.read(entry)
    description = json.loads((entry / "corpus.json").read_text())
    np.save(entry / "starts.npy", np.array([payload], dtype=object), allow_pickle=True)
    digest = hashlib.blake2b((entry / "starts.npy").read_bytes(), digest_size=16).hexdigest()
    description["files"]["starts.npy"] = digest
    (entry / "corpus.json").write_text(json.dumps(description))
    assert corpus_cache.read(entry) is None


# -- models that bring code along ---------------------------------------------------------------

EVIL = "import os\nos.mkdir({!r})\nclass Evil:\n    @classmethod\n    def load(cls, *a, **k): return cls()\n"


def with_module_of_its_own(folder: Path) -> None:
    (folder / "modules.json").write_text('[{"idx": 0, "name": "0", "path": "", "type": "evil.Evil"}]')


def with_classes_of_its_own(folder: Path) -> None:
    its_own = {"AutoModel": "evil.Evil", "AutoConfig": "evil.Evil", "AutoTokenizer": ["evil.Evil", None]}
    for name, more in {
        "config.json": {"model_type": "evil"},
        "tokenizer_config.json": {"tokenizer_class": "Evil"},
    }.items():
        given = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(given | {"auto_map": its_own, "trust_remote_code": True} | more))


def with_settings_that_trust(folder: Path) -> None:
    with_classes_of_its_own(folder)
    kind = "sentence_transformers.models.Transformer"
    (folder / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": kind}]))
    trusting = {f"{of}_args": {"trust_remote_code": True} for of in ("model", "config", "tokenizer")}
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 9, **trusting}))


@pytest.mark.parametrize("spoiled", [with_module_of_its_own, with_classes_of_its_own, with_settings_that_trust])
def test_code_in_the_folder_of_a_model_is_not_run(spoiled, trace, tmp_path) -> None:
    folder = write_bert(tmp_path / "model")
    (folder / "evil.py").write_text(EVIL.format(str(trace)))
    spoiled(folder)
    with suppress(InputError):  # which one says is for others: `trace` sees whether it ran
        own.load(str(folder)).encode(SENTENCES)


# -- parameters ---------------------------------------------------------------------------------

TRACE = "TRACE"  # stands for the folder that would be made
ATTACKS = [
    "'; import os; os.mkdir('TRACE') #",
    '"; import os; os.mkdir("TRACE") #',
    "'''\nimport os; os.mkdir('TRACE')\n'''",
    '"""\nimport os; os.mkdir("TRACE")\n"""',
    "\\'; import os; os.mkdir('TRACE') #",
    "\\",
    '\\"',
    "x\\\n__import__('os').mkdir('TRACE')",
    "x\r__import__('os').mkdir('TRACE')",
    "x\u2028__import__('os').mkdir('TRACE')",
    "{__import__('os').mkdir('TRACE')}",
    "{text.__class__}",
    "%run TRACE",
    "!mkdir 'TRACE'",
    "$(mkdir 'TRACE')",
    "`mkdir 'TRACE'`",
    "\u202e\U0001f469\u200d\U0001f467",
]
PARAMETERS_CELL = 'text = ""  # text\ntexts = ["a"]  # texts\ntable = {"a": "b"}  # table\nnumber = 1.0  # number\n'
WRITES_THEM = """
import json, os, stat
from ipykernel.connect import get_connection_file
from lib.run import paths
seen = {"parameters": [text, texts, table, number], "ipython": os.environ["IPYTHONDIR"]}
sockets = [os.environ["TMPDIR"], get_connection_file()]
seen["modes"] = [stat.S_IMODE(os.stat(path).st_mode) for path in sockets]
seen["transport"] = json.load(open(get_connection_file()))["transport"]
(paths.figures_folder("x") / "seen.csv").write_text(json.dumps(seen))
"""


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A project with one notebook, below a folder whose name papermill and shells would act on."""
    root = tmp_path / "a {b} $(c) 'd'"
    for name in ("NOTEBOOKS", "PARAMS", "FIGURES", "RUNS"):
        monkeypatch.setattr(paths, name, root / name.lower())
        (root / name.lower()).mkdir(parents=True)
    cells = [
        nbformat.v4.new_code_cell(PARAMETERS_CELL, metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(WRITES_THEM),
    ]
    python = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=python), paths.NOTEBOOKS / "01_x.ipynb")
    (paths.PARAMS / "mine").mkdir()
    return root


def write_parameters(given: dict) -> None:
    (paths.PARAMS / "mine" / "01_x.yaml").write_text(yaml.safe_dump(given, allow_unicode=True), encoding="utf-8")


def accepted(value: str) -> bool:
    try:
        write_parameters({"text": value})
        run.select("01", "mine")
    except InputError:
        return False
    return True


def test_a_parameter_does_not_run_and_nobody_else_can_listen_to_the_kernel(project, trace) -> None:
    attacks = [attack.replace(TRACE, str(trace)) for attack in ATTACKS]
    attacks = [attack for attack in attacks if accepted(attack)]
    assert len(attacks) > 8
    table = {"a": attacks[0]}
    write_parameters({"text": " ".join(attacks), "texts": attacks, "table": table, "number": 1e9})
    (job,) = run.select("01", "mine")
    outcome = run.run(job)
    assert outcome.status == "done", outcome.reason
    seen = json.loads((job.results / "seen.csv").read_text())
    assert seen["parameters"] == [" ".join(attacks), attacks, table, 1e9]
    assert seen["transport"] == "ipc"
    assert [mode & (stat.S_IRWXG | stat.S_IRWXO) for mode in seen["modes"]] == [0, 0]
    assert not Path(seen["ipython"]).is_relative_to(Path.home())


def test_names_of_parameters_are_those_of_the_notebook(project, trace) -> None:
    for name in ("x", "__builtins__", "text = 1; import os; os.mkdir('x')\nnumber", "text\n", "", "pm"):
        write_parameters({name: 1})
        with pytest.raises(InputError, match="unknown parameter"):
            run.select("01", "mine")


@pytest.mark.parametrize(
    "tag",
    [
        "!!python/object/apply:os.mkdir [{0!r}]",
        "!!python/object/new:os.mkdir [{0!r}]",
        "!!python/name:os.mkdir",
        "!!python/module:antigravity",
        "!mkdir {0!r}",
    ],
)
def test_yaml_makes_no_objects(project, trace, tag) -> None:
    (paths.PARAMS / "mine" / "01_x.yaml").write_text(f"text: {tag.format(str(trace))}\n")
    with pytest.raises(InputError, match="not valid YAML"):
        run.select("01", "mine")


plain = st.text(st.characters(codec=None)) | st.sampled_from(ATTACKS) | st.booleans() | st.integers()
nested = st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


@settings(max_examples=CASES)
@given(nested)
def test_what_papermill_writes_into_a_notebook_is_the_value_and_nothing_else(value) -> None:
    from papermill.translators import PythonTranslator

    body = ast.parse(PythonTranslator.codify({"x": value})).body
    assert len(body) == 1
    assert ast.literal_eval(body[0].value) == value


# -- names of files -----------------------------------------------------------------------------

CLIMBING = [
    "..",
    ".",
    "../../x",
    "/elsewhere/x",
    "a/../../x",
    "..\\x",
    "x\0",
    "",
    "-",
    "~/x",
    "$HOME",
    "a/b",
    "\n",
    "CON:",
]


@pytest.mark.parametrize("name", [name for name in CLIMBING if name not in ("", "-")])
def test_a_name_of_ones_own_cannot_leave_its_folder(name) -> None:
    with pytest.raises(InputError, match="name"):
        own.load(lambda sentences: sentences, name)


@pytest.mark.parametrize("name", CLIMBING)
def test_names_are_looked_up_and_make_no_paths(project, name) -> None:
    for take in (catalog.get, corpora.load, tasks.load, embedders.load, published.load):
        with pytest.raises(InputError):
            take(name)
    with pytest.raises(InputError):
        run.select("01", name)
    if name:
        with pytest.raises(InputError):
            run.select(name, "default")


class Ones:
    def encode(self, sentences: list[str]) -> np.ndarray:
        return np.ones((len(sentences), 2), np.float32)


@pytest.fixture(scope="module")
def home_of_stores(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("home")


@settings(max_examples=CASES)
@given(st.text(max_size=60) | st.sampled_from(CLIMBING))
def test_what_is_stored_stays_in_the_store_under_any_name(home_of_stores, name) -> None:
    EmbeddingStore(home_of_stores / "a" / "store").embed(Ones(), ["a"], name=name)
    assert [path.name for path in home_of_stores.iterdir()] == ["a"]
    assert [path.name for path in (home_of_stores / "a").iterdir()] == ["store"]
    shutil.rmtree(home_of_stores / "a")


# -- what is shown ------------------------------------------------------------------------------

PIECES = [
    *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "![x](http://h/x.png)"),
    *(
        "```{include} /etc/passwd",
        "{eval-rst}`x`",
        "% note",
        "(x)=",
        "+++",
        "$x$",
        "$$",
        "&lt;script&gt;",
        "&#60;b&#62;",
    ),
    *(
        "<!--",
        "-->",
        "]]>",
        "|",
        "</td>",
        "\\",
        "`",
        "~~",
        "<http://x.y>",
        "<a@b.c>",
        "[^1]",
        "[^1]: x",
        "[x]: http://y",
    ),
    *(
        "    code",
        "#",
        "* * *",
        "---",
        "===",
        "a  ",
        "\0",
        "\u202e",
        ":::note",
        "--",
        "1)",
        "12.",
        "&",
        "\x85",
        "\u2028",
    ),
]
PLACES = ["{}", "- {}", "> {}", "Said: {}", "**Query:** {}", "1. {}", "- {} (`x`)", "| a |\n| :--- |\n| {} |"]
wild_text = (
    st.text()
    | st.lists(st.sampled_from(PIECES)).map(" ".join)
    | st.lists(st.sampled_from(PIECES)).map("".join)
    | st.text(alphabet="%:;!\"'()*+,-./<=>?@[\\]^_`{|}~#$& \n1a")
)


class Page(HTMLParser):
    """What a browser makes of a page: elements with their attributes, comments, and the text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements, self.text = [], ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attributes: list) -> None:
        self.elements.append((tag, *attributes))

    def handle_comment(self, data: str) -> None:
        self.elements.append(("comment", data))

    def handle_data(self, data: str) -> None:
        self.text += data.replace("\n", "")


@pytest.fixture(scope="module")
def renderers() -> list:
    """That of the site, with its settings, and one of plain CommonMark with tables."""
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from myst_parser.config.main import MdParserConfig
    from myst_parser.parsers.mdit import create_md_parser

    site = create_md_parser(MdParserConfig(enable_extensions={"dollarmath"}, dmath_double_inline=True), RendererHTML)
    return [site, MarkdownIt("commonmark").enable(["table", "strikethrough"])]


@settings(max_examples=CASES)
@given(wild_text)
def test_a_text_adds_nothing_to_a_page_but_itself(renderers, text) -> None:
    expected = " ".join(text.replace("\0", "\ufffd").split())
    for place in PLACES:
        for renderer in renderers:
            empty = Page(renderer.render(place.format("x")))
            page = Page(renderer.render(place.format(markdown.escape(text) or "x")))
            assert [element for element in page.elements if element != ("span",)] == empty.elements
            assert expected in " ".join(page.text.split())


@settings(max_examples=CASES)
@given(st.text(max_size=30) | st.sampled_from(PIECES))
def test_names_in_a_file_of_neighbors_are_words(name) -> None:
    """They are shown in Markdown, figures and tables, and the file may be anybody's."""
    try:
        neighborhoods._check_words([name])
    except InputError:
        return
    assert name
    assert not set('<>`|*[]{}$&\\"#@') & set(name)
    assert name.isprintable()


# -- JupyterLab ---------------------------------------------------------------------------------


def status(address: str, headers: dict[str, str] | None = None) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers or {}), timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_jupyterlab_listens_on_this_machine_and_asks_for_its_token(tmp_path) -> None:
    port, token = _free_port(), secrets.token_hex(16)
    home = tmp_path / "home"
    home.mkdir()
    variables = copy_project(tmp_path / "project") | {
        "HOME": str(home),
        "JUPYTER_PORT": str(port),
        "JUPYTER_TOKEN": token,
        "BROWSER": "true",
    }
    with (tmp_path / "lab.log").open("w") as log:
        process = subprocess.Popen(
            ["make", "--old-file=.venv/complete", "lab"],
            cwd=tmp_path / "project",
            env=variables,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            wait_for(port, process)
            check_server(f"http://127.0.0.1:{port}", token, process.pid)
        finally:
            _stop(process)


def wait_for(port: int, process: subprocess.Popen) -> None:
    import time

    for _ in range(600):
        assert process.poll() is None
        try:
            status(f"http://127.0.0.1:{port}/api")
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError("make lab does not answer")


def check_server(address: str, token: str, process: int) -> None:
    family = [psutil.Process(process), *psutil.Process(process).children(recursive=True)]
    sockets = [socket for member in family for socket in member.net_connections() if socket.status == "LISTEN"]
    assert {socket.laddr.ip for socket in sockets} == {"127.0.0.1"}
    allowed = {"Authorization": f"token {token}"}
    assert status(f"{address}/api/contents", allowed) == 200
    for path in ("api/contents", "api/kernels", "api/sessions", "api/terminals"):
        assert status(f"{address}/{path}") == 403
        assert status(f"{address}/{path}", {"Authorization": "token wrong"}) == 403
    # A page elsewhere whose name is made to lead here.
    assert status(f"{address}/api/contents", allowed | {"Host": "example.org"}) == 403
