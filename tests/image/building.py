"""The images, built as they stand in the Dockerfile by a builder that needs no service running."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from .stages import argument, needed

ROOT = Path(__file__).parents[2]
MADE = "localhost/python"
"""What stands for the official image of Python: no registry is asked here. It is Debian with its own Python."""


def _lacking() -> str:
    """What this machine lacks for building and running an image; "" when it lacks nothing."""
    if os.geteuid() != 0 or not (shutil.which("buildah") and shutil.which("debootstrap")):
        return 'images are built by root, with the Debian packages "buildah" and "debootstrap"'
    # Root in a container may not be allowed what makes another one.
    apart = ["unshare", "--mount", "--pid", "--fork", "--ipc", "--uts", "mount", "--make-rprivate", "/"]
    tried = subprocess.run(apart, capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else f"this machine lets nobody mount anything: {tried.stderr.strip()}"


needs_builder = pytest.mark.skipif(bool(lacking := _lacking()), reason=lacking)


@dataclass(frozen=True, slots=True)
class Image:
    """One that was built."""

    root: Path
    """Its files."""
    user: str
    environment: Mapping[str, str]
    entrypoint: tuple[str, ...]
    healthcheck: tuple[str, ...]


class Builder:
    """Keeps what it builds in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = os.environ | {"TMPDIR": str(folder)}
        self._dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("FROM python:", f"FROM {MADE}:")

    def make_base(self) -> None:
        """Make the image that the Dockerfile begins with."""
        tag = argument(self._dockerfile, "PYTHON")
        release, root = tag.rpartition("-")[2], self._folder / "base"
        made = ["debootstrap", "--variant=minbase", "--include=python3-venv,ca-certificates", release, str(root)]
        archive = subprocess.run(made, capture_output=True, text=True, check=False)
        if archive.returncode != 0:
            pytest.skip(f"Debian's archive gave no base: {archive.stdout[-300:]}")
        (root / "usr/bin/python").symlink_to("python3")
        container = self._run("from", "scratch")
        self._run("copy", "--quiet", container, str(root), "/")
        self._run("config", "--env", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", container)
        self._run("commit", "--quiet", "--rm", container, f"{MADE}:{tag}")
        shutil.rmtree(root)

    def build(self, target: str) -> Image:
        """Build ``target`` of the Dockerfile."""
        file = self._folder / f"Dockerfile.{target}"
        file.write_text(needed(self._dockerfile, target), encoding="utf-8")
        # The format of Docker: the other one knows no SHELL and no HEALTHCHECK.
        options = ["--format=docker", "--pull-never", "--isolation=chroot", "--network=host", *_reaching()]
        ignored = f"--ignorefile={ROOT / '.dockerignore'}"
        self._run("build", "--quiet", *options, ignored, f"--file={file}", f"--tag={target}", str(ROOT))
        container = self._run("from", "--pull-never", f"localhost/{target}")
        config = json.loads(self._run("inspect", "--type=image", f"localhost/{target}"))["Docker"]["config"]
        return Image(
            Path(self._run("mount", container)),
            config["User"],
            dict(one.split("=", 1) for one in config["Env"]),
            tuple(config["Entrypoint"]),
            tuple(config["Healthcheck"]["Test"]),
        )

    def clear(self) -> None:
        """Let go of everything."""
        self._run("umount", "--all")
        self._run("rm", "--all")

    def _run(self, *arguments: str) -> str:
        own = [f"--root={self._folder / 'storage'}", f"--runroot={self._folder / 'state'}"]
        return said("buildah", *own, *arguments, environment=self._environment)


@contextmanager
def builder() -> Iterator[Builder]:
    """One with the first image; nothing of it is left after the block."""
    # Not pytest's own folder: that keeps three runs, and this is gigabytes.
    with TemporaryDirectory(prefix="clawdbot-images-") as folder:
        building = Builder(Path(folder))
        building.make_base()
        try:
            yield building
        finally:
            building.clear()


def said(*command: str, environment: Mapping[str, str] | None = None) -> str:
    """What a command prints; an AssertionError with all it said when it fails."""
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{command}\n{ended.stdout[-5000:]}\n{ended.stderr[-5000:]}"
    return ended.stdout.strip()


def _reaching() -> Iterator[str]:
    """Options with which a build reaches packages as this machine does: its settings, its authorities, its folders."""
    named = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_CERT_"))}
    yield from (f"--env={name}={value}" for name, value in named.items())
    usual = ("/etc/pip.conf", "/etc/ssl/certs", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates")
    paths = {path for value in (*usual, *named.values()) for path in value.split() if path.startswith("/")}
    folders = [path for path in sorted(paths) if Path(path).exists()]
    # What lies in a folder that is there already needs no mention.
    within = [path for path in folders if any(path.startswith(f"{other}/") for other in folders)]
    yield from (f"--volume={path}:{path}:ro" for path in folders if path not in within)
