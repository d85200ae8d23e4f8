"""Where calls go, and how refusals are known at once."""

import discord
import pytest
from yarl import URL

from clawdbot_discord.wire import Allowance, Crowded, redirected, refusal

API, GATEWAY = "http://127.0.0.1:8080/api/v10", "ws://127.0.0.1:7878/"


class Response:
    """As much of an HTTP response as a bucket reads."""

    def __init__(self, remaining: int, reset_after: float) -> None:
        self.headers = {
            "X-Ratelimit-Limit": "5",
            "X-Ratelimit-Remaining": str(remaining),
            "X-Ratelimit-Reset-After": str(reset_after),
        }


def test_without_proxies_calls_go_to_discord() -> None:
    url = URL("https://discord.com/api/v10/channels/1/messages")
    assert redirected(url, None, None) == url


def test_rest_calls_go_to_the_proxy_with_path_and_query() -> None:
    url = URL("https://discord.com/api/v10/webhooks/1/a%2Fb?wait=1")
    assert str(redirected(url, API, GATEWAY)) == f"{API}/webhooks/1/a%2Fb?wait=1"


def test_the_gateway_and_its_resume_hosts_go_to_the_proxy() -> None:
    url = URL("wss://gateway-us-east1-b.discord.gg/?v=10&encoding=json")
    assert str(redirected(url, API, GATEWAY)) == f"{GATEWAY}?v=10&encoding=json"


def test_other_hosts_are_left_alone() -> None:
    url = URL("https://cdn.discordapp.com/attachments/1/2/a.png")
    assert redirected(url, API, GATEWAY) == url


@pytest.mark.parametrize(
    ("body", "header", "wait", "everywhere"),
    [
        ('{"retry_after": 3.5, "global": false}', "4", 3.5, False),
        ('{"retry_after": 3.5, "global": true}', "4", 3.5, True),
        ('{"message": "slow down"}', "4", 4.0, False),
        ('{"code": 30046}', None, 20.0, False),
        ('{"retry_after": null}', None, 1.0, False),
        ('{"retry_after": "soon"}', "Wed, 21 Oct 2026 07:28:00 GMT", 1.0, False),
        ('{"retry_after": Infinity}', None, 1.0, False),
        ('{"retry_after": -1}', None, 0.0, False),
        ("<html>", "7", 7.0, True),
        ("[]", None, 60.0, True),
        ("", "Wed, 21 Oct 2026 07:28:00 GMT", 60.0, True),
    ],
)
def test_a_refusal_says_how_long_and_for_whom(body: str, header: str | None, wait: float, everywhere: bool) -> None:
    """Whatever its body and header hold: an answer must not end for what they lack."""
    refused = refusal(body.encode(), {"Retry-After": header} if header else {})
    assert (refused.retry_after, refused.everywhere) == (wait, everywhere)


def test_a_refusal_for_all_who_write_in_a_channel_is_told_apart() -> None:
    body = b'{"retry_after": 0.3, "global": false, "code": 20028}'
    assert isinstance(refusal(body, {"X-RateLimit-Scope": "shared"}), Crowded)
    assert not isinstance(refusal(body, {"X-RateLimit-Scope": "user"}), Crowded)


async def test_a_bucket_that_is_not_known_yet_takes_every_call() -> None:
    """discord.py lets the second call of a new bucket wait for the answer to the first."""
    bucket = Allowance()
    async with bucket, bucket, bucket:
        assert bucket.outgoing == 3


async def test_an_empty_bucket_refuses_and_says_until_when() -> None:
    """discord.py would sleep inside the call that took the last place, long after it had its effect."""
    bucket = Allowance()
    async with bucket:
        bucket.update(Response(remaining=0, reset_after=4.0))  # type: ignore[arg-type]
    with pytest.raises(discord.RateLimited) as refusal:
        await bucket.acquire()
    assert refusal.value.retry_after == pytest.approx(4.0, abs=0.5)


async def test_an_expired_window_is_a_new_one() -> None:
    bucket = Allowance()
    async with bucket:
        bucket.update(Response(remaining=0, reset_after=-1.0))  # type: ignore[arg-type]
    async with bucket:
        assert bucket.remaining == 4
