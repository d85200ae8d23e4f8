"""Results as benches write them, small ones, for the tests of what reads them."""

from typing import Any

ORIGIN = {"clawdbot": "0.1.0", "vllm": "0.32.0", "device": "CPU, 2 cores", "started_at": "2026-11-30T17:30:43+00:00"}


def times(p50: float | None) -> dict[str, Any]:
    """Percentiles that grow from ``p50`` on; None is a time that never came."""
    grown = {name: None if p50 is None else p50 * by for name, by in (("p95", 2), ("p99", 3), ("max", 4))}
    return {"p50": p50, **grown, "n": 0 if p50 is None else 10}


def mixed(p50: float | None) -> dict[str, Any]:
    """The figures of mixed traffic."""
    maps = {"short_ttft": times(p50), "long_ttft": times(p50), "token_gap": times(p50)}
    return {**maps, "throughput_tok_s": 20.0, "work_tok_s": 160.0, "seconds": 24.0}


def delivered(p50: float | None, prefix: str = "") -> dict[str, Any]:
    """What one bot's readers saw."""
    figures = ("to_engine", "added_first_visible", "tax", "staleness", "freeze", "finish_lag")
    counts = ("calls", "refused", "lost", "duplicated", "ambiguous_sends")
    return {f"{prefix}{name}": times(p50) for name in figures} | {f"{prefix}{name}": 3 for name in counts}


def candidate(long: int) -> dict[str, Any]:
    """Engine settings."""
    sizes = {"max_num_batched_tokens": 128, "long_prefill_token_threshold": long}
    return {**sizes, "max_long_prefills": 1, "profile": "balanced"}


TTFT: dict[str, Any] = ORIGIN | {
    "rows": [
        {"model": model, "prompt_tokens": length, "mode": mode, "ttft": times(length / 10)}
        for model in ("small", "large")
        for mode in ("off", "on")
        for length in (100, 2000)
    ]
}
LOAD: dict[str, Any] = ORIGIN | {
    "options": {"model": "demo", "profile": "balanced"},
    "policies": {"off": mixed(300.0), "on": mixed(250.0), "first-token-first": mixed(90.0)},
    "trace": {"name": "cpu"},
}
TURNS: dict[str, Any] = ORIGIN | {
    "rows": [
        {
            "turn": turn,
            "prompt_tokens": 100 * turn,
            "cached_tokens": 90 * turn,
            "trimmed": turn == 12,
            "ttft": 3.0 * turn,
        }
        for turn in range(1, 16)
    ]
}
DELIVERY: dict[str, Any] = ORIGIN | {
    "platforms": {
        "discord": delivered(4.0) | delivered(2.0, "ideal_"),
        "telegram": delivered(5.0) | delivered(3.0, "ideal_"),
    }
}
OVERHEAD: dict[str, Any] = ORIGIN | {"raw_ttft": times(176.2), "bot_ttft": times(178.9), "pairs": 10}
REMOTE: dict[str, Any] = ORIGIN | {"local_ttft": times(176.2), "remote_ttft": times(181.5), "pairs": 10}
WARMTH: dict[str, Any] = ORIGIN | {
    "prompt_tokens": 2134,
    "kept_ttft": times(461.0),
    "cold_ttft": times(7354.0),
    "warmed_ttft": times(467.0),
    "reading": times(8729.0),
    "cached_tokens": {"kept": [2048], "cold": [0], "warmed": [2048]},
}
SCALE: dict[str, Any] = ORIGIN | {
    "conversations": 1000,
    "loop_lag": times(1.5),
    "added_first_visible": times(4.0),
    "cpu_share": 0.42,
    "rss_mib": 61.3,
    "answers": 1700,
    "wrong": 0,
}
STOP: dict[str, Any] = ORIGIN | {
    "press_to_abort": times(3.0),
    "moments": {"queued": times(2.0), "reading": times(4.0), "writing": times(3.0)},
    "text_after_stop": 0,
    "caught_up": 12,
    "leaked_blocks": 0,
}
TUNING: dict[str, Any] = ORIGIN | {
    "options": {"model": "demo", "profile": "balanced", "minutes": 5.0, "seed": 1},
    "reading_tok_s": 271.0,
    "measurements": [{"candidate": candidate(long), **mixed(10.0 * long)} for long in (64, 32)],
    "left_out": [{"candidate": candidate(0), "reason": "no time left"}],
}
ALL = {
    "ttft": TTFT,
    "load": LOAD,
    "turns": TURNS,
    "delivery": DELIVERY,
    "overhead": OVERHEAD,
    "remote": REMOTE,
    "warmth": WARMTH,
    "scale": SCALE,
    "stop": STOP,
    "tune": TUNING,
}
