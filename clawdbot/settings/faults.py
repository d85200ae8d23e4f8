"""What is wrong with a table of settings, said in sentences that name key, value and what is allowed."""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic_core import ErrorDetails

from clawdbot.errors import ConfigError

Model = TypeVar("Model", bound=BaseModel)

# The value of a key that ends like this is never repeated in a message.
SECRET = re.compile(r"(^|[._])(token|secret|password|proxy|api_key)$", re.IGNORECASE)
LONGEST = 60
"""Characters of a value that are repeated."""
LISTED = 24
"""Names that are listed at most where none is like the unknown one: vLLM has two hundred arguments."""


def validate(model: type[Model], data: Mapping[str, Any], *, source: str, at: tuple[str, ...] = ()) -> Model:
    """Make a ``model`` of ``data``, the table at key path ``at`` of ``source``.

    Raises `ConfigError` with one sentence for every fault.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False)
    # Outside of the handler: pydantic's own error repeats the values, a token among them.
    raise ConfigError(source, *(_sentence(model, data, detail, at) for detail in details))


def nearest(name: str, known: Iterable[str]) -> str:
    """What to write instead of an unknown ``name``: the nearest one, or all where none is near and they are few."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    if len(names) > LISTED:
        return f"none of the {len(names):,} known ones is like it."
    return f"known here: {', '.join(names)}." if names else "nothing is known here."


def _sentence(model: type[BaseModel], data: Mapping[str, Any], detail: ErrorDetails, at: tuple[str, ...]) -> str:
    path = _path(data, detail)
    key = _key((*at, *path))
    if detail["type"] == "missing":
        return f"{key} is missing."
    if detail["type"] == "extra_forbidden":
        return f"{key} is not a known setting; {nearest(str(path[-1]), _names(model, path[:-1]))}"
    return f"{key}{_shown(key, detail['input'])}: {_allowed(detail)}"


def _path(data: Mapping[str, Any], detail: ErrorDetails) -> tuple[str | int, ...]:
    """Where the fault is in ``data``; pydantic's own path also names the members of unions."""
    here: Any = data
    path: list[str | int] = []
    for part in detail["loc"]:
        is_key = isinstance(here, Mapping) and (part in here or detail["type"] == "missing")
        if is_key:
            here = here.get(part)
        elif isinstance(here, list) and isinstance(part, int):
            here = here[part] if part < len(here) else None
        else:
            continue
        path.append(part)
    return tuple(path)


def _key(path: Iterable[str | int]) -> str:
    key = ""
    for part in path:
        key += f"[{part}]" if isinstance(part, int) else f".{part}" if key else part
    return key or "the file"


def _names(model: type[BaseModel], path: Iterable[str | int]) -> list[str]:
    """The settings of the table at ``path`` of ``model``."""
    here: Any = model
    for part in path:
        if isinstance(here, type) and issubclass(here, BaseModel):
            here = here.model_fields[str(part)].annotation if part in here.model_fields else None
        else:  # a table of tables: its values have one type
            here = next((arg for arg in reversed(get_args(here)) if arg is not type(None)), None)
    return list(here.model_fields) if isinstance(here, type) and issubclass(here, BaseModel) else []


def _shown(key: str, value: Any) -> str:
    if isinstance(value, SecretStr) or SECRET.search(key):
        return ""
    if isinstance(value, bool):
        return f" = {str(value).lower()}"
    if isinstance(value, str):
        return f' = "{value if len(value) <= LONGEST else value[: LONGEST - 1] + "…"}"'
    if isinstance(value, int | float):
        return f" = {value}"
    return ""


_ALLOWED: dict[str, str] = {
    "int_type": "it must be a whole number.",
    "int_parsing": "it must be a whole number.",
    "int_from_float": "it must be a whole number.",
    "float_type": "it must be a number.",
    "float_parsing": "it must be a number.",
    "finite_number": "it must be a finite number.",
    "bool_type": "it must be true or false.",
    "bool_parsing": "it must be true or false.",
    "string_type": "it must be a text in quotes.",
    "string_pattern_mismatch": "it must match {pattern}",
    "path_type": "it must be a path in quotes.",
    "model_type": "it must be a table.",
    "dict_type": "it must be a table.",
    "mapping_type": "it must be a table.",
    "list_type": "it must be a list in square brackets.",
    "tuple_type": "it must be a list in square brackets.",
    "frozen_set_type": "it must be a list in square brackets.",
    "literal_error": "it must be {expected}.",
    "enum": "it must be {expected}.",
    "greater_than": "it must be more than {gt:g}.",
    "greater_than_equal": "it must be at least {ge:g}.",
    "less_than": "it must be less than {lt:g}.",
    "less_than_equal": "it must be at most {le:g}.",
    "too_short": "it must hold {min_length} or more.",
    "value_error": "{error}",
}


def _allowed(detail: ErrorDetails) -> str:
    sentence = _ALLOWED.get(detail["type"])
    return sentence.format(**detail.get("ctx", {})) if sentence else f"{detail['msg']}."
