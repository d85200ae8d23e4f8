"""Several models in one configuration: what their tables may not say together, and the key of each. Pure."""

import re
from collections.abc import Iterator, Mapping

from clawdbot.engine.remote.settings import KEY, with_key
from clawdbot.engine.settings import EngineSettings
from clawdbot.errors import ConfigError

SHARE = "gpu_memory_utilization"


def table_of(name: str) -> str:
    """The table of a further model, as errors name it."""
    return f"models.{name}"


def key_variable(name: str) -> str:
    """The environment variable with the key that the servers of a further model ask for."""
    return f"CLAWDBOT_MODEL_{_plain(name)}_API_KEY"


def completed(
    engine: EngineSettings,
    models: Mapping[str, EngineSettings],
    environ: Mapping[str, str],
    source: str,
    *,
    named: bool,
) -> tuple[EngineSettings, dict[str, EngineSettings]]:
    """The default model and the further ones as the file ``source`` describes them, with names and keys.

    ``named``: whether the file has ``[engine]`` at all. Raises `ConfigError` for what does not fit together.
    """
    tables = {"engine": engine, **{table_of(name): model for name, model in models.items()}}
    faults = [*_faults(tables, named=named), *_alike(engine, models), *_crowded(tables)]
    if faults:
        raise ConfigError(source, *faults)
    keyed = {
        name: model.model_copy(
            update={
                "name": name,
                "remote": with_key(model.remote, environ, source, at=table_of(name), variable=key_variable(name)),
            }
        )
        for name, model in models.items()
    }
    remote = with_key(engine.remote, environ, source, at="engine", variable=KEY)
    return engine.model_copy(update={"remote": remote}), keyed


def _faults(tables: Mapping[str, EngineSettings], *, named: bool) -> Iterator[str]:
    if len(tables) > 1 and not named:
        first = next(table for table in tables if table != "engine")
        yield (
            f"engine is missing: it is the model that answers where nobody has chosen one of [models]. Write [engine] "
            f'instead of [{first}], with name = "{first.partition(".")[2]}".'
        )
    for table, settings in tables.items():
        if settings.kind == "remote" and not settings.remote.endpoints:
            yield f'{table}.remote.endpoints is missing: {table}.kind = "remote" needs one or more.'
        if settings.name and table != "engine":
            yield f'{table}.name = "{settings.name}": people call it by the name of its table; leave this out.'


def _alike(engine: EngineSettings, models: Mapping[str, EngineSettings]) -> Iterator[str]:
    """Names that nobody could tell apart: /model does not heed capitals, and variables know no punctuation."""
    known = {_plain(engine.called): "[engine]"}
    for name in models:
        if (other := known.setdefault(_plain(name), f"[{table_of(name)}]")) != f"[{table_of(name)}]":
            yield f"{table_of(name)}: {other} is called nearly the same; give one of them another name."


def _crowded(tables: Mapping[str, EngineSettings]) -> Iterator[str]:
    """Engines of this bot run on the same GPU: vLLM takes a share of its memory for each, and never gives way."""
    local = {table: one for table, one in tables.items() if one.kind == "vllm" and one.device != "cpu"}
    if len(local) < 2:
        return
    shares = {table: one.args.get(SHARE) for table, one in local.items()}
    for table in [table for table, share in shares.items() if share is None]:
        yield (
            f"{table}.args.{SHARE} is missing: {' and '.join(local)} run on the same GPU, and each takes most of its "
            f'memory unless this says how much, such as 0.45. Where there is no GPU, set {table}.device = "cpu".'
        )
    together = sum(share for share in shares.values() if isinstance(share, int | float))
    if round(together, 6) > 1.0:  # tenths are a little more or less as the machine counts
        told = ", ".join(f"{table}.args.{SHARE} = {share}" for table, share in shares.items())
        yield f"{told}: they run on the same GPU, so together they may take 1 at most. Lower one of them."


def _plain(name: str) -> str:
    return re.sub(r"[^A-Z0-9]", "_", name.upper())
