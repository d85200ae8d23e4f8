"""How answers are made: what every prompt begins with, and how tokens are chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from clawdbot.attached import Attachment
from clawdbot.commands.choices import Choice
from clawdbot.engine.protocol import Engine, Sampling
from clawdbot.errors import PromptTooLong
from clawdbot.prompts.prompt import Prompt, compose, room
from clawdbot.questions.reading import sizes
from clawdbot.store import Turn


@dataclass(frozen=True, slots=True)
class Style:
    """How answers are made."""

    system_prompt: str
    sampling: Sampling
    history_share: float
    """The part of the prompt's room that earlier turns may fill, 0 to 1."""
    most_messages: int
    """An answer that needs more messages is completed as a file."""
    footer: bool = False
    """Whether a line about its latency stands below a final answer."""

    def sampling_after(self, written: int) -> Sampling:
        """How to choose the tokens that follow on ``written`` ones of the same answer."""
        return replace(self.sampling, max_tokens=max(1, self.sampling.max_tokens - written))

    async def compose(
        self,
        engine: Engine,
        history: Sequence[Turn],
        question: str,
        files: Sequence[Attachment] = (),
        images: int = 0,
    ) -> Prompt:
        """The prompt for ``engine`` that asks ``question``, with so many ``images``, after ``history``.

        ``files`` are those whose text the question holds.

        Raises `PromptTooLong`, where files alone are too long before all of it is tokenized in one go.
        """
        within = room(engine.info.context, self.sampling.max_tokens, self.history_share)
        parts = await sizes(engine.tokenizer, files)
        if (tokens := sum(size for _, size in parts)) > within.prompt:
            raise PromptTooLong(tokens, within.prompt, parts)
        try:
            return await compose(engine.tokenizer, self.system_prompt, history, question, within, images)
        except PromptTooLong as error:
            raise PromptTooLong(error.tokens, error.limit, parts) from error


ByPersona = Mapping[str, Style]
"""Styles by the names of personas, the default first."""


class Styles:
    """The style of each answer, by the persona that its conversation has and the model that makes it."""

    def __init__(self, personas: Choice, styles: Mapping[str, ByPersona]) -> None:
        """``styles``: by the names of models, the default first."""
        self.personas = personas
        self._styles = styles

    def adopt(self, personas: Mapping[str, str], styles: Mapping[str, ByPersona]) -> None:
        """From now on there are these ``personas``, with what is said about each, and answers have these ``styles``."""
        self.personas.options = personas
        self._styles = styles

    @property
    def default(self) -> Style:
        """That of whoever has chosen nothing."""
        return self.usual(next(iter(self._styles)))

    def usual(self, model: str) -> Style:
        """How a model answers where nobody has chosen a persona."""
        return next(iter(self._styles[model].values()))

    def of(self, conversation: str, model: str) -> Style:
        """How a model answers in ``conversation`` (a `Conversation.key`)."""
        return self._styles[model][self.personas.of(conversation)]
