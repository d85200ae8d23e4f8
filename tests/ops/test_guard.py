"""Who may see the bot's own web server."""

import pytest

from clawdbot.ops.guard import Asking, Guard, is_loopback

HERE = Guard(token=None, session="cookie-of-this-run")
ELSEWHERE = Guard(token="a-token-of-the-owner", session="cookie-of-this-run")


def asking(host: str = "127.0.0.1:9464", origin: str = "", authorization: str = "", cookie: str = "") -> Asking:
    return Asking(host, origin, authorization, cookie)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_is_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "192.168.1.1", "localhost.example", "example.org"])
def test_is_not_loopback(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize("host", ["127.0.0.1:9464", "localhost:9464", "localhost", "[::1]:80", "LOCALHOST:1"])
def test_the_machine_has_these_names(host: str) -> None:
    """Any port: it may be forwarded."""
    assert HERE.names_this_server(asking(host))


@pytest.mark.parametrize(
    "host", ["", "evil.example", "evil.example:9464", "127.0.0.1.evil.example", "[", "@localhost@x"]
)
def test_a_name_that_was_led_here_is_refused(host: str) -> None:
    """DNS rebinding: a page of evil.example whose name now leads to 127.0.0.1 is of the same origin as this server."""
    assert not HERE.names_this_server(asking(host))


def test_with_a_token_any_name_may_lead_here() -> None:
    assert ELSEWHERE.names_this_server(asking("bot.example.org"))


def test_nobody_is_known_without_cookie_or_token() -> None:
    assert not HERE.knows(asking())
    assert not ELSEWHERE.knows(asking())


def test_the_cookie_of_this_run_is_known() -> None:
    assert HERE.knows(asking(cookie="cookie-of-this-run"))
    assert not HERE.knows(asking(cookie="cookie-of-another-run"))


def test_the_token_is_known_as_a_bearers() -> None:
    assert ELSEWHERE.knows(asking(authorization="Bearer a-token-of-the-owner"))
    assert not ELSEWHERE.knows(asking(authorization="Bearer another-token"))
    assert not ELSEWHERE.knows(asking(authorization="Basic a-token-of-the-owner"))


def test_an_empty_token_is_none() -> None:
    assert not HERE.knows(asking(authorization="Bearer "))
    assert not HERE.is_token("")


@pytest.mark.parametrize(
    ("origin", "own"),
    [
        ("http://127.0.0.1:9464", True),
        ("https://127.0.0.1:9464", True),  # what a proxy makes of it
        ("http://127.0.0.1:9465", False),  # another program of this machine
        ("http://evil.example", False),
        ("null", False),
        ("", False),
    ],
)
def test_only_its_own_page_may_change_anything(origin: str, own: bool) -> None:
    assert HERE.from_own_page(asking(origin=origin)) is own


def test_a_program_with_the_token_needs_no_origin() -> None:
    """No page of another origin can send it."""
    assert ELSEWHERE.from_own_page(asking(authorization="Bearer a-token-of-the-owner"))
