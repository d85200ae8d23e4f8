"""A Markdown page about results: for each file where it comes from, its picture and its table (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from urllib.parse import quote

from clawdbot.bench.records import (
    Delivered,
    Delivery,
    Kind,
    Load,
    Loaded,
    Overhead,
    Remote,
    Scale,
    Stop,
    Times,
    Ttft,
    Tuning,
    TurnRow,
    Turns,
    Warmth,
    figure,
)
from clawdbot.bench.report.panels import FIGURES
from clawdbot.bench.tune.candidates import GOALS, recommend, toml

MIXED = ("short p50", "p95", "p99", "long p50", "p95", "gap p99", "max", "answer tok/s", "with prompts")
"""The figures of mixed traffic."""
PERCENTILES = ("p50", "p95", "p99", "max", "n")
TURNS_A_ROW = 10
ROUND = str.maketrans("[]", "()")
"""For the words of a picture, which a square bracket would end."""

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Result:
    """One file and its picture."""

    name: str
    """What it is called on the page."""
    picture: str
    """The picture's file, beside the page."""
    found: Kind


def page(results: Sequence[Result]) -> str:
    """The whole page. Times are in milliseconds, unless a unit says otherwise."""
    return "\n".join(["# Results", "", "Times are in milliseconds.", *(_section(result) for result in results)])


def _section(result: Result) -> str:
    found = result.found
    command, columns, rows = _table(found)
    origin = (found.device, f"vLLM {found.vllm}" if found.vllm else "no vLLM", f"ClawdBot {found.clawdbot}")
    subject = [found.options.model] if isinstance(found, Load | Tuning) else []
    lines = [
        "",
        f"## {result.name}",
        "",
        f"`{command}`: {', '.join((*subject, *origin))}; {found.started_at}",
        "",
        f"![{result.name.translate(ROUND)}]({quote(result.picture)})",
        "",
        *_markdown(columns, rows),
    ]
    if isinstance(found, Tuning):
        best = recommend(found.measurements, GOALS[found.options.profile])
        lines += ["", f"Recommended for {found.options.profile}:", "", "```toml", toml(best.candidate).rstrip(), "```"]
        lines += ["", *(f"* Not measured: {one.candidate} ({one.reason})." for one in found.left_out)]
    return "\n".join([*lines, ""])


def _table(found: Kind) -> tuple[str, Sequence[str], Rows]:
    """The command that wrote it, columns, rows."""
    columns: Sequence[str]
    match found:
        case Ttft():
            columns = ("model", "mode", "prompt tokens", *PERCENTILES)
            lengths = [(row.model, row.mode, f"{row.prompt_tokens:,}", *_cells(row.ttft)) for row in found.rows]
            return "clawdbot bench ttft", columns, lengths
        case Load():
            policies = [(name, *_mixed(one)) for name, one in found.policies.items()]
            return "clawdbot bench load", ("policy", *MIXED), policies
        case Tuning():
            tried = [(str(one.candidate), *_mixed(one)) for one in found.measurements]
            return "clawdbot tune", ("tokens a step / for a long prompt", *MIXED), tried
        case Turns():
            columns = ("turns", "prompt tokens", "cached", "trims", "TTFT p50", "max")
            return "clawdbot bench turns", columns, _turns(found.rows)
        case Delivery():
            columns = ("platform", "figure", *PERCENTILES, "minimal bot p50", "p95")
            return "clawdbot bench delivery", columns, _delivery(found)
        case Overhead():
            sides = (("engine alone", found.raw_ttft), ("through the bot", found.bot_ttft))
            return "clawdbot bench overhead", ("", *PERCENTILES), [(name, *_cells(times)) for name, times in sides]
        case Remote():
            places = [(name, *_cells(times)) for name, times in found.sides.items()]
            return "clawdbot bench remote", ("", *PERCENTILES), places
        case Warmth():
            lines = [(name, *_cells(times)) for name, times in {**found.ways, "reading it": found.reading}.items()]
            columns = (f"a conversation of {found.prompt_tokens:,} tokens", *PERCENTILES)
            return "clawdbot bench warmth", columns, lines
        case Stop():
            columns = (f"{found.text_after_stop} texts after it, {found.leaked_blocks} blocks leaked", *PERCENTILES)
            lines = [(name, *_cells(times)) for name, times in {"all": found.press_to_abort, **found.moments}.items()]
            return "clawdbot bench stop", columns, lines
        case Scale():
            columns = (f"{found.conversations:,} conversations", *PERCENTILES)
            waits = [(name, *_cells(times)) for name, times in found.waits.items()]
            more = [("cores", figure(found.cpu_share), *[""] * 4), ("MiB", figure(found.rss_mib), *[""] * 4)]
            return "clawdbot bench scale", columns, [*waits, *more]


def _mixed(one: Loaded) -> tuple[str, ...]:
    short, long, gap = one.short_ttft, one.long_ttft, one.token_gap
    times = (short.p50, short.p95, short.p99, long.p50, long.p95, gap.p99, gap.max)
    return tuple(map(figure, (*times, one.throughput_tok_s, one.work_tok_s)))


def _turns(rows: Sequence[TurnRow]) -> Rows:
    """Ten turns in one row."""
    found = []
    for _, some in groupby(rows, key=lambda row: (row.turn - 1) // TURNS_A_ROW):
        ten = list(some)
        cached = sum(row.cached_tokens for row in ten) / sum(row.prompt_tokens for row in ten)
        times = [row.ttft for row in ten]
        shown = (figure(median(times)), figure(max(times)))
        sizes = f"{ten[0].prompt_tokens:,} to {ten[-1].prompt_tokens:,}"
        trims = ", ".join(str(row.turn) for row in ten if row.trimmed)
        found.append((f"{ten[0].turn} to {ten[-1].turn}", sizes, f"{cached:.0%}", trims, *shown))
    return found


def _delivery(found: Delivery) -> Rows:
    rows = []
    for name, platform in found.platforms.items():
        for key in FIGURES:
            own: Times = getattr(platform.bot, key)
            beside = ("-", "-")
            if platform.ideal is not None:
                ideal: Times = getattr(platform.ideal, key)
                beside = (figure(ideal.p50), figure(ideal.p95))
            rows.append((name, key.replace("_", " "), *_cells(own), *beside))
        rows.append((name, _counts(platform.bot), *[""] * 7))
    return rows


def _counts(bot: Delivered) -> str:
    counts = ("calls", "refused", "lost", "duplicated", "ambiguous_sends")
    return ", ".join(f"{getattr(bot, name)} {name.replace('_', ' ')}" for name in counts)


def _cells(times: Times) -> tuple[str, ...]:
    return (*map(figure, (times.p50, times.p95, times.p99, times.max)), f"{times.n}")


def _markdown(columns: Sequence[str], rows: Rows) -> list[str]:
    lines = [columns, ["---", *["--:"] * (len(columns) - 1)], *rows]
    return [f"| {' | '.join(line)} |" for line in lines]
