"""What must hold whatever people do. Pure.

Who may what is written down here once more, in other words than the bot's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clawdbot.chat import Deleted, Edited, Message, Person, Pressed, State
from clawdbot.commands.commands import argument, called, number
from clawdbot.people.rooms import Groups, settled
from clawdbot.questions.wellformed import wellformed

from .look import Look, Row
from .moves import Delivery
from .people import ADA, ADMIN, BOB
from .stage import OPEN


@dataclass(frozen=True)
class Happened:
    """What somebody did, and what there was before and after that."""

    deliveries: Sequence[Delivery]
    before: Look
    after: Look
    groups: Groups
    quota: int
    """How much one person may ask in an hour; 0: without end."""
    hour: int
    """In which it happened, since the epoch."""
    crashed: bool
    """Whether the bot was killed in it and started again."""
    bystander: Delivery | None
    """A question of somebody else's, whose answer was being written meanwhile."""
    refused: dict[int, str]
    """Below which message each stranger had their refusal; grows by those of now."""

    def harm(self) -> Iterator[tuple[object, ...]]:
        """All that should not be."""
        if self.after.unfinished:
            yield "it is not over", self.after.unfinished
        if rows := list(self._foreign_rows()):
            yield "somebody else's conversation was changed", rows
        if ids := list(self._foreign_screens()):
            yield "somebody else's answer was changed", ids
        if self.bystander and not self._removed(self.bystander) and not self._is_served(self.bystander):
            yield "a bystander has no answer", self.bystander.reply.screen.frames
        # Of earlier hours another question may count by now: one that had failed was edited, and is answered.
        now = {person: count for (person, hour), count in self.after.asked.items() if hour == self.hour}
        if greedy := [person for person, count in now.items() if person != ADMIN and count > self.quota > 0]:
            yield "somebody had more than their share", greedy
        for one in self.deliveries:
            if isinstance(one.event, Message) and not one.again:
                yield from self._answered_otherwise(one, one.event)

    def _foreign_rows(self) -> Iterator[object]:
        before, after = self.before, self.after
        for key, row in after.replies.items():
            if before.replies.get(key) != row and row.message != self._own and not self._may_change(key, row):
                yield "reply", key, row
        spoken = {said.conversation.key for said in self._said()}
        # A new answer may cut its history, and so may one that is written anew.
        spoken |= {row.conversation for key, row in after.replies.items() if self._concerns(key, row)}
        admin = any(said.author.id == ADMIN for said in self._said())
        for table, rows in after.others.items():
            for name, other in rows.items():
                allowed = admin if table == "ruling" else other[0] in spoken
                if before.others[table].get(name) != other and not allowed:
                    yield table, name, other

    def _foreign_screens(self) -> Iterator[str]:
        mine = {one.reply.ref for one in self.deliveries if not one.again}
        mine |= {row.message for key, row in self.after.replies.items() if self._concerns(key, row)}
        for id, shown in self.after.screens.items():
            if id not in mine and shown != self.before.screens.get(id, ()):
                yield id

    @property
    def _own(self) -> str:
        return self.bystander.reply.ref if self.bystander else ""

    def _said(self) -> list[Message]:
        events = [settled(one.event, self.groups) for one in self.deliveries]
        return [event for event in events if isinstance(event, Message)]

    def _concerns(self, key: int, row: Row) -> bool:
        return row.message == self._own or self._may_change(key, row)

    def _may_change(self, key: int, row: Row) -> bool:
        return any(self._may(one, key, row) for one in self.deliveries)

    def _may(self, one: Delivery, key: int, row: Row) -> bool:
        """Whether a delivery may change the reply ``key``."""
        event = settled(one.event, self.groups)
        match event:
            case Deleted():
                return self._asks(event.message_id, key, row) and row.conversation.startswith(event.conversation.place)
            case Pressed():
                theirs = row.author == event.by.id or event.by.id == ADMIN
                return theirs and self.admitted(event.by, event) and key in self.before.posts.get(event.post, ())
            case Edited(message=said):
                theirs = row.author == said.author.id and self.admitted(said.author, said)
                return theirs and self._asks(said.id, key, row)
            case Message():
                goes_on = row.author == event.author.id and self._asks(event.continues, key, row)
                return not one.again and self.admitted(event.author, event) and (goes_on or _speaks_of(event, row))
            case _:
                return False

    def _asks(self, message: str, key: int, row: Row) -> bool:
        """Whether a message is the question of the reply ``key``, or a piece of it."""
        return row.message == message or key in self.after.pieces.get(message, ())

    def admitted(self, by: Person, event: Message | Pressed) -> bool:
        """Whether somebody may talk to the bot there."""
        if wellformed(event) is None:
            return False
        if by.id == ADMIN:
            return True
        ruling = self.before.others["ruling"].get(by.id, ("", ""))[1]
        if ruling == "denied":
            return False
        in_company = event.conversation.chat == OPEN and not event.conversation.private
        return by.id in (ADA, BOB) or ruling == "allowed" or in_company

    def _may_be_silent(self, said: Message) -> bool:
        """Whether nothing has to stand below a message that was let in.

        Who has had their share is told so once an hour. What is no question is not kept: a bot that is killed before
        it has said something about it says nothing any more.
        """
        kept = any(row.message == said.id for row in self.after.replies.values())
        return self._has_had_their_share(said.author.id) or (self.crashed and not kept)

    def _has_had_their_share(self, person: int) -> bool:
        return person != ADMIN and 0 < self.quota <= self.after.asked[person, self.hour]

    def _is_served(self, asked: Delivery) -> bool:
        """Whether the answer stands there as it was written to its end, or as far as it came before a crash."""
        frames = asked.reply.screen.frames
        whole = (State.FINAL, State.INTERRUPTED) if self.crashed else (State.FINAL,)
        return (bool(frames) and frames[-1].state in whole) or self._has_had_their_share(BOB)

    def _removed(self, bystander: Delivery) -> bool:
        removals = [one.event for one in self.deliveries if isinstance(one.event, Deleted)]
        return any(event.message_id == bystander.reply.ref for event in removals)

    def _answered_otherwise(self, one: Delivery, said: Message) -> Iterator[tuple[object, ...]]:
        """What is wrong below a message: it has one answer or notice, and a stranger's first one has a refusal."""
        count = len({call.key.rpartition("-")[0] for call in one.reply.made("send")})
        if not self.admitted(said.author, said):
            if count and self.refused.setdefault(said.author.id, said.id) != said.id:
                yield "a stranger was told more than one refusal", one.reply.screen.texts
        elif count > 1 or (len(self.deliveries) == 1 and count == 0 and not self._may_be_silent(said)):
            yield "it was answered otherwise than once", count, one.reply.screen.texts


def _speaks_of(event: Message, row: Row) -> bool:
    """Whether what somebody says is about that question."""
    if row.message == event.id:
        return True
    admin = event.author.id == ADMIN
    if called(event.text) == "deny" and admin:
        return row.author == number(argument(event.text))
    return row.conversation == event.conversation.key and (row.author == event.author.id or admin)
