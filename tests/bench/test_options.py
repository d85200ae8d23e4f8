from pathlib import Path

import pytest

from clawdbot.bench.options import writable
from clawdbot.errors import ConfigError


def test_a_file_in_a_folder_that_does_not_exist_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no folder"):
        writable(tmp_path / "missing" / "load.json")


def test_a_file_in_a_folder_that_exists_is_taken(tmp_path: Path) -> None:
    assert writable(tmp_path / "load.json") == tmp_path / "load.json"
    assert writable(None) is None
