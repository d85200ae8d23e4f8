"""Who asks when a proxy stands between: what it says is believed of the proxies that the settings name (pure)."""

import ipaddress
from collections.abc import Collection, Sequence

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

HOUSEHOLD = 64
"""Bits of an IPv6 address that one household has in common; the others it chooses as it likes."""


def peer_of(remote: str, forwarded_for: Sequence[str], proxies: Collection[Network]) -> str:
    """Whom a request comes from: ``remote``, or, where that is one of the ``proxies``, whom it asks for.

    ``forwarded_for`` are the values of X-Forwarded-For. Each proxy adds whoever asked it at the end, so the last
    address that is no proxy's counts: what stands before that, or before what is no address, anybody may have written.
    An IPv6 address stands for its /64.
    """
    last = _address(remote)
    for told in reversed([part.strip() for value in forwarded_for for part in value.split(",")]):
        before = _address(_host(told))
        if last is None or before is None or not _is_one_of(last, proxies):
            break
        last = before
    return remote if last is None else _household(last)


def is_secure(remote: str, forwarded_proto: Sequence[str], proxies: Collection[Network]) -> bool:
    """Whether the way to the proxy was TLS, by what it says in X-Forwarded-Proto."""
    address = _address(remote)
    if address is None or not _is_one_of(address, proxies):
        return False
    return ",".join(forwarded_proto).rpartition(",")[2].strip().lower() == "https"


def _address(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    # What a socket for both kinds calls an IPv4 address.
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address


def _host(told: str) -> str:
    """What ``told`` names, without the port that some proxies write behind it."""
    if told.startswith("["):
        return told[1:].partition("]")[0]
    return told.partition(":")[0] if told.count(":") == 1 else told


def _is_one_of(address: Address, networks: Collection[Network]) -> bool:
    return any(address in network for network in networks)


def _household(address: Address) -> str:
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(ipaddress.ip_network((address.packed, HOUSEHOLD), strict=False))
