"""What the engine benches measure: one engine, chosen by the same options in each of their commands."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
import uvloop

from clawdbot.bench import output
from clawdbot.bench.engine import opening
from clawdbot.bench.engine.policies import Policy
from clawdbot.bench.engine.shapes import ShapeName
from clawdbot.bench.options import JsonOption
from clawdbot.engine.arguments import Profile
from clawdbot.engine.protocol import EngineInfo
from clawdbot.engine.vllm import VllmEngine

T = TypeVar("T")

ModelOption = Annotated[str, typer.Option(help='"demo", a folder, or a Hugging Face name.')]
ShapeOption = Annotated[ShapeName | None, typer.Option(help="A size without weights, instead of a model.")]
ProfileOption = Annotated[Profile, typer.Option(help="What first-token-first cuts its steps for.")]


@dataclass(frozen=True, slots=True)
class Subject:
    """One engine that is started as the bot starts it, and the file for what is found."""

    model: str | ShapeName
    profile: Profile
    json: Path | None
    """Where figures are written; None: nowhere."""
    started_at: datetime

    def run(self, measure: Callable[[VllmEngine], Awaitable[T]]) -> tuple[T, EngineInfo]:
        """What ``measure`` finds of the engine, which is open for as long. Raises `EngineUnavailable`."""

        async def opened() -> tuple[T, EngineInfo]:
            machine = opening.this_machine()
            async with opening.opened(self.model, Policy.FIRST_TOKEN_FIRST, machine, self.profile) as engine:
                return await measure(engine), engine.info

        return run(opened())

    def write(self, device: str, options: Mapping[str, object], found: Mapping[str, object]) -> None:
        """Write what was asked for beside the model and what was ``found``, if a file is wanted."""
        if self.json is not None:
            asked = {"model": self.model, "profile": self.profile, **options}
            output.write(self.json, {**output.origin(self.started_at, device), "options": asked, **found})


def of_one_engine(measure: Callable[..., None]) -> Callable[..., None]:
    """A command that measures one engine.

    It has the options of ``measure`` behind its `Subject`, and those that make the latter.
    """

    def command(
        *,
        model: ModelOption = "demo",
        shape: ShapeOption = None,
        profile: ProfileOption = "balanced",
        json: JsonOption = None,
        **own: Any,
    ) -> None:
        measure(Subject(shape or model, profile, json, datetime.now(UTC)), **own)

    _, *own = signature(measure).parameters.values()
    *shared, _ = signature(command).parameters.values()
    options = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in (*own, *shared)]
    # The command line is read off the signature, so both lists of options stand in it.
    command.__signature__ = Signature(options)  # type: ignore[attr-defined]
    return update_wrapper(command, measure)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` in a loop of its own, as each engine needs it: it belongs to the one that it was made in."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)
