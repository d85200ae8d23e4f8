"""The model: is it here, can it be had, how large is it."""

import json
from collections.abc import Mapping
from pathlib import Path

import httpx

from clawdbot.engine import models
from clawdbot.errors import EngineUnavailable
from clawdbot.ops.doctor.finding import Finding, fail, ok, warn

HUB = "https://huggingface.co"
PATIENCE = 5.0
"""Seconds for a connection, and for an answer."""
WEIGHTS = ("*.safetensors", "*.bin", "*.gguf", "*.pt")
"""Patterns of the files that hold weights, the ones that are taken first."""
CHOOSE = 'Set [{}] model to a Hugging Face name such as "Qwen/Qwen2-7B-Instruct", to a folder, or to "demo".'


def folder_of(name: str, environ: Mapping[str, str]) -> Path | None:
    """Where the files of the model ``name`` are; None when they are not on this machine."""
    if name == models.DEMO:
        found = models.demo_folder()
        return found if models.whole(found) else None
    if (folder := Path(name).expanduser()).is_dir():
        return folder
    snapshots = _hub_cache(environ) / f"models--{name.replace('/', '--')}" / "snapshots"
    whole = [path.parent for path in snapshots.glob("*/config.json")]
    return max(whole, key=lambda path: path.stat().st_mtime, default=None)


def weights_of(folder: Path) -> int:
    """Bytes of the files that hold weights."""
    for pattern in WEIGHTS:
        if sizes := [path.stat().st_size for path in folder.glob(pattern)]:
            return sum(sizes)
    return 0


def dtype_of(folder: Path) -> str:
    """The type of the numbers in its weights; "" when its files do not say."""
    try:
        told = json.loads((folder / "config.json").read_bytes())
        return str(told.get("dtype") or told.get("torch_dtype") or "")
    except (OSError, ValueError, AttributeError):
        return ""


async def model(about: str, name: str, environ: Mapping[str, str], online: bool, table: str = "engine") -> Finding:
    """Whether the model ``name``, for which a ``table`` of the settings asks, is here and whole, or can be had."""
    try:
        if name != models.DEMO:
            models.resolve(name)
    except EngineUnavailable as error:
        return fail(about, error.reason, error.remedy)
    folder = folder_of(name, environ)
    if folder is not None:
        return _whole(about, name, folder)
    if name == models.DEMO:
        return warn(about, "The demo model is not here yet.", "The first start makes it, or: clawdbot model fetch")
    if not online or environ.get("HF_HUB_OFFLINE", "0") not in ("", "0"):
        return warn(about, f"{name} is not in the cache.", "The first start has to load it from the hub.")
    return await _on_the_hub(about, name, environ, table)


def _whole(about: str, name: str, folder: Path) -> Finding:
    try:
        json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError):
        return fail(about, f"{folder}: its config.json cannot be read.", "Bring the model's files anew.")
    size = weights_of(folder)
    if not size:
        return fail(about, f"{folder} holds no weights.", f"Bring them ({', '.join(WEIGHTS[:2])}).")
    if not any((folder / file).is_file() for file in ("tokenizer.json", "tokenizer.model", "vocab.json")):
        return fail(about, f"{folder} holds no tokenizer.", "Bring the model's tokenizer.json.")
    return ok(about, f"{name} is in {folder} ({size / 1e9:.1f} GB of weights).")


async def _on_the_hub(about: str, name: str, environ: Mapping[str, str], table: str) -> Finding:
    hub = environ.get("HF_ENDPOINT", HUB).rstrip("/")
    token = environ.get("HF_TOKEN", "")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        async with httpx.AsyncClient(timeout=PATIENCE, headers=headers) as client:
            status = (await client.head(f"{hub}/{name}/resolve/main/config.json")).status_code
    except httpx.TimeoutException:
        return warn(about, f"{name} is not in the cache, and {hub} does not answer.", "Is there a proxy to be set?")
    except httpx.HTTPError:
        return warn(about, f"{name} is not in the cache, and {hub} cannot be reached.", "Is there a network?")
    if status in (401, 403):
        return fail(about, f"{hub} does not give {name} to everybody.", "Put a token that may load it into HF_TOKEN.")
    if status == 404:
        return fail(about, f"{hub} knows no {name}.", CHOOSE.format(table))
    if status >= 400:
        return warn(about, f"{hub} is out of order ({status}).", "The first start has to load the model from it.")
    return ok(about, f"{name} is not here yet; {hub} has it. Set [{table}] start_timeout for its first download.")


def _hub_cache(environ: Mapping[str, str]) -> Path:
    """As the hub's own library finds it."""
    if named := environ.get("HF_HUB_CACHE"):
        return Path(named)
    cache = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(environ.get("HF_HOME") or cache / "huggingface") / "hub"
