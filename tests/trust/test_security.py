"""Weights and models that others made run nothing when they are read; nobody else listens. See `SECURITY.md`."""

from __future__ import annotations

import json
import os
import pickle
import secrets
import shutil
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import psutil
import pytest
import torch

from lib.embedders import own
from lib.embedders.elmo import Elmo
from lib.embedders.infersent import InferSent
from lib.embedders.static import WordVectors
from lib.run import paths
from lib.run.errors import InputError
from lib.sent2vec import Sent2Vec
from lib.studies import situate
from tests.browser.conftest import _free_port, _stop
from tests.copies import copy_project
from tests.official.elmo import write_elmo
from tests.official.transformers import write_bert


@pytest.fixture
def trace(tmp_path) -> Iterator[Path]:
    """A folder that is made if anything runs what it is given; it must not be there at the end."""
    folder = tmp_path / "it ran"
    yield folder
    assert not folder.exists()


# -- files --------------------------------------------------------------------------------------


class Payload:
    """Its pickle makes a folder when it is read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_the_payload_does_run_where_it_is_unpickled(tmp_path) -> None:
    pickle.loads(pickle.dumps(Payload(tmp_path / "it ran")))
    assert (tmp_path / "it ran").exists()


def forms(payload: Payload, folder: Path) -> Iterator[bytes]:
    """The payload as a pickle, as what torch writes (both kinds), and as arrays of objects."""
    folder.mkdir()
    yield pickle.dumps(payload)
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
    folder.mkdir()
    shutil.copy(file, folder / "x_emb.npy")
    pd.DataFrame({"index": ["a", "b"]}).to_parquet(folder / "x_index.parquet")
    return WordVectors.load(folder, show_progress_bar=False)


def read_elmo(file: Path) -> Any:
    options, _ = write_elmo(file.parent)
    return Elmo(options, file).encode(["a"])


def read_transformer(file: Path, modules: bool = False) -> Any:
    folder = write_bert(file.with_name("bert"))
    (folder / "model.safetensors").unlink()
    shutil.copy(file, folder)
    if modules:
        kind = "sentence_transformers.models.Transformer"
        (folder / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": kind}]))
    return own.load(str(folder), pooling="" if modules else "avg").encode(["a"])


def read_urae(file: Path) -> Any:
    from lib.embedders import urae

    return urae.read(file, file)


def read_words(file: Path) -> Any:
    return WordVectors.load(file, show_progress_bar=False)


READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "word2vec's binary format": ("words.bin", read_words),
    "GloVe's text": ("words.txt", read_words),
    "fastText's packed text": ("words.vec.gz", read_words),
    "vectors in NumPy's format": ("words.npy", read_folder_of_vectors),
    "InferSent": ("infersent.pkl", lambda file: InferSent(file, {})),
    "ELMo": ("elmo.hdf5", read_elmo),
    "Sent2Vec": ("sent2vec.bin", Sent2Vec.load),
    "a transformer's safetensors": ("model.safetensors", read_transformer),
    "a transformer's bin": ("pytorch_model.bin", read_transformer),
    "a SentenceTransformer's safetensors": ("model.safetensors", lambda file: read_transformer(file, modules=True)),
    "a SentenceTransformer's bin": ("pytorch_model.bin", lambda file: read_transformer(file, modules=True)),
    "URAE": ("params.mat", read_urae),
    "stored neighbors": ("neighbors.parquet", situate.read),
}


@pytest.mark.parametrize("name", READERS)
def test_no_reader_unpickles(trace, tmp_path, monkeypatch, name) -> None:
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    file, read = READERS[name]
    for number, content in enumerate(forms(Payload(trace), tmp_path / "forms")):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / file).write_bytes(content)
        with pytest.raises(InputError):
            read(folder / file)
        assert not trace.exists()


# -- models that bring code along ---------------------------------------------------------------

CODE = "import os\nos.mkdir({!r})\nclass Own:\n    @classmethod\n    def load(cls, *a, **k): return cls()\n"


def with_module_of_its_own(folder: Path) -> None:
    (folder / "modules.json").write_text('[{"idx": 0, "name": "0", "path": "", "type": "code.Own"}]')


def with_classes_of_its_own(folder: Path) -> None:
    its_own = {"AutoModel": "code.Own", "AutoConfig": "code.Own", "AutoTokenizer": ["code.Own", None]}
    for name, more in {
        "config.json": {"model_type": "own"},
        "tokenizer_config.json": {"tokenizer_class": "Own"},
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
    (folder / "code.py").write_text(CODE.format(str(trace)))
    spoiled(folder)
    with suppress(InputError):  # `trace` sees whether it ran
        has_modules = (folder / "modules.json").exists()
        own.load(str(folder), pooling="" if has_modules else "avg").encode(["a cat sat on the mat"])


# -- who listens --------------------------------------------------------------------------------

WHERE_THE_KERNEL_LISTENS = """
import json, os, stat
from ipykernel.connect import get_connection_file
from lib.run import paths
places = [os.environ["TMPDIR"], get_connection_file()]
modes = [stat.S_IMODE(os.stat(place).st_mode) for place in places]
found = {"modes": modes, "transport": json.load(open(get_connection_file()))["transport"]}
(paths.figures_folder("00_x") / "found.json").write_text(json.dumps(found))
"""


def test_nobody_else_can_talk_to_a_kernel(tmp_path) -> None:
    project = tmp_path / "project"
    variables = copy_project(project)
    shutil.rmtree(project / "notebooks")
    (project / "notebooks").mkdir()
    cells = [
        nbformat.v4.new_code_cell("number = 1  # any", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(WHERE_THE_KERNEL_LISTENS),
    ]
    python = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=python), project / "notebooks" / "00_x.ipynb")
    subprocess.run([sys.executable, "-m", "lib.run"], cwd=project, env=variables, check=True)
    found = json.loads((project / "figures" / "default" / "00_x" / "found.json").read_text())
    assert found["transport"] == "ipc"
    assert [mode & (stat.S_IRWXG | stat.S_IRWXO) for mode in found["modes"]] == [0, 0]


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
    command = ["make", "--old-file=.venv/complete", "lab"]
    with (tmp_path / "lab.log").open("w") as log:
        options = {"cwd": tmp_path / "project", "env": variables, "stdout": log, "stderr": log}
        process = subprocess.Popen(command, start_new_session=True, **options)
        try:
            wait_for(port, process)
            check_server(f"http://127.0.0.1:{port}", token, process.pid)
        finally:
            _stop(process)


def wait_for(port: int, process: subprocess.Popen) -> None:
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
    for path in ("api/contents", "api/kernels", "api/terminals"):
        assert status(f"{address}/{path}") == 403
        assert status(f"{address}/{path}", {"Authorization": "token wrong"}) == 403
    # A page elsewhere whose name is made to lead here.
    assert status(f"{address}/api/contents", allowed | {"Host": "example.org"}) == 403
