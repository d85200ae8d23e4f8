"""The gateway: WebSocket sessions that can be resumed, dropped, and refused."""

import asyncio
import itertools
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from clawdbot.clock import Clock
from clawdbot.testing.discord.payloads import Json

MESSAGE_CONTENT = 1 << 15
PRIVILEGED = (1 << 1) | (1 << 8) | MESSAGE_CONTENT
REPLAYED = 1000
"""How many events a session keeps for a RESUME; a bot under test never misses more."""

# When an event needs an intent: (bit in a guild, bit in a private chat). Others always arrive.
INTENTS: dict[str, tuple[int, int]] = {
    "MESSAGE_CREATE": (1 << 9, 1 << 12),
    "MESSAGE_UPDATE": (1 << 9, 1 << 12),
    "MESSAGE_DELETE": (1 << 9, 1 << 12),
    "TYPING_START": (1 << 11, 1 << 14),
    "GUILD_CREATE": (1 << 0, 0),
    "CHANNEL_CREATE": (1 << 0, 0),
    "THREAD_CREATE": (1 << 0, 0),
}


@dataclass(slots=True)
class Session:
    """What one IDENTIFY began; it outlives its connections."""

    id: str
    intents: int
    sequence: int = 0
    presences: list[tuple[float, str]] = field(default_factory=list)
    """What the line below the bot's name has said, with the time of each change, seconds of `Clock.now`."""
    sent: deque[Json] = field(default_factory=lambda: deque(maxlen=REPLAYED))
    connection: "Connection | None" = None
    shard: tuple[int, int] = (0, 1)
    """Its number and how many there are."""

    def serves(self, guild: int) -> bool:
        """Whether what happens in ``guild`` is this shard's; 0 stands for private chats, which are the first one's."""
        number, count = self.shard
        return (guild >> 22) % count == number


@dataclass(slots=True, eq=False)
class Connection:
    """One WebSocket; what is queued for it goes out in order, ``delay`` seconds after it was queued."""

    socket: web.WebSocketResponse
    request: web.Request
    delay: float
    queue: asyncio.Queue[tuple[float, Json]] = field(default_factory=asyncio.Queue)

    def send(self, now: float, frame: Json) -> None:
        """Queue one frame. The queue is as long as the events that a test causes."""
        self.queue.put_nowait((now + self.delay, frame))

    async def pump(self, clock: Clock) -> None:
        """Send what is queued until the connection is gone."""
        while not self.socket.closed:
            due, frame = await self.queue.get()
            if due > clock.now():
                await clock.sleep(due - clock.now())
            try:
                await self.socket.send_str(json.dumps(frame))
            except ConnectionResetError:
                return

    def abort(self) -> None:
        """Break the connection as a network does: no closing handshake."""
        if self.request.transport is not None:
            self.request.transport.abort()


class Gateway:
    """Speaks HELLO, IDENTIFY, RESUME, heartbeats and the orders to reconnect."""

    def __init__(self, clock: Clock, token: str, *, allowed_intents: int, heartbeat: float, rtt: float) -> None:
        self.clock = clock
        self.token = token
        self.allowed_intents = allowed_intents
        self.heartbeat = heartbeat
        self.delay = rtt / 2
        self.refusals = 0
        """How many of the next handshakes are refused with 503."""
        self.identified = 0
        """How often a new session began."""
        self.resumed = 0
        self.heartbeats = 0
        self.url = ""
        self.bot: Json = {}
        self.guild: Callable[[], Json] = dict
        self.changed: Callable[[], None] = lambda: None
        """Called when connections or sessions changed."""
        self._sessions: dict[str, Session] = {}
        self._open: set[Connection] = set()
        self._count = itertools.count(1)

    @property
    def presences(self) -> list[tuple[float, str]]:
        """Everything that the line below the bot's name has said in the latest session, and when."""
        latest = list(self._sessions.values())[-1:]
        return latest[0].presences if latest else []

    @property
    def connected(self) -> bool:
        """Whether a session is there to receive events."""
        return any(session.connection for session in self._sessions.values())

    def dispatch(self, event: str, data: Json, *, private: bool) -> None:
        """Send an event to every session that asked for its kind, now or when it resumes."""
        for session in self._sessions.values():
            ours = session.serves(int(data.get("guild_id") or 0))
            if ours and _wanted(event, session.intents, private=private):
                self._send(session, event, _readable(event, data, session.intents, str(self.bot["id"])))

    def drop(self) -> None:
        """Break every connection without a word; sessions can be resumed."""
        for connection in tuple(self._open):
            connection.abort()

    async def hang_up(self, code: int) -> None:
        """Close every connection with a ``code`` of Discord's, for example 4009 ("session timed out")."""
        for connection in tuple(self._open):
            await connection.socket.close(code=code)

    def forget(self) -> None:
        """Let no session be resumed any more; connections stay as they are."""
        self._sessions.clear()

    def order_reconnect(self) -> None:
        """Ask the bot to connect again and resume (op 7)."""
        self._order({"op": 7, "d": None, "s": None, "t": None})

    def invalidate(self, *, resumable: bool = False) -> None:
        """Tell the bot that its session is over (op 9)."""
        self._order({"op": 9, "d": resumable, "s": None, "t": None})
        if not resumable:
            self.forget()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One connection, from the upgrade to its end."""
        if self.refusals:
            self.refusals -= 1
            return web.Response(status=503)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        connection = Connection(socket, request, self.delay)
        self._open.add(connection)
        pump = asyncio.create_task(connection.pump(self.clock))
        try:
            connection.send(self.clock.now(), {"op": 10, "d": {"heartbeat_interval": self.heartbeat * 1000}})
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    await self._receive(connection, json.loads(message.data))
        finally:
            pump.cancel()
            self._open.discard(connection)
            for session in self._sessions.values():
                if session.connection is connection:
                    session.connection = None
            self.changed()
        return socket

    async def close(self) -> None:
        """End every connection politely."""
        for connection in tuple(self._open):
            await connection.socket.close(code=WSCloseCode.GOING_AWAY)

    async def _receive(self, connection: Connection, frame: dict[str, Any]) -> None:
        match frame["op"]:
            case 1:
                self.heartbeats += 1
                connection.send(self.clock.now(), {"op": 11})
            case 2:
                await self._identify(connection, frame["d"])
            case 3:
                self._present(connection, frame["d"])
            case 6:
                self._resume(connection, frame["d"])
        self.changed()

    async def _identify(self, connection: Connection, data: Json) -> None:
        if data["token"] != self.token:
            await connection.socket.close(code=4004, message=b"Authentication failed.")
            return
        if data["intents"] & PRIVILEGED & ~self.allowed_intents:
            await connection.socket.close(code=4014, message=b"Disallowed intent(s).")
            return
        number, shards = data.get("shard") or (0, 1)
        name = f"session-{next(self._count)}"
        session = Session(name, data["intents"], connection=connection, shard=(number, shards))
        self._sessions[session.id] = session
        self.identified += 1
        guild = self.guild()
        ours = session.serves(int(guild["id"]))
        ready: Json = {
            "v": 10,
            "user": self.bot,
            "guilds": [{"id": guild["id"], "unavailable": True}] if ours else [],
            "session_id": session.id,
            "resume_gateway_url": self.url,
            "application": {"id": self.bot["id"], "flags": 0},
        }
        self._send(session, "READY", ready)
        if ours:
            self._send(session, "GUILD_CREATE", guild)

    def _present(self, connection: Connection, data: Json) -> None:
        for session in self._sessions.values():
            if session.connection is connection:
                said = [one.get("state") or one["name"] for one in data["activities"]]
                session.presences.append((self.clock.now(), ", ".join(said)))

    def _resume(self, connection: Connection, data: Json) -> None:
        session = self._sessions.get(data["session_id"] or "")
        if session is None or data["token"] != self.token:
            connection.send(self.clock.now(), {"op": 9, "d": False, "s": None, "t": None})
            return
        session.connection = connection
        self.resumed += 1
        for frame in session.sent:
            if frame["s"] > (data["seq"] or 0):
                connection.send(self.clock.now(), frame)
        self._send(session, "RESUMED", {})

    def _send(self, session: Session, event: str, data: Json) -> None:
        session.sequence += 1
        frame: Json = {"op": 0, "s": session.sequence, "t": event, "d": data}
        session.sent.append(frame)
        if session.connection is not None:
            session.connection.send(self.clock.now(), frame)

    def _order(self, frame: Json) -> None:
        for connection in tuple(self._open):
            connection.send(self.clock.now(), frame)


def _wanted(event: str, intents: int, *, private: bool) -> bool:
    needed = INTENTS.get(event)
    return needed is None or bool(intents & needed[private])


def _readable(event: str, data: Json, intents: int, bot: str) -> Json:
    """``data`` as a bot may read it: without the content intent only private, own and mentioning messages have text."""
    if not event.startswith("MESSAGE_") or "content" not in data or intents & MESSAGE_CONTENT:
        return data
    mentioned = any(user["id"] == bot for user in data["mentions"])
    if mentioned or "guild_id" not in data or data["author"]["id"] == bot:
        return data
    return {**data, "content": "", "attachments": [], "components": []}
