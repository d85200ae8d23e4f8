"""Who may see the bot's own web server: decided from headers alone (pure).

On the loopback interface whoever sits at the machine is let in, but no page of another origin that their browser shows:
its requests have another Host (DNS rebinding) or another Origin. Where a token is set it is asked for, there too.
"""

import hmac
import ipaddress
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import urlsplit

COOKIE = "clawdbot"
"""What the cookie's name begins with."""
SHORTEST_TOKEN = 16
"""Characters; what is shorter can be guessed."""


def is_loopback(host: str) -> bool:
    """Whether ``host``, a name or an address, is reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Asking:
    """What counts of a request; "" where a header is not there."""

    host: str
    origin: str
    authorization: str
    cookie: str
    """The value of the server's own."""
    fetch_site: str = ""
    """Sec-Fetch-Site: what the browser says about the page that makes the request."""
    peer: str = ""
    """The address that it comes from."""
    secure: bool = False
    """Whether it came by TLS, as far as the proxy."""

    @property
    def token(self) -> str:
        """What was given as a bearer's token, as Prometheus sends it."""
        scheme, _, token = self.authorization.partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""


@dataclass(frozen=True, slots=True)
class Guard:
    """The rules of one run."""

    token: str | None
    """None on the loopback interface alone."""
    session: str
    """A secret of this run: the cookie of whoever was let in."""

    def names_this_server(self, asking: Asking) -> bool:
        """Whether the request was meant for this server, and not for a name that somebody has led here.

        With a token any name may be ours: what such a page lacks is the cookie.
        """
        return self.token is not None or is_loopback(_host_of(f"//{asking.host}"))

    def knows(self, asking: Asking) -> bool:
        """Whether it comes from somebody who was let in, or has the token with it."""
        return _same(asking.cookie, self.session) or self.has_token(asking)

    def has_token(self, asking: Asking) -> bool:
        """Whether it has the token with it."""
        return self.is_token(asking.token)

    def is_token(self, token: str) -> bool:
        """Whether that is the token."""
        return self.token is not None and _same(token, self.token)

    def from_own_page(self, asking: Asking) -> bool:
        """Whether a request that changes something was made by the bot's own page, or by a program with the token."""
        return self.has_token(asking) or (asking.origin != "" and _place_of(asking.origin) == asking.host.lower())

    def from_another_page(self, asking: Asking) -> bool:
        """Whether the browser says that the page of another origin asks; that of another port is one, too."""
        return asking.fetch_site in ("cross-site", "same-site") and not self.has_token(asking)


def _place_of(origin: str) -> str:
    """Host and port as they stand in an Origin; "" for what is none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _same(given: str, secret: str) -> bool:
    """In a time that tells nothing about the secret, its length included."""
    return hmac.compare_digest(_digest(given), _digest(secret))


def _digest(text: str) -> bytes:
    # A header may hold any bytes, a form any characters: half ones are let through to be wrong.
    return sha256(text.encode(errors="surrogatepass")).digest()
