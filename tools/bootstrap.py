"""Build the environment: ``python3 -I tools/bootstrap.py``, which the Makefile calls when .venv is not complete.

Run by whatever Python the user has, before anything is installed, so that it imports the standard library only.
``lock`` as an argument resolves requirements.txt anew and writes requirements.lock and environment.yml; ``clean``
deletes what git ignores, apart from downloads.
"""

import errno
import fcntl
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
CACHE = os.path.join(ROOT, ".cache")
COMPLETE = os.path.join(VENV, "complete")
MADE_FROM = ("requirements.txt", "requirements.lock", "pyproject.toml", "tools/bootstrap.py")  # as in the Makefile
OLDEST, TOO_NEW = (3, 11), (3, 14)
GIGABYTES = 4.0
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input", "--retries", "2", "--timeout", "20")

# What pip says when it fails, and the sentence that says what to do.
CAUSES = (
    (
        r"No space left|Errno 28",
        "the disk is full: free {need:.0f} GB and run the command again".format(need=GIGABYTES),
    ),
    (
        r"NewConnectionError|ConnectTimeout|ReadTimeout|name resolution|ProxyError|Network is unreachable|Connection",
        "the package index cannot be reached: connect to the network (or set PIP_INDEX_URL) and run the command again",
    ),
    (r"No matching distribution|Could not find a version", "a pinned package does not exist for this system or Python"),
)


def main():
    """Build the environment, or with `lock` resolve its pins anew."""
    if "clean" in sys.argv[1:]:
        return clean()
    check()
    with alone():
        if "lock" in sys.argv[1:]:
            lock()
        elif not is_complete():
            build(VENV, ["-r", "requirements.txt", "-c", "requirements.lock"])
            keep_jupyterlab_quiet()
            with open(COMPLETE, "w") as stamp:
                stamp.write(sys.version + "\n")
    return 0


def check():
    """Stop with one sentence if this Python or this machine cannot hold the environment."""
    if not OLDEST <= sys.version_info[:2] < TOO_NEW:
        stop(
            "Python {}.{} is not supported: install Python 3.11, 3.12 or 3.13 and run make PYTHON=python3.11".format(
                *sys.version_info[:2]
            )
        )
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        stop("this Python has no venv module: install it (Debian and Ubuntu: apt install python3-venv)")
    free = shutil.disk_usage(ROOT).free / 1e9
    if free < GIGABYTES:
        stop("{:.1f} GB are free in {}: the environment needs {:.0f} GB".format(free, ROOT, GIGABYTES))


def alone():
    """Hold a lock until this process ends, and pip too if this is killed; a second ``make`` waits for the first."""
    try:
        os.makedirs(CACHE, exist_ok=True)
        stream = open(os.path.join(CACHE, "environment.lock"), "a")  # noqa: SIM115 - closed by who calls this
    except OSError as error:
        stop("{} cannot be written ({}): make it writable".format(CACHE, error.strerror))
    os.set_inheritable(stream.fileno(), True)
    if is_held(stream):
        print("waiting for another make that is building the environment", flush=True)
        fcntl.flock(stream, fcntl.LOCK_EX)
    return stream


def is_held(stream):
    """Whether another process holds the lock of an open file; if none does, this one does until the file is closed."""
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:  # of another kind where the file system has no locks
        return error.errno in (errno.EAGAIN, errno.EACCES)
    return False


def is_complete():
    """Whether the environment is there and not older than what it is made from: another ``make`` may have built it."""
    try:
        built = os.path.getmtime(COMPLETE)
        return all(os.path.getmtime(os.path.join(ROOT, name)) <= built for name in MADE_FROM)
    except OSError:
        return False


def build(folder, requirements):
    """Make a virtual environment and install into it; the project itself goes in as a link to this folder."""
    print("Building the environment in {} (about 1 GB to download, once)".format(folder), flush=True)
    if run([sys.executable, "-m", "venv", "--clear", folder])[0]:
        stop("no virtual environment could be made in {}: check the folder's permissions".format(folder))
    python = os.path.join(folder, "bin", "python")
    install = [python, *PIP, "install", "--quiet", "--prefer-binary"]
    for arguments in (requirements, ["--no-deps", "--no-build-isolation", "-e", "."]):
        status, said = run(install + arguments)
        if status:
            stop("the environment is not complete, since " + cause(said))
    return python


def keep_jupyterlab_quiet():
    """No question about news and no look for updates when JupyterLab opens: in a class they stand in the way."""
    folder = os.path.join(VENV, "share", "jupyter", "lab", "settings")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "overrides.json"), "w") as stream:
        settings = {"fetchNews": "false", "checkForUpdates": False}
        json.dump({"@jupyterlab/apputils-extension:notification": settings}, stream)


def run(command):
    """Run a command in the project's folder, passing on what it prints; returns its status and its error output."""
    options = {"stderr": subprocess.PIPE, "text": True, "errors": "replace"}
    process = subprocess.Popen(command, cwd=ROOT, close_fds=False, **options)  # it holds the lock, too
    said = []
    for line in process.stderr:
        said.append(line)
        if not line.startswith("WARNING: Location"):
            sys.stderr.write(line)
    return process.wait(), "".join(said)


def cause(said):
    """What pip's output comes to, in a sentence."""
    for pattern, sentence in CAUSES:
        if re.search(pattern, said):
            return sentence
    lines = [line for line in said.splitlines() if line.strip()]
    return "pip failed: " + (lines[-1].strip() if lines else "no reason given")


def lock():
    """Resolve the direct pins in a fresh environment and write down everything that came along."""
    folder = os.path.join(CACHE, "lock")
    python = build(folder, ["-r", "requirements.txt"])
    frozen = subprocess.check_output([python, *PIP, "freeze", "--all", "--exclude-editable"], cwd=ROOT, text=True)
    # A local build is named "2.13.0+cpu"; elsewhere the same release has another suffix or none.
    pins = [
        re.sub(r"\+\w+$", "", line) for line in frozen.splitlines() if "==" in line and not line.startswith("pip==")
    ]
    write("requirements.lock", "# Everything that requirements.txt brings along; written by `make lock`.", pins)
    head = "# The same pins for conda and Binder; written by `make lock`."
    direct = ["    - " + pin for pin in direct_pins()]
    python_and_pip = [
        "name: sentence-embeddings",
        "channels: [conda-forge]",
        "dependencies:",
        "  - python=3.11",
        "  - pip",
        "  - pip:",
    ]
    write("environment.yml", head, python_and_pip + direct + ["    - -e ."])
    shutil.rmtree(folder)


def clean():
    """Delete the environment, the cache and all figures that git does not keep, unless a run is at work."""
    for folder, _, names in os.walk(CACHE):
        for name in names:
            if name == "lock" or name.endswith(".lock"):
                refuse_held(os.path.join(folder, name))
    if shutil.which("git") is None:
        stop("git is not here, which knows what may be deleted: install it")
    return subprocess.call(["git", "clean", "-fdXq", "-e", "!data", "-e", "!data/**", "."], cwd=ROOT)


def refuse_held(path):
    """End `make` if another process holds this lock."""
    try:
        with open(path) as stream:
            held = is_held(stream)
    except OSError:  # it is gone, or not to be read
        return
    if held:
        stop("a run is at work ({}): wait until it ends, or stop it".format(path))


def direct_pins():
    """The lines of requirements.txt that pin a package."""
    with open(os.path.join(ROOT, "requirements.txt")) as stream:
        lines = [line.split("#")[0].strip() for line in stream]
    return [line for line in lines if line]


def write(name, head, lines):
    """Write lines, and one above them, to a file of the project."""
    with open(os.path.join(ROOT, name), "w") as stream:
        stream.write("\n".join([head, *lines]) + "\n")


def stop(sentence):
    """End `make` with a sentence."""
    sys.exit("make: " + sentence)


if __name__ == "__main__":
    sys.exit(main())
