"""``clawdbot bench report``: a folder with a page and a picture for each file."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from clawdbot.bench.report.cli import report
from clawdbot.cli import cli
from clawdbot.errors import ConfigError

from ..results import LOAD, OVERHEAD


def saved(path: Path, content: dict[str, object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_each_file_becomes_a_picture_on_one_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [saved(tmp_path / "mine.json", LOAD), saved(tmp_path / "other.json", OVERHEAD)]
    out = tmp_path / "new" / "folder"

    report(files, out)

    assert sorted(path.name for path in out.iterdir()) == ["mine.png", "other.png", "report.md"]
    text = (out / "report.md").read_text(encoding="utf-8")
    assert "![mine](mine.png)" in text
    assert "![other](other.png)" in text
    assert capsys.readouterr().out == f"{out / 'report.md'}\n"


def test_a_file_may_have_any_name(tmp_path: Path) -> None:
    """Of its picture the page needs the address, in which some signs mean something."""
    report([saved(tmp_path / "my run (2)].json", OVERHEAD)], tmp_path / "out")

    assert (tmp_path / "out" / "my run (2)].png").is_file()
    assert "![my run (2))](my%20run%20%282%29%5D.png)" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")


def test_it_is_a_command_of_bench(tmp_path: Path) -> None:
    file = saved(tmp_path / "mine.json", OVERHEAD)

    ended = CliRunner().invoke(cli, ["bench", "report", str(file), "--out", str(tmp_path / "out")])

    assert ended.exit_code == 0
    assert (tmp_path / "out" / "report.md").is_file()


def test_files_with_the_same_name_do_not_overwrite_each_other(tmp_path: Path) -> None:
    files = [saved(tmp_path / f"{folder}/load.json", LOAD) for folder in ("one", "two")]
    files.append(saved(tmp_path / "load-2.json", LOAD))

    report(files, tmp_path / "out")

    assert {path.stem for path in (tmp_path / "out").glob("*.png")} == {"load", "load-2", "load-2-2"}


def test_nothing_is_written_when_one_file_is_no_result(tmp_path: Path) -> None:
    files = [saved(tmp_path / "mine.json", LOAD), saved(tmp_path / "odd.json", {"a": 1})]

    with pytest.raises(ConfigError, match=r"odd\.json: holds no results"):
        report(files, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    """A file lies in its place."""
    file = saved(tmp_path / "mine.json", OVERHEAD)

    with pytest.raises(ConfigError, match=r"^--out: .*mine\.json cannot be written"):
        report([file], file)
