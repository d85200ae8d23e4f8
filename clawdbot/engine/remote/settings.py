"""``[engine.remote]``: where the servers are, and what they do not tell."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SecretStr

from clawdbot.engine.remote.waits import Waits
from clawdbot.errors import ConfigError
from clawdbot.settings.section import Count, Section

KEY = "CLAWDBOT_ENGINE_API_KEY"
"""The environment variable with the key that the servers of `[engine]` ask for."""

_ADDRESS = re.compile(r"https?://[^\s/@?#]+(/[^\s@?#]*)?")


def _address(value: Any) -> Any:
    if isinstance(value, str) and not _ADDRESS.fullmatch(value):
        raise ValueError('it must be an address such as "http://127.0.0.1:8000/v1", with no name or password in it.')
    return value


def _images(value: Any) -> Any:
    if value != "ask" and not (type(value) is int and value >= 0):
        raise ValueError('it must be "ask", or a whole number from 0 on.')
    return value


Address = Annotated[str, BeforeValidator(_address)]
Images = Annotated[int | Literal["ask"], BeforeValidator(_images)]


class RemoteSettings(Section):
    """``[engine.remote]``: the servers that run the model where ``kind`` is "remote". Times are seconds."""

    endpoints: Annotated[tuple[Address, ...], Field(strict=False)] = ()
    """Each a `vllm serve`, or a router in front of several; ends in "/v1"."""
    model: str = ""
    """As the servers call it; "" for the only one that they have."""
    tokenizer: str = ""
    """A folder or a hub name; "" for where the server says that it has its model from."""
    context: int = Field(0, ge=0)
    """Tokens of prompt and answer together; 0 asks the servers."""
    step_budget: Count = 2048
    """The servers' ``max_num_batched_tokens``, which they do not tell: a prompt beyond it is a long one."""
    cache_tokens: int = Field(0, ge=0)
    """How much all their prefix caches hold; 0 asks them."""
    images: Images = "ask"
    """How many pictures one question may have; "ask" tries the servers with one, at last with the first that comes."""
    connect_timeout: float = Field(5.0, gt=0)
    first_token_timeout: float = Field(120.0, gt=0)
    """From the request to the first token, the server's own queue included."""
    token_timeout: float = Field(60.0, gt=0)
    """Between two tokens."""
    away_after: float = Field(20.0, gt=0)
    """When none of them can be reached for so long, people are told; they are tried further for ``start_timeout``."""
    health_interval: float = Field(2.0, gt=0)
    """Between two checks of each server; one that has failed is looked at at once."""
    health_timeout: float = Field(5.0, gt=0)
    api_key: SecretStr | None = None
    """From the environment alone."""

    @property
    def key(self) -> str | None:
        """The key as it is sent; not to be shown."""
        return self.api_key.get_secret_value() if self.api_key else None

    @property
    def waits(self) -> Waits:
        """How long a server may take."""
        return Waits(self.connect_timeout, self.first_token_timeout, self.token_timeout, self.health_timeout)


def with_key(
    found: RemoteSettings, environ: Mapping[str, str], source: str, *, at: str, variable: str
) -> RemoteSettings:
    """``found`` of the table ``at`` in the file ``source``, with the key from the environment variable ``variable``.

    Raises `ConfigError` for one in the file.
    """
    if found.api_key is not None:
        fault = f"a key does not belong in this file. Put it into the environment variable {variable}."
        raise ConfigError(source, f"{at}.remote.api_key: {fault}")
    key = environ.get(variable, "").strip()
    return found.model_copy(update={"api_key": SecretStr(key)}) if key else found
