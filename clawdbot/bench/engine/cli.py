"""The commands of ``clawdbot bench`` that measure one engine: ``turns``, ``warmth``, ``overhead`` and ``stop``."""

from typing import Annotated

import typer

from clawdbot.bench import output
from clawdbot.bench.engine import overhead as comparing
from clawdbot.bench.engine import stop as stopping
from clawdbot.bench.engine import turns as talking
from clawdbot.bench.engine import warmth as warming
from clawdbot.bench.engine.stop_scene import MOMENTS
from clawdbot.bench.engine.subject import Subject, of_one_engine
from clawdbot.bench.options import SeedOption
from clawdbot.bench.output import milliseconds
from clawdbot.clock import SystemClock
from clawdbot.engine.protocol import EngineInfo
from clawdbot.engine.vllm import VllmEngine
from clawdbot.ops.kv_cache import share_in_use
from clawdbot.prompts.prompt import Room, room
from clawdbot.settings.config import AnswerSettings


@of_one_engine
def turns(
    on: Subject,
    count: Annotated[int, typer.Option("--turns", min=1, help="How many questions are asked.")] = 60,
    answer: Annotated[int, typer.Option(min=1, help="Tokens of each answer.")] = 64,
    seed: SeedOption = 1,
) -> None:
    """One long conversation: what its turns wait for, and how much the prefix cache spares them."""

    async def converse(engine: VllmEngine) -> list[talking.Row]:
        system, within = _prompts(engine.info)
        return await talking.converse(
            engine, SystemClock(), system=system, within=within, turns=count, answer=answer, seed=seed
        )

    rows, info = on.run(converse)
    share, slower = talking.cached_share(rows), talking.slowing(rows)
    figures = {"cached_share": round(share, 4), "late_by_early": None if slower is None else round(slower, 4)}
    on.write(info.device, {"answer": answer, "seed": seed}, {**figures, "rows": [row.to_map() for row in rows]})
    sizes = [
        (str(row.turn), f"{row.prompt_tokens:,}", f"{row.cached_tokens:,}", milliseconds(row.ttft)) for row in rows
    ]
    marked = [(*cells, "trimmed" if row.trimmed else "") for cells, row in zip(sizes, rows, strict=True)]
    title = f"{share:.0%} of all prompt tokens cached"
    if slower is not None:
        title += f"; turns 41 to 60 take {slower:.2f} times as long as turns 3 to 10"
    output.show(title, ("turn", "prompt tokens", "cached", "TTFT ms", ""), marked)


@of_one_engine
def warmth(
    on: Subject,
    count: Annotated[int, typer.Option("--turns", min=1, help="How long the conversation is.")] = 15,
    rounds: Annotated[int, typer.Option(min=1, help="Questions asked each way.")] = 5,
    seed: SeedOption = 1,
) -> None:
    """The next question of a conversation: kept in the prefix cache, forgotten, and read ahead while somebody types."""

    async def ask(engine: VllmEngine) -> warming.Warmth:
        talk = warming.Talk(engine, SystemClock(), *_prompts(engine.info), warming.history_of(count, seed))
        return await warming.measure(talk, rounds)

    found, info = on.run(ask)
    on.write(info.device, {"turns": count, "rounds": rounds, "seed": seed}, found.to_map())
    measured = [*((f"{way}: first token", found.ttft[way]) for way in warming.WAYS), ("reading ahead", found.reading)]
    rows = [(name, *map(milliseconds, (one.p50, one.p95, one.max))) for name, one in measured]
    title = f"A conversation of {found.tokens:,} tokens, {rounds} questions each way"
    output.show(title, ("ms", "p50", "p95", "max"), rows)


@of_one_engine
def overhead(
    on: Subject,
    pairs: Annotated[int, typer.Option(min=1, help="Questions asked each way, in turns.")] = 100,
) -> None:
    """The first word through the whole bot against the engine called directly."""
    found, info = on.run(lambda engine: comparing.compare(engine, SystemClock(), pairs))
    on.write(info.device, {}, found.to_map())
    rows = [
        (name, *map(milliseconds, (one.p50, one.p95, one.p99, one.max)))
        for name, one in (("engine alone", found.raw), ("through the bot", found.bot), ("added", found.added))
    ]
    share = found.bot.p50 / found.raw.p50 - 1
    title = f"{pairs} pairs: the bot's median is {share:+.1%} against the engine's own"
    output.show(title, ("ms", "p50", "p95", "p99", "max"), rows)


@of_one_engine
def stop(
    on: Subject,
    stops: Annotated[int, typer.Option(min=1, help="Answers that are stopped.")] = 60,
    chats: Annotated[int, typer.Option(min=1, help="Chats that stream beside them.")] = 4,
    seed: SeedOption = 1,
) -> None:
    """Stop answers under load, in line, while their prompt is read, while they are written."""

    async def interrupt(engine: VllmEngine) -> stopping.Stops:
        blocks = engine.info.cache_tokens // engine.info.cache_block
        return await stopping.measure(
            engine, SystemClock(), used=lambda: round(blocks * share_in_use()), stops=stops, chats=chats, seed=seed
        )

    found, info = on.run(interrupt)
    on.write(info.device, {"stops": stops, "chats": chats, "seed": seed}, found.to_map())
    measured = [("all", found.times(*MOMENTS)), *((one, found.times(one)) for one in MOMENTS)]
    rows = [(name, f"{one.n}", *map(milliseconds, (one.p50, one.p95, one.p99, one.max))) for name, one in measured]
    after, leaked = sum(one.after for one in found.stops), found.leaked_blocks
    title = f"From press to abort beside {chats} chats; {after} times text after it, {leaked} blocks leaked"
    output.show(title, ("ms", "n", "p50", "p95", "p99", "max"), rows)


def _prompts(info: EngineInfo) -> tuple[str, Room]:
    """The system prompt and the room for a conversation that the bot has when nothing is configured."""
    answers = AnswerSettings()
    return answers.system_prompt, room(info.context, answers.max_tokens, answers.history_share)
