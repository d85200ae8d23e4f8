"""The list of field failures in docs/testing.md names tests that exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)))
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| what ")]


@cache
def functions(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_bytes())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_named_test_exists(file: str, name: str) -> None:
    """A test that is renamed takes its line along."""
    assert name in functions(file)


@pytest.mark.parametrize("row", ROWS)
def test_every_failure_has_a_test(row: str) -> None:
    assert re.search(r"`[\w/]+\.py::\w+`", row)
