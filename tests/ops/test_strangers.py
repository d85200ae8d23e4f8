"""What a stranger may try on the bot's own web server, over HTTP: each line is an attack that has to fail."""

import asyncio
import gzip
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import inf

import aiohttp
import pytest
from yarl import URL

from clawdbot.ops import server
from clawdbot.ops.attempts import FREE, FREE_FOR_ALL, LONGEST_FOR_ALL
from clawdbot.ops.guard import Asking, Guard
from clawdbot.ops.site import LARGEST_FORM, PATIENCE

from .test_site import TOKEN, Visitor, site

QUESTION = '{"ref": "question-1", "text": "Hello"}'
BEHIND_TLS = {"X-Forwarded-Proto": "https"}


def wrong(visitor: Visitor, **headers: str) -> "asyncio.Future[aiohttp.ClientResponse]":
    return asyncio.ensure_future(visitor.post("/login", {"token": "a-token-of-nobody"}, **headers))


# Guessing the token


async def test_guesses_have_to_wait_longer_and_longer() -> None:
    async with site(TOKEN) as visitor:
        free = [(await wrong(visitor)).status for _ in range(FREE)]
        then = await wrong(visitor)
        text = f"{then.status} {then.headers['Retry-After']}"
        await visitor.clock.advance(1)
        again = (await wrong(visitor)).status, (await wrong(visitor)).headers["Retry-After"]

    assert (free, text, again) == ([403] * FREE, "429 1", (403, "2"))


async def test_while_one_waits_even_the_right_token_is_not_looked_at() -> None:
    """Or it would be no wait for whoever guesses."""
    async with site(TOKEN) as visitor:
        for _ in range(FREE):
            await wrong(visitor)
        early = await visitor.post("/login", {"token": TOKEN})
        await visitor.clock.advance(1)
        late = await visitor.post("/login", {"token": TOKEN})

    assert (early.status, "Set-Cookie" in early.headers, late.status) == (429, False, 303)


@pytest.mark.parametrize("path", ["/metrics", "/look", "/", "/page.js", "/nothing", "/web/say"])
async def test_a_programs_way_in_is_no_way_around(path: str) -> None:
    """A bearer's token is looked at on every path, so it counts on every path."""
    async with site(TOKEN) as visitor:
        bearer = {"Authorization": "Bearer a-token-of-nobody"}
        statuses = [(await visitor.get(path, **bearer)).status for _ in range(FREE + 1)]
        form = await wrong(visitor)

    assert (statuses, form.status) == ([401] * FREE + [429], 429)


async def test_who_is_in_stays_in_while_somebody_guesses() -> None:
    """From the same address, too: behind some proxies all have one."""
    async with site(TOKEN) as visitor:
        await visitor.post("/login", {"token": TOKEN})
        for _ in range(FREE + 1):
            await wrong(visitor)

        assert (await visitor.post("/web/say", QUESTION)).status == 202


async def test_an_address_that_is_made_up_gives_no_further_guesses() -> None:
    """What somebody writes into X-Forwarded-For stands before what the proxy adds."""
    async with site(TOKEN) as visitor:
        statuses = [
            (await wrong(visitor, **{"X-Forwarded-For": f"198.51.100.{number}, 203.0.113.7"})).status
            for number in range(FREE + 1)
        ]
        neighbour = await wrong(visitor, **{"X-Forwarded-For": "203.0.113.8"})

    assert (statuses[-1], neighbour.status) == (429, 403)


async def test_guesses_from_everywhere_are_slowed_down_together(caplog: pytest.LogCaptureFixture) -> None:
    async with site(TOKEN) as visitor:
        for number in range(FREE_FOR_ALL + 20):
            await wrong(visitor, **{"X-Forwarded-For": f"203.0.113.{number}"})
            await visitor.clock.advance(0.01)
        fresh = await wrong(visitor, **{"X-Forwarded-For": "198.51.100.1"})
        await visitor.clock.advance(LONGEST_FOR_ALL)
        owner = await visitor.post("/login", {"token": TOKEN}, **{"X-Forwarded-For": "198.51.100.2"})

    assert (fresh.status, owner.status) == (429, 303)
    assert len(caplog.records) == FREE_FOR_ALL
    assert TOKEN not in caplog.text
    assert "a-token-of-nobody" not in caplog.text


async def test_guesses_from_everywhere_keep_no_program_out_that_had_the_token() -> None:
    """Or anybody could make Prometheus blind, and ring the owner up by it."""
    prometheus = {"Authorization": f"Bearer {TOKEN}", "X-Forwarded-For": "192.0.2.1"}
    async with site(TOKEN) as visitor:
        before = await visitor.get("/nothing", **prometheus)
        for number in range(FREE_FOR_ALL + 20):
            await wrong(visitor, **{"X-Forwarded-For": f"203.0.113.{number}"})
        after = await visitor.get("/nothing", **prometheus)

    assert (before.status, after.status) == (404, 404)


@pytest.mark.parametrize("token", ["", "\ud800", "é" * 8, TOKEN[:-1], TOKEN + "x", TOKEN.upper()])
def test_what_is_nearly_the_token_is_not_the_token(token: str) -> None:
    """Half characters come by forms in UTF-7, and were a fault of the comparison."""
    guard = Guard(TOKEN, "cookie-of-this-run")

    assert not guard.is_token(token)
    assert not guard.knows(Asking("localhost", "", f"Bearer {token}", token))


async def test_a_form_in_a_strange_encoding_is_wrong_and_no_fault(caplog: pytest.LogCaptureFixture) -> None:
    async with site(TOKEN) as visitor:
        form = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-7"}
        answer = await visitor.post("/login", b"token=+2AA-", **form)

    assert answer.status in (400, 403)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


# Using the browser of somebody who is in


@pytest.mark.parametrize("fetch_site", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", ["/look", "/web/events", "/web/files/part-0/0", "/metrics"])
async def test_another_page_cannot_load_anything(path: str, fetch_site: str) -> None:
    """A page of another port has the cookie, too: for cookies both are one site."""
    async with site() as visitor:
        await visitor.get("/")
        answer = await visitor.get(path, **{"Sec-Fetch-Site": fetch_site})

    assert answer.status == 403


async def test_a_form_of_another_page_logs_nobody_in_and_spends_no_guess() -> None:
    async with site(TOKEN) as visitor:
        for _ in range(FREE + 1):
            assert (await wrong(visitor, Origin="http://evil.example")).status == 403
        assert (await visitor.post("/login", {"token": TOKEN}, Origin="null")).status == 403
        assert (await visitor.post("/login", {"token": TOKEN})).status == 303


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
async def test_no_other_method_gets_past_the_origin(method: str) -> None:
    async with site() as visitor:
        await visitor.get("/")
        async with visitor.http.request(method, f"{visitor.address}/web/say", data=QUESTION) as answer:
            assert answer.status == 403
            assert not [name for name in answer.headers if name.startswith("Access-Control")]


async def test_no_page_frames_it_or_shares_a_window_with_it() -> None:
    async with site(TOKEN) as visitor:
        answers = [await visitor.get(path) for path in ("/", "/login", "/nothing", "/healthz", "/page.js")]

    for answer in answers:
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert "require-trusted-types-for 'script'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:9464", "localhost.", "0.0.0.0"]
)
async def test_no_name_that_was_led_here_is_answered(host: str) -> None:
    async with site() as visitor:
        statuses = [(await visitor.get(path, Host=host)).status for path in ("/", "/login", "/look", "/metrics", "/x")]

    assert statuses == [403] * 5


async def test_a_name_in_a_header_for_proxies_is_not_taken_for_the_host() -> None:
    async with site() as visitor:
        led = await visitor.get("/", Host="evil.example", **{"X-Forwarded-Host": "127.0.0.1"})
        said = await visitor.post("/web/say", QUESTION, Origin="http://a", **{"X-Forwarded-Host": "a"})

    assert (led.status, said.status) == (403, 403)


# The cookie


async def test_behind_tls_the_cookie_is_for_tls_and_this_host_alone() -> None:
    async with site(TOKEN) as visitor:
        answer = await visitor.post("/login", {"token": TOKEN}, **BEHIND_TLS)
        cookie = answer.headers["Set-Cookie"]

    assert cookie.startswith("__Host-clawdbot-")
    assert {"HttpOnly", "SameSite=Strict", "Secure", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert "Domain" not in cookie


async def test_behind_tls_a_cookie_without_that_name_is_not_taken() -> None:
    """One that another host of the domain, or somebody on the way, has set."""
    async with site(TOKEN) as visitor:
        port = visitor.address.rpartition(":")[2]
        plain = {"Cookie": f"clawdbot-{port}=cookie-of-this-run"}
        tls = {"Cookie": f"__Host-clawdbot-{port}=cookie-of-this-run"}
        statuses = [(await visitor.get("/page.js", **plain)).status]
        statuses += [(await visitor.get("/nothing", **headers, **BEHIND_TLS)).status for headers in (plain, tls)]

    assert statuses == [200, 401, 404]


async def test_a_cookie_that_is_none_opens_nothing() -> None:
    async with site(TOKEN) as visitor:
        port = visitor.address.rpartition(":")[2]
        tried = ["", TOKEN, "cookie-of-this-ru", '"cookie-of-this-run', "cookie-of-another-run", "a;b=c"]
        statuses = [(await visitor.get("/look", Cookie=f"clawdbot-{port}={value}")).status for value in tried]

    assert statuses == [401] * len(tried)


# Wearing it out


async def test_what_is_too_large_is_not_read() -> None:
    async with site() as visitor:
        await visitor.get("/")
        form = await visitor.post("/login", b"token=" + b"x" * LARGEST_FORM)
        text = await visitor.post("/web/say", io.BytesIO(b"x" * 2 * server.LARGEST_BODY))
        packed = gzip.compress(b"x" * 64 * server.LARGEST_BODY)
        bomb = await visitor.post("/web/say", packed, **{"Content-Encoding": "gzip"})

    assert (form.status, text.status) == (413, 413)
    assert bomb.status in (400, 413)


async def test_a_form_without_a_length_is_not_read() -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b"token="
        await asyncio.Event().wait()

    async with site(TOKEN) as visitor, asyncio.timeout(10):
        assert (await visitor.post("/login", endless())).status == 413


async def test_a_form_that_never_ends_is_given_up() -> None:
    async with site(TOKEN) as visitor, asyncio.timeout(10):
        host = visitor.address.removeprefix("http://")
        reader, writer = await asyncio.open_connection(*host.split(":"))
        head = f"POST /login HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Length: 100\r\n"
        writer.write(f"{head}Content-Type: application/x-www-form-urlencoded\r\n\r\ntoken=".encode())
        while visitor.clock.wakes_at == inf:  # noqa: ASYNC110 - there is no event for it; it takes turns of the loop
            await asyncio.sleep(0)
        await visitor.clock.advance(PATIENCE)
        status = (await reader.readline()).split()[1]
        writer.close()
        await writer.wait_closed()

    assert status == b"408"


@asynccontextmanager
async def connections(visitor: Visitor, number: int) -> AsyncIterator[list[asyncio.StreamReader]]:
    """That many of them, on which nothing is said."""
    host, port = visitor.address.removeprefix("http://").split(":")
    opened = [await asyncio.open_connection(host, port) for _ in range(number)]
    try:
        yield [reader for reader, _ in opened]
    finally:
        for _, writer in opened:
            writer.close()


async def test_connections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is one of the process's files, and the platforms and the database need some."""
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 3)
    async with site() as visitor, connections(visitor, 5) as readers, asyncio.timeout(10):
        ended = await asyncio.gather(*(reader.read() for reader in readers[3:]))

    assert ended == [b"", b""]


async def test_a_connection_on_which_nothing_is_said_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "IDLE", 0.05)
    async with site() as visitor, connections(visitor, 1) as (reader,), asyncio.timeout(10):
        assert await reader.read() == b""


# Ringing the owner up


async def test_a_header_that_the_library_stumbles_over_is_no_error_of_the_bot(caplog: pytest.LogCaptureFixture) -> None:
    """`Expect` is answered before anybody is asked for a token; half a character in it ended in a traceback."""
    async with site(TOKEN) as visitor, asyncio.timeout(10):
        host = visitor.address.removeprefix("http://")
        reader, writer = await asyncio.open_connection(*host.split(":"))
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nExpect: \xff\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()

    assert answer.startswith(b"HTTP/1.1 ")
    assert b"Traceback" not in answer
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_a_fault_of_the_bot_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """What keeps strangers quiet must not keep these."""

    async def faulty() -> dict[str, object]:
        raise RuntimeError("a fault of ours")

    async with site(now=faulty) as visitor:
        await visitor.get("/")
        with pytest.raises(aiohttp.ClientError):
            await visitor.get("/look")

    assert "a fault of ours" in caplog.text


# What is typed into the page


@pytest.mark.parametrize("text", ["\\ud800", "\\udfff\\ud800 <script>", "\\u0000", "\\u202e"])
async def test_no_text_stops_the_page(text: str) -> None:
    """Half a character is JSON, but no UTF-8: written to every open page it would have ended all of them, for good."""
    async with site() as visitor:
        await visitor.get("/")
        said = await visitor.post("/web/say", f'{{"ref": "question-1", "text": "x{text}"}}')
        async with asyncio.timeout(10), visitor.http.get(f"{visitor.address}/web/events") as answer:
            event = await answer.content.readline()

    assert (said.status, event) == (202, b"event: notes\n")


@pytest.mark.parametrize(
    "path",
    [
        "/page/../../guard.py",
        "/..%2f..%2fguard.py",
        "/web/..%2fadapter.py",
        "/web/chat.js%00",
        "/web/files/x/-1",
        "//x",
    ],
)
async def test_no_path_leads_out_of_the_page(path: str) -> None:
    async with site() as visitor:
        await visitor.get("/")
        async with visitor.http.get(URL(visitor.address + path, encoded=True), allow_redirects=False) as answer:
            assert answer.status in (400, 403, 404)
