"""How a call of the Bot API and its refusal look on the wire."""

import json
import math
from collections.abc import Mapping
from typing import Any

from clawdbot.chat import File

Json = dict[str, Any]
"""An object of the Bot API as it goes over the wire."""


class Refusal(Exception):
    """A call that Telegram refuses: HTTP status, sentence, and with 429 the whole seconds to wait.

    ``moved_to``: the number of the supergroup that the chat has become.
    """

    def __init__(self, code: int, description: str, retry_after: int = 0, moved_to: int = 0) -> None:
        self.code = code
        self.description = description
        self.parameters = {"retry_after": retry_after, "migrate_to_chat_id": moved_to}
        super().__init__(description)

    def json(self) -> Json:
        """The body of the answer."""
        body: Json = {"ok": False, "error_code": self.code, "description": self.description}
        parameters = {name: value for name, value in self.parameters.items() if value}
        return body | ({"parameters": parameters} if parameters else {})


def bad(description: str) -> Refusal:
    """A refusal because of the call's content."""
    return Refusal(400, f"Bad Request: {description}")


def too_many(seconds: float) -> Refusal:
    """A refusal because of too many calls; the wait is rounded up to whole seconds."""
    wait = max(1, math.ceil(seconds))
    return Refusal(429, f"Too Many Requests: retry after {wait}", wait)


class Fields:
    """The parameters of one call: all are text on the wire, nested ones JSON; uploads come apart.

    ``uploads`` goes from the name of a part to the file in it. Its methods raise `Refusal`.
    """

    def __init__(self, values: Mapping[str, str], uploads: Mapping[str, File]) -> None:
        self._values = values
        self._uploads = uploads

    def text(self, name: str) -> str:
        """A text; empty when missing."""
        return self._values.get(name, "")

    def number(self, name: str, default: int = 0) -> int:
        """A whole number."""
        raw = self._values.get(name)
        try:
            return int(raw) if raw else default
        except ValueError:
            raise bad(f'invalid parameter "{name}" specified') from None

    def flag(self, name: str) -> bool:
        """A truth value; false when missing."""
        return self._values.get(name, "").lower() in ("true", "1")

    def nested(self, name: str) -> Any:
        """An object or array; None when missing."""
        raw = self._values.get(name)
        try:
            return json.loads(raw) if raw else None
        except ValueError:
            raise bad(f"can't parse {name} JSON object") from None

    def upload(self, name: str) -> File:
        """An uploaded file."""
        part = self._values.get(name, "").removeprefix("attach://") or name
        if part not in self._uploads:
            raise bad(f"there is no {name} in the request")
        return self._uploads[part]
