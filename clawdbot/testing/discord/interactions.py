"""Slash commands and buttons: who may answer an interaction, how, and until when."""

from dataclasses import replace
from enum import IntEnum

from clawdbot.testing.discord import payloads
from clawdbot.testing.discord.payloads import Json
from clawdbot.testing.discord.records import Channel, Interaction, Post, Shown, User
from clawdbot.testing.discord.world import Files, Refusal, World

MOST_SUGGESTIONS = 25
FIRST_ANSWER = 3.0
"""Seconds in which an interaction has to be acknowledged."""
LIFE = 900.0
"""Seconds in which it can be answered further."""
COMMAND, BUTTON, COMPLETION = 2, 3, 4


class Callback(IntEnum):
    """How a bot acknowledges an interaction."""

    MESSAGE = 4
    DEFER_MESSAGE = 5
    DEFER_UPDATE = 6
    UPDATE = 7
    SUGGEST = 8


class Interactions:
    """Every interaction since the start, and the commands that were registered."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.commands: dict[int, list[Json]] = {}
        """The registered commands by guild; 0 holds those for everywhere."""
        self.all: list[Interaction] = []

    def register(self, guild: int, commands: list[Json]) -> list[Json]:
        """Let these be the commands of ``guild`` (0: of everywhere), and no others."""
        about: Json = {"application_id": str(self.world.bot.id), "version": "1", "type": 1}
        self.commands[guild] = [{**about, **entry, "id": str(self.world.new_id())} for entry in commands]
        return self.commands[guild]

    def slash(self, channel: Channel, name: str, user: User, options: dict[str, str]) -> Interaction:
        """``user`` calls a command. Raises LookupError when no such command is registered, as no menu would show it."""
        command = self._command(channel, name)
        given = [{"name": key, "type": 3, "value": value} for key, value in options.items()]
        data = {"id": command["id"], "name": name, "type": 1, "options": given}
        return self._start(COMMAND, channel, user, data, None)

    def complete(self, channel: Channel, name: str, option: str, typed: str, user: User) -> Interaction:
        """``user`` types the argument of a command. Raises LookupError when Discord would not ask the bot about it."""
        command = self._command(channel, name)
        if not any(one["name"] == option and one.get("autocomplete") for one in command.get("options", [])):
            raise LookupError(f"The argument {option!r} of /{name} is not completed by the bot.")
        given = [{"name": option, "type": 3, "value": typed, "focused": True}]
        data = {"id": command["id"], "name": name, "type": 1, "options": given}
        return self._start(COMPLETION, channel, user, data, None)

    def press(self, channel: Channel, post: Post, custom_id: str, user: User) -> Interaction:
        """``user`` presses the button that is called so, or so with more behind a colon.

        Raises LookupError when ``post`` does not show it.
        """
        found = next((button for button in post.now.buttons if f"{button}:".startswith(f"{custom_id}:")), None)
        if found is None:
            raise LookupError(f"The message shows {post.now.buttons}, not {custom_id!r}.")
        return self.forge(channel, post, found, user)

    def forge(self, channel: Channel, post: Post, custom_id: str, user: User) -> Interaction:
        """``user`` presses a button of that name below ``post`` in ``channel``, whether or not there is one."""
        return self._start(BUTTON, channel, user, {"custom_id": custom_id, "component_type": 2}, post)

    def acknowledge(self, number: int, token: str, body: Json, files: Files) -> tuple[Interaction, Json | None]:
        """The callback, and the message that it made, if any. Raises `Refusal`."""
        found = next((one for one in self.all if one.id == number and one.token == token), None)
        if found is None or self.world.clock.now() - found.at > FIRST_ANSWER:
            raise Refusal(404, 10062, "Unknown interaction")
        if found.acknowledged_at is not None:
            raise Refusal(400, 40060, "Interaction has already been acknowledged.")
        channel = self.world.channels[found.channel]
        data: Json = body.get("data") or {}
        kind = Callback(body["type"])
        if kind is Callback.MESSAGE:
            found.original = self._post(found, channel, data, files)
        elif kind is Callback.DEFER_MESSAGE:
            found.original = self._think(found, channel, data)
        elif found.pressed is not None and kind is Callback.UPDATE:
            self.world.change(channel, found.pressed, data, files)
        elif kind is Callback.SUGGEST:
            found.suggested = _suggestions(found, data)
        found.acknowledged_at = self.world.clock.now()
        if kind in (Callback.DEFER_UPDATE, Callback.UPDATE, Callback.SUGGEST):
            found.original = None
            return found, None
        assert found.original is not None
        return found, self.world.message_json(channel, found.original)

    def follow(self, token: str, body: Json, files: Files) -> Json:
        """A further message; after a deferral the first one takes the place of "thinking". Raises `Refusal`."""
        found, channel = self._alive(token)
        if found.original is not None and found.original.now.thinking:
            return self.message_json(self._fill(channel, found.original, body, files))
        post = self._post(found, channel, body, files)
        found.followups.append(post)
        return self.message_json(post)

    def edit(self, token: str, which: str, body: Json, files: Files) -> Json:
        """Change one of its messages: "@original" or a message's number. Raises `Refusal`."""
        found, channel = self._alive(token)
        post = self._find(found, which)
        if post.now.thinking:
            return self.message_json(self._fill(channel, post, body, files))
        return self.message_json(self.world.change(channel, post, body, files))

    def read(self, token: str, which: str) -> Json:
        """One of its messages. Raises `Refusal`."""
        found, _ = self._alive(token)
        return self.message_json(self._find(found, which))

    def message_json(self, post: Post) -> Json:
        return self.world.message_json(self.world.channels[post.channel], post)

    def _command(self, channel: Channel, name: str) -> Json:
        known = {entry["name"]: entry for scope in (0, channel.guild) for entry in self.commands.get(scope, [])}
        return known[name]

    def _start(self, kind: int, channel: Channel, user: User, data: Json, pressed: Post | None) -> Interaction:
        number = self.world.new_id()
        token = f"interaction-{number}"
        found = Interaction(number, token, kind, channel.id, user, self.world.clock.now(), pressed)
        self.all.append(found)
        event = payloads.of_interaction(found, self.world.bot.id, channel, self.world.who(user, channel), data)
        if pressed is not None:
            event["message"] = self.world.message_json(channel, pressed)
        self.world.emit("INTERACTION_CREATE", event, channel)
        return found

    def _alive(self, token: str) -> tuple[Interaction, Channel]:
        found = next((one for one in self.all if one.token == token), None)
        if found is None or found.acknowledged_at is None:
            raise Refusal(404, 10015, "Unknown Webhook")
        if self.world.clock.now() - found.at > LIFE:
            raise Refusal(401, 50027, "Invalid Webhook Token")
        return found, self.world.channels[found.channel]

    def _find(self, found: Interaction, which: str) -> Post:
        post = found.original or found.pressed
        if which != "@original":
            own = [*found.answers, *([found.pressed] if found.pressed else [])]
            post = next((one for one in own if str(one.id) == which), None)
        if post is None or post.deleted:
            raise Refusal(404, 10008, "Unknown Message")
        return post

    def _post(self, found: Interaction, channel: Channel, body: Json, files: Files) -> Post:
        secret = body.get("flags", 0) & payloads.EPHEMERAL
        return self.world.create(channel, body, files, found.user.id if secret else None)[0]

    def _think(self, found: Interaction, channel: Channel, body: Json) -> Post:
        secret = body.get("flags", 0) & payloads.EPHEMERAL
        look = Shown(self.world.clock.now(), "", thinking=True)
        only_for = found.user.id if secret else None
        post = Post(self.world.new_id(), channel.id, self.world.bot, [look], only_for=only_for)
        channel.posts[post.id] = post
        return post

    def _fill(self, channel: Channel, post: Post, body: Json, files: Files) -> Post:
        """Put the answer where "thinking" stood; nobody sees that as an edit."""
        self.world.change(channel, post, body, files)
        post.history[-1] = replace(post.history[-1], thinking=False)
        post.edited_at = None
        return post


def _suggestions(found: Interaction, data: Json) -> list[str]:
    choices = data.get("choices") or []
    if found.kind != COMPLETION or len(choices) > MOST_SUGGESTIONS or any(len(one["name"]) > 100 for one in choices):
        raise Refusal(400, 50035, "Invalid Form Body: data.choices: Must be 25 or fewer in length.")
    return [str(one["value"]) for one in choices]
