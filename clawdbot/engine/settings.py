"""``[engine]`` and ``[models.NAME]``: which models answer, and where each of them runs."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from clawdbot.engine.remote.settings import RemoteSettings
from clawdbot.settings.section import Count, Section


def _model_name(name: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}", name):
        return name
    raise ValueError('a name is made of letters, digits, ".", "_" and "-", 32 at most, the first a letter or digit.')


ModelName = Annotated[str, AfterValidator(_model_name)]


class EngineSettings(Section):
    """One model. ``[engine]`` is the default one, ``[models.NAME]`` are others that people can choose with /model."""

    name: ModelName | None = None
    """What people call it; None is how the model itself is called. Of ``[models.NAME]`` it is always NAME."""
    about: str = ""
    """What people are told about it, in a few words."""
    kind: Literal["vllm", "remote"] = "vllm"
    """In the bot's own process tree, or on servers elsewhere: what is set for the other kind does not count."""
    model: str = "demo"
    """"demo", a folder, or a name on the Hugging Face hub."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    profile: Literal["balanced", "snappy", "throughput"] = "balanced"
    """What the engine's steps are cut for; `args` come before it."""
    concurrent: Count | None = None
    """Answers that it makes at the same time; None: as in ``[sessions]``."""
    max_long_prefills: Count = 1
    """Long prompts that the engine reads at the same time; the others wait."""
    start_timeout: float = Field(900.0, gt=0)
    """Seconds, a first download of the model included."""
    sleep_after: float = Field(0.0, ge=0)
    """Minutes without a question after which the engine gives its memory back until the next one; 0 is never."""
    system_prompt: str | None = None
    """None, here and below: as in ``[answers]``. A persona comes before all of them."""
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    max_tokens: Count | None = None
    args: Mapping[str, Any] = {}
    """Fields of vLLM's ``AsyncEngineArgs``; the engine checks them against the vLLM that is installed."""
    remote: RemoteSettings = RemoteSettings()

    @property
    def called(self) -> str:
        """What people call the model; of a folder the last part, since where it lies is nobody's business."""
        if self.name:
            return self.name
        model = (self.remote.model or "remote") if self.kind == "remote" else self.model
        return Path(model).name if model.startswith((".", "/", "~")) else model
