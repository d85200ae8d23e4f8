"""What the bot says about itself, as a value."""

from dataclasses import dataclass

from clawdbot.chat import File


@dataclass(frozen=True, slots=True)
class Said:
    """What a command, a refusal or a notice says."""

    text: str
    files: tuple[File, ...] = ()
    private: bool = False
