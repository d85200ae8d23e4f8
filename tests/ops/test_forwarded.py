"""Who asks when a proxy stands between."""

from ipaddress import ip_network

import pytest

from clawdbot.ops.forwarded import is_secure, peer_of

PROXIES = (ip_network("127.0.0.0/8"), ip_network("10.0.0.0/24"))


@pytest.mark.parametrize(
    ("remote", "forwarded_for", "peer"),
    [
        ("203.0.113.7", [], "203.0.113.7"),
        ("127.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("127.0.0.1", [], "127.0.0.1"),
        # Two proxies of ours, in one header or in two.
        ("127.0.0.1", ["203.0.113.7, 10.0.0.5"], "203.0.113.7"),
        ("127.0.0.1", ["203.0.113.7", "10.0.0.5"], "203.0.113.7"),
        # What the asker wrote stands before what the proxy added.
        ("127.0.0.1", ["198.51.100.1, 203.0.113.7"], "203.0.113.7"),
        # Whoever is no proxy of ours may write what it likes.
        ("203.0.113.7", ["127.0.0.1"], "203.0.113.7"),
        ("127.0.0.1", ["nonsense"], "127.0.0.1"),
        # Some proxies write the port, too; what stands before something unknown is believed of nobody.
        ("127.0.0.1", ["198.51.100.1, 203.0.113.7:51234"], "203.0.113.7"),
        ("127.0.0.1", ["198.51.100.1, [2001:db8:1:2::1]:443"], "2001:db8:1:2::/64"),
        ("127.0.0.1", ["198.51.100.1, unknown"], "127.0.0.1"),
        ("::ffff:127.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("::ffff:203.0.113.7", [], "203.0.113.7"),
        ("", ["203.0.113.7"], ""),
    ],
)
def test_the_last_address_that_is_no_proxys_counts(remote: str, forwarded_for: list[str], peer: str) -> None:
    assert peer_of(remote, forwarded_for, PROXIES) == peer


def test_a_household_is_one_peer() -> None:
    """It has 2 to the 64th addresses, and could guess from a new one each time."""
    peers = {peer_of(address, [], PROXIES) for address in ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9")}

    assert peers == {"2001:db8:1:2::/64"}
    assert peer_of("2001:db8:1:3::1", [], PROXIES) not in peers


@pytest.mark.parametrize(
    ("remote", "forwarded_proto", "secure"),
    [
        ("127.0.0.1", ["https"], True),
        ("127.0.0.1", ["http, https"], True),  # what the last proxy saw
        ("127.0.0.1", ["https, http"], False),
        ("127.0.0.1", [], False),
        ("203.0.113.7", ["https"], False),
        ("", ["https"], False),
    ],
)
def test_tls_is_believed_of_a_proxy_alone(remote: str, forwarded_proto: list[str], secure: bool) -> None:
    assert is_secure(remote, forwarded_proto, PROXIES) is secure
