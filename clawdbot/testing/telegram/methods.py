"""The methods of the Bot API that the simulator knows."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from typing import Any

from clawdbot.testing.telegram.rules import Allowance, keyboard, written
from clawdbot.testing.telegram.updates import Updates
from clawdbot.testing.telegram.wire import Fields, Json, Refusal, bad
from clawdbot.testing.telegram.world import Chat, Draft, Look, Shown, World

NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same as a current "
    "content and reply markup of the message"
)
SPENDING = frozenset(
    {
        "sendMessage",
        "sendPhoto",
        "sendDocument",
        "sendChatAction",
        "editMessageText",
        "editMessageCaption",
        "editMessageReplyMarkup",
    }
)
"""The methods that spend the budget of their chat."""

Method = Callable[[Fields], Awaitable[Any]]


class Methods:
    """Each method takes the fields of a call and returns its result. Raises `Refusal`."""

    def __init__(
        self, world: World, updates: Updates, allowance: Allowance, *, privacy: bool, lacks: Collection[str]
    ) -> None:
        self._world = world
        self._updates = updates
        self._allowance = allowance
        self._privacy = privacy
        self.queries: set[str] = set()
        """Ids of presses that were not answered yet."""
        self.menus: dict[str, list[Json]] = {}
        """Scope of a command menu to its commands."""
        known = (
            self.get_me,
            self.get_updates,
            self.delete_webhook,
            self.set_my_commands,
            self.get_my_commands,
            self.send_message,
            self.send_photo,
            self.send_document,
            self.send_chat_action,
            self.send_message_draft,
            self.edit_message_text,
            self.edit_message_caption,
            self.edit_message_reply_markup,
            self.delete_message,
            self.answer_callback_query,
            self.get_file,
        )
        missing = {name.lower() for name in lacks}
        named = ((method.__name__.replace("_", ""), method) for method in known)
        self._known: dict[str, Method] = {name: method for name, method in named if name not in missing}

    def find(self, name: str) -> Method | None:
        """The method called ``name``, in any case, or None."""
        return self._known.get(name.lower())

    async def get_me(self, fields: Fields) -> Json:
        """Who the bot is."""
        return self._world.bot.json() | {"can_join_groups": True, "can_read_all_group_messages": not self._privacy}

    async def get_updates(self, fields: Fields) -> list[Json]:
        """The long poll."""
        kinds = fields.nested("allowed_updates")
        if kinds is not None:
            self._updates.allow(kinds)
        return await self._updates.poll(fields.number("offset"), fields.number("limit"), fields.number("timeout"))

    async def delete_webhook(self, fields: Fields) -> bool:
        """There is never a webhook here, but waiting updates can be dropped."""
        if fields.flag("drop_pending_updates"):
            self._updates.clear()
        return True

    async def set_my_commands(self, fields: Fields) -> bool:
        """The menu of commands of one scope."""
        self.menus[_scope(fields)] = fields.nested("commands") or []
        return True

    async def get_my_commands(self, fields: Fields) -> list[Json]:
        """What was set last for a scope."""
        return self.menus.get(_scope(fields), [])

    async def send_message(self, fields: Fields) -> Json:
        """A new text."""
        text, entities = written(fields, "text", self._allowance)
        if not text:
            raise bad("message text is empty")
        look = Look(self._world.clock.now(), text, entities, keyboard(fields, self._allowance))
        return self._post(fields, look)

    async def send_photo(self, fields: Fields) -> Json:
        """A picture with a caption."""
        return self._send_file(fields, "photo")

    async def send_document(self, fields: Fields) -> Json:
        """A file with a caption."""
        return self._send_file(fields, "document")

    async def send_chat_action(self, fields: Fields) -> bool:
        """The "typing" sign and the like; nothing of it stays."""
        self._topic(fields, self._chat(fields))
        if not fields.text("action"):
            raise bad("wrong parameter action in request")
        return True

    async def send_message_draft(self, fields: Fields) -> bool:
        """A text that is still being written, shown until a message is sent. Private chats only."""
        chat = self._chat(fields)
        if not chat.private or chat.draftless:
            raise bad("TEXTDRAFT_PEER_INVALID")
        self._topic(fields, chat)
        number = fields.number("draft_id")
        if not number:
            raise bad("draft_id must be non-zero")
        text, entities = written(fields, "text", self._allowance)
        stoppable, kept = fields.flag("can_stop"), fields.flag("keep_on_stop")
        self._world.show_draft(chat, Draft(self._world.clock.now(), number, text, entities, stoppable, kept))
        return True

    async def edit_message_text(self, fields: Fields) -> Json:
        """Another text; the buttons go unless they are sent again."""
        shown = self._own(fields, "edit")
        if shown.look.file:
            raise bad("there is no text in the message to edit")
        text, entities = written(fields, "text", self._allowance)
        if not text:
            raise bad("message text is empty")
        return self._edit(fields, shown, text=text, entities=entities)

    async def edit_message_caption(self, fields: Fields) -> Json:
        """Another caption of a picture or file."""
        shown = self._own(fields, "edit")
        if not shown.look.file:
            raise bad("there is no caption in the message to edit")
        text, entities = written(fields, "caption", self._allowance)
        return self._edit(fields, shown, text=text, entities=entities)

    async def edit_message_reply_markup(self, fields: Fields) -> Json:
        """Other buttons, or none."""
        return self._edit(fields, self._own(fields, "edit"))

    async def delete_message(self, fields: Fields) -> bool:
        """Take a message off the screen."""
        self._world.delete(self._own(fields, "delete"))
        return True

    async def answer_callback_query(self, fields: Fields) -> bool:
        """Ends the waiting sign on a pressed button."""
        query = fields.text("callback_query_id")
        if query not in self.queries:
            raise bad("query is too old and response timeout expired or query ID is invalid")
        self.queries.remove(query)
        return True

    async def get_file(self, fields: Fields) -> Json:
        """Where a file can be loaded, for an hour."""
        return self._world.files.path_of(fields.text("file_id"))

    def _send_file(self, fields: Fields, kind: str) -> Json:
        text, entities = written(fields, "caption", self._allowance)
        markup = keyboard(fields, self._allowance)
        if self._chat(fields).fileless:
            raise bad(f"not enough rights to send {kind}s to the chat")
        return self._post(fields, Look(self._world.clock.now(), text, entities, markup, fields.upload(kind)))

    def _post(self, fields: Fields, look: Look) -> Json:
        chat = self._chat(fields)
        topic = self._topic(fields, chat)
        answer = fields.nested("reply_parameters") or {}
        answered = chat.find(int(answer.get("message_id", 0)))
        if answer and not answered and not answer.get("allow_sending_without_reply"):
            raise bad("message to be replied not found")
        return self._world.post(chat, self._world.bot, look, topic, answered.id if answered else 0).json()

    def _edit(self, fields: Fields, shown: Shown, **changes: Any) -> Json:
        markup = keyboard(fields, self._allowance)
        look = replace(shown.look, at=self._world.clock.now(), keyboard=markup, **changes)
        if look.same(shown.look):
            raise bad(NOT_MODIFIED)
        self._world.change(shown, look)
        return shown.json()

    def _chat(self, fields: Fields) -> Chat:
        chat = self._world.chats.get(fields.number("chat_id"))
        if chat is None:
            raise bad("chat not found")
        if chat.moved_to:
            raise Refusal(400, "Bad Request: group chat was upgraded to a supergroup chat", moved_to=chat.moved_to)
        if chat.closed:
            raise Refusal(403, f"Forbidden: {chat.closed}")
        return chat

    def _topic(self, fields: Fields, chat: Chat) -> int:
        topic = fields.number("message_thread_id")
        if topic and topic not in chat.topics:
            raise bad("message thread not found")
        return topic

    def _own(self, fields: Fields, verb: str) -> Shown:
        shown = self._chat(fields).find(fields.number("message_id"))
        if shown is None:
            raise bad(f"message to {verb} not found")
        if shown.author is not self._world.bot:
            raise bad(f"message can't be {verb.removesuffix('e')}ed")
        return shown


def _scope(fields: Fields) -> str:
    scope = fields.nested("scope") or {}
    return str(scope.get("type", "default"))
