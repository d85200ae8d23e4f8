"""The way to the page: who gets in, by which requests; over HTTP."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from clawdbot.ops.door import Door
from clawdbot.ops.guard import Guard
from clawdbot.ops.look import Look
from clawdbot.ops.server import guarded, serving
from clawdbot.ops.site import EVERY, FILES, OPEN_PATHS, Site
from clawdbot.settings.config import OpsSettings
from clawdbot.testing.clock import ManualClock
from clawdbot_web import WebAdapter, WebSettings

from ..latency.answers import ANSWER

TOKEN = "a-token-of-the-owner"


class Visitor:
    """A browser without a screen: it keeps cookies and says where its page is from."""

    def __init__(self, address: str, http: aiohttp.ClientSession, look: Look, clock: ManualClock) -> None:
        self.address = address
        self.http = http
        self.look = look
        self.clock = clock

    async def get(self, path: str, **headers: str) -> aiohttp.ClientResponse:
        async with self.http.get(self.address + path, headers=headers, allow_redirects=False) as answer:
            await answer.read()
            return answer

    async def post(self, path: str, data: Any, **headers: str) -> aiohttp.ClientResponse:
        headers = {"Origin": self.address} | headers
        async with self.http.post(self.address + path, data=data, headers=headers, allow_redirects=False) as answer:
            await answer.read()
            return answer

    async def news(self) -> AsyncGenerator[tuple[str, Any], None]:
        """The events of ``/look`` as they come."""
        async with asyncio.timeout(10), self.http.get(f"{self.address}/look") as answer:
            name = ""
            async for line in answer.content:
                if line.startswith(b"event: "):
                    name = line[7:].decode().strip()
                elif line.startswith(b"data: "):
                    yield name, json.loads(line[6:])


async def nothing_new() -> dict[str, Any]:
    return {"reasons": []}


@asynccontextmanager
async def site(
    token: str | None = None, now: Callable[[], Awaitable[dict[str, Any]]] = nothing_new
) -> AsyncIterator[Visitor]:
    look, clock = Look(), ManualClock()
    door = Door(Guard(token, "cookie-of-this-run"), OpsSettings().proxies, clock)
    adapter = WebAdapter(WebSettings())
    app = guarded(door, OPEN_PATHS)
    app.add_routes(Site(door, look, now, clock, [adapter]).routes())
    jar = aiohttp.CookieJar(unsafe=True)  # which takes cookies of addresses
    async with serving(app, "127.0.0.1", 0) as address, aiohttp.ClientSession(cookie_jar=jar) as http:
        running = asyncio.create_task(adapter.run(_deaf))
        yield Visitor(address, http, look, clock)
        running.cancel()


async def _deaf(event: object, reply: object) -> None:
    """Take whatever is said."""


async def test_whoever_sits_at_the_machine_gets_in_by_opening_the_page() -> None:
    async with site() as visitor:
        assert (await visitor.get("/look")).status == 401
        page = await visitor.get("/")
        assert page.status == 200
        assert (await visitor.post("/web/say", '{"ref": "question-1", "text": "Hello"}')).status == 202


async def test_the_cookie_is_no_use_to_scripts_or_other_pages() -> None:
    async with site() as visitor:
        cookie = (await visitor.get("/")).headers["Set-Cookie"]

    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie


async def test_two_bots_of_one_machine_have_a_cookie_each() -> None:
    """A browser sends the cookies of a host whatever the port: one would log the other out."""
    async with site() as one, site() as other:
        names = [(await visitor.get("/")).headers["Set-Cookie"].partition("=")[0] for visitor in (one, other)]

    assert len(set(names)) == 2


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:1", "null", ""])
async def test_a_page_of_another_origin_cannot_speak_to_the_bot(origin: str) -> None:
    """CSRF: a browser sends a plain POST of any page, with the cookie if the page is of the same site."""
    async with site() as visitor:
        await visitor.get("/")
        said = await visitor.post("/web/say", '{"ref": "question-1", "text": "Hello"}', Origin=origin)

    assert said.status == 403


async def test_a_name_that_was_led_here_gets_nothing() -> None:
    """DNS rebinding: to the browser that page is of this server's origin."""
    async with site() as visitor:
        answers = [
            await visitor.get("/", Host="evil.example"),
            await visitor.get("/page.js", Host="evil.example"),
            await visitor.post("/web/say", "{}", Host="evil.example", Origin="http://evil.example"),
        ]

    assert [answer.status for answer in answers] == [403, 403, 403]
    assert "Set-Cookie" not in answers[0].headers


async def test_with_a_token_the_page_leads_to_the_way_in() -> None:
    async with site(TOKEN) as visitor:
        page = await visitor.get("/")
        assert (page.status, page.headers["Location"]) == (303, "/login")
        assert "Set-Cookie" not in page.headers
        wrong = await visitor.post("/login", {"token": "another-token"})
        assert (wrong.status, "Set-Cookie" in wrong.headers) == (403, False)
        right = await visitor.post("/login", {"token": TOKEN})
        assert (right.status, right.headers["Location"]) == (303, "/")
        assert (await visitor.get("/")).status == 200


async def test_without_a_token_there_is_nothing_to_log_in_with() -> None:
    async with site() as visitor:
        assert (await visitor.post("/login", {"token": ""})).status == 403


async def test_no_text_can_load_or_run_anything() -> None:
    """Whatever slips through as markup is dead: scripts and styles come from files of this server alone."""
    async with site() as visitor:
        policy = (await visitor.get("/")).headers["Content-Security-Policy"]

    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == "'self'"
    assert rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert "unsafe" not in policy


@pytest.mark.parametrize("path", sorted(FILES.iterdir()), ids=lambda path: path.name)
def test_the_page_needs_nothing_from_elsewhere(path: Any) -> None:
    written = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")

    assert re.findall(r"https?://|//\w+\.\w+/|innerHTML|insertAdjacentHTML|document\.write|eval\(", written) == []


async def test_answers_come_as_they_are_made() -> None:
    async with site() as visitor:
        await visitor.get("/")
        visitor.look.observe(ANSWER)
        events = visitor.news()
        first, _ = await anext(events), await anext(events)
        visitor.look.observe(ANSWER)
        await visitor.clock.advance(EVERY)
        second, now = await anext(events), await anext(events)
        await events.aclose()

    assert [(name, told["all"], len(told["answers"])) for name, told in (first, second)] == [
        ("answers", True, 1),
        ("answers", False, 1),
    ]
    assert now == ("now", {"reasons": []})


@pytest.mark.parametrize(
    ("request_line", "headers", "body"),
    [
        ("GET /look", b"Authorization: Bearer \xff", b""),
        ("GET /look", b"Host: 127.0.0.1:port", b""),
        ("GET /look", b"Host: [", b""),
        ("POST /login", b"Origin: http://[", b"token=x"),
        ("POST /login", b"Origin: http://HOST\r\nContent-Type: application/x-www-form-urlencoded", b"token=\xff"),
        ("POST /login", b"Origin: http://HOST\r\nContent-Type: text/plain; charset=nonsense", b"token=x"),
        (
            "POST /login",
            b"Origin: http://HOST\r\nContent-Type: application/x-www-form-urlencoded; charset=nonsense",
            b"token=x",
        ),
        ("POST /login", b"Origin: http://HOST\r\nContent-Type: multipart/form-data", b"token=x"),
    ],
)
async def test_what_no_browser_sends_is_refused_without_a_fault(
    request_line: str, headers: bytes, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever reaches the server could else fill the log with errors, and ring the owner up by them."""
    async with site(TOKEN) as visitor:
        host = visitor.address.removeprefix("http://").encode()
        lines = [f"{request_line} HTTP/1.1".encode(), headers.replace(b"HOST", host)]
        lines += [] if b"Host:" in headers else [b"Host: " + host]
        lines += [f"Content-Length: {len(body)}".encode(), b"Connection: close", b"", body]
        reader, writer = await asyncio.open_connection(*host.decode().split(":"))
        writer.write(b"\r\n".join(lines))
        async with asyncio.timeout(10):
            status = int((await reader.read()).split()[1])
        writer.close()
        await writer.wait_closed()

    assert 400 <= status < 500
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",  # the beginning of TLS
        b"GARBAGE\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST /login HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /login HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\nContent-Encoding: gzip\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\n"
        b"Content-Length: 5\r\nConnection: close\r\n\r\nabcde",
    ],
)
async def test_what_is_no_http_is_no_fault_of_the_bot(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever looks for open ports sends such things; nobody is to be woken for that."""
    async with site(TOKEN) as visitor:
        host = visitor.address.removeprefix("http://")
        reader, writer = await asyncio.open_connection(*host.split(":"))
        writer.write(sent.replace(b"HOST", host.encode()))
        async with asyncio.timeout(10):
            answer = await reader.read()
        writer.close()
        await writer.wait_closed()

    assert answer.split()[1] == b"400"
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
