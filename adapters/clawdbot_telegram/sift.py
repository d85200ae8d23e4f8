"""The updates of a poll that the library cannot read are taken out before it sees them.

It reads the updates of a poll together: one that it cannot read costs all beside it, and since none is confirmed, the
same ones come again for ever.
"""

import json
import logging
from typing import Any

from telegram import Update
from telegram.error import NetworkError

logger = logging.getLogger(__name__)

UNREADABLE = (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError)
"""What the library raises over a field that is missing, null, of another type or out of range."""


def sifted(body: bytes) -> bytes:
    """The answer of a poll with each unreadable update replaced by an empty one of its number, which is confirmed.

    Each is told in the log, with its number and the names of its fields, not what people wrote. Raises `NetworkError`
    when the answer is no list of updates at all; the library then asks again, later each time.
    """
    updates = _updates(body)
    readable = [found for update in updates if (found := _readable(update)) is not None]
    if readable == updates:
        return body
    if not readable:
        raise NetworkError("a poll brought nothing that could be confirmed")
    return json.dumps({"ok": True, "result": readable}).encode()


def _updates(body: bytes) -> list[Any]:
    try:
        updates = json.loads(body)["result"]
    except (LookupError, TypeError, ValueError):
        updates = None
    if not isinstance(updates, list):
        raise NetworkError("the answer to a poll is no list of updates")
    return updates


def _readable(update: Any) -> dict[str, Any] | None:
    """``update`` if the library can read it, else only its number; None when it has none."""
    if not isinstance(update, dict) or type(update.get("update_id")) is not int:
        logger.error("Telegram: something without a number came in place of an update and is passed over")
        return None
    try:
        Update.de_json(update, None)
    except UNREADABLE as error:
        number, kinds = update["update_id"], ", ".join(sorted(update.keys() - {"update_id"}))
        fault = type(error).__name__  # its text may hold what people wrote
        logger.error("Telegram: update %d (%s) is malformed and passed over: %s", number, kinds, fault)  # noqa: TRY400
        return {"update_id": number}
    return update
