"""A Dockerfile as far as one of its targets needs it: an old builder would make all that stand before it, too. Pure."""

import re
from collections.abc import Iterator

FROM = re.compile(r"FROM (?P<source>\S+) AS (?P<name>\S+)")


def needed(text: str, target: str) -> str:
    """``text`` with the stages alone that ``target`` is made from."""
    head, *written = re.split(r"(?m)^(?=FROM )", text)
    stages = {_from(stage)["name"]: stage for stage in written}
    wanted = {target, *_sources(stages, target)}
    return head + "".join(stage for name, stage in stages.items() if name in wanted)


def argument(text: str, name: str) -> str:
    """What the build argument ``name`` is by default."""
    (found,) = re.findall(rf"(?m)^ARG {name}=(\S+)$", text)
    return str(found)


def _sources(stages: dict[str, str], target: str) -> Iterator[str]:
    stage = stages[target]
    for name in (_from(stage)["source"], *re.findall(r"--from=(\S+)", stage)):
        if name in stages:
            yield name
            yield from _sources(stages, name)


def _from(stage: str) -> re.Match[str]:
    found = FROM.match(stage)
    assert found is not None, stage
    return found
