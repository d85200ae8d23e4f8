"""Which stages of a Dockerfile a target is made from."""

from .stages import argument, needed

TEXT = """# syntax
ARG PYTHON=3.11-slim
FROM python:${PYTHON} AS tools
RUN one

FROM tools AS built-a
RUN two
FROM tools AS built-b
RUN three
FROM python:${PYTHON} AS base
USER 1

FROM base AS a
COPY --from=built-a /venv /venv
FROM base AS b
COPY --from=built-b /venv /venv
"""


def test_only_what_a_target_is_made_from_is_kept_and_as_it_stands() -> None:
    assert needed(TEXT, "b") == TEXT.replace("FROM tools AS built-a\nRUN two\n", "").replace(
        "FROM base AS a\nCOPY --from=built-a /venv /venv\n", ""
    )


def test_the_default_of_an_argument() -> None:
    assert argument(TEXT, "PYTHON") == "3.11-slim"
