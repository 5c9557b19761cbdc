"""Build the environment: ``python3 -I tools/bootstrap.py FILE...``, unless it is newer than each of these files.

Run by whatever Python the user has, before anything is installed, so that it imports the standard library only.
``lock`` in place of the files resolves requirements.txt anew and writes requirements.lock and environment.yml.
"""

import fcntl
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV, CACHE = ROOT / ".venv", ROOT / ".cache"
COMPLETE = VENV / "complete"
OLDEST, TOO_NEW = (3, 11), (3, 14)
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input", "--retries", "2", "--timeout", "20")

FULL = "the disk is full: free 4 GB and run the command again"
OFFLINE = "the package index cannot be reached: connect to the network (or set PIP_INDEX_URL) and run the command again"
# What pip says when it fails, and the sentence that says what to do.
CAUSES = {
    r"No space left|Errno 28": FULL,
    r"Connection|ConnectTimeout|ReadTimeout|name resolution|ProxyError|Network is unreachable": OFFLINE,
}
ENVIRONMENT = """\
# The same pins for conda and Binder; written by `make lock`.
name: sentence-embeddings
channels: [conda-forge]
dependencies:
  - python=3.11
  - pip
  - pip:
"""


def main():
    """Build the environment, or with `lock` resolve its pins anew."""
    check()
    CACHE.mkdir(exist_ok=True)
    with open(CACHE / "environment.lock", "a") as stream:
        hold(stream)
        if sys.argv[1:] == ["lock"]:
            lock()
        elif not is_complete(sys.argv[1:]):
            build(VENV, ["-r", "requirements.txt", "-c", "requirements.lock"])
            # No question about news and no look for updates when JupyterLab opens: in a class they stand in the way.
            announcements = "@jupyterlab/apputils-extension:announcements"
            run([VENV / "bin" / "jupyter", "labextension", "disable", announcements])
            COMPLETE.touch()


def check():
    """Stop with one sentence if this Python cannot make the environment."""
    if not OLDEST <= sys.version_info[:2] < TOO_NEW:
        version = "{}.{}".format(*sys.version_info[:2])
        stop(f"Python {version} is not supported: install Python 3.11, 3.12 or 3.13 and run make PYTHON=python3.11")
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        stop("this Python has no venv module: install it (Debian and Ubuntu: apt install python3-venv)")


def hold(stream):
    """Hold the lock of an open file until this process ends, and pip if this is killed; another `make` waits."""
    os.set_inheritable(stream.fileno(), True)
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("waiting for another make that is building the environment", flush=True)
        fcntl.flock(stream, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        pass


def is_complete(made_from):
    """Whether the environment is there and newer than what it is made from: another `make` may have built it."""
    return COMPLETE.exists() and all(Path(file).stat().st_mtime <= COMPLETE.stat().st_mtime for file in made_from)


def build(folder, requirements):
    """Make a virtual environment and install into it; the project itself goes in as a link to this folder."""
    print(f"Building the environment in {folder} (about 1 GB to download, once)", flush=True)
    run([sys.executable, "-m", "venv", "--clear", folder])
    python = folder / "bin" / "python"
    install = [python, *PIP, "install", "--quiet", "--prefer-binary"]
    run([*install, *requirements])
    run([*install, "--no-deps", "--no-build-isolation", "-e", "."])
    return python


def run(command):
    """Run a command in the project's folder; stop with a sentence that says why if it fails."""
    done = subprocess.run(command, cwd=ROOT, close_fds=False, stderr=subprocess.PIPE, text=True, errors="replace")
    if done.returncode:
        sys.stderr.write(done.stderr)
        reasons = [sentence for pattern, sentence in CAUSES.items() if re.search(pattern, done.stderr)]
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        stop(f"the environment is not complete, since {[*reasons, f'pip failed: {last}'][0]}")


def lock():
    """Resolve the direct pins in a fresh environment and write down everything that came along."""
    folder = CACHE / "lock"
    python = build(folder, ["-r", "requirements.txt"])
    frozen = subprocess.check_output([python, *PIP, "freeze", "--all", "--exclude-editable"], cwd=ROOT, text=True)
    shutil.rmtree(folder)
    # A local build is named "2.13.0+cpu"; elsewhere the same release has another suffix or none.
    pins = re.findall(r"^(?!pip==)([^\s+]+==[^\s+]+)", frozen, re.M)
    heading = "# Everything that requirements.txt brings along; written by `make lock`."
    (ROOT / "requirements.lock").write_text("\n".join([heading, *pins, ""]))
    direct = re.findall(r"^[^\s#]+", (ROOT / "requirements.txt").read_text(), re.M)
    lines = [f"    - {pin}\n" for pin in [*direct, "-e ."]]
    (ROOT / "environment.yml").write_text(ENVIRONMENT + "".join(lines))


def stop(sentence):
    """End `make` with a sentence."""
    sys.exit(f"make: {sentence}")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        stop(f"{error.filename}: {error.strerror}; make room there or make it writable, and run the command again")
