import logging
import re
import tomllib
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from clawdbot import plugins
from clawdbot.errors import ConfigError
from clawdbot.settings.config import Allowed, Quota, Settings, find, load
from clawdbot.settings.faults import validate

EXAMPLE = Path(__file__).parents[2] / "config.example.toml"
TOKEN = "123456:a-token-that-nobody-may-see"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def read(file: Path, text: str, **environ: str) -> Settings:
    file.write_text(text, encoding="utf-8")
    return load(file, environ)


def faults(file: Path, text: str, **environ: str) -> tuple[str, ...]:
    """What is said about a file with this text."""
    with pytest.raises(ConfigError) as caught:
        read(file, text, **environ)
    assert caught.value.source == str(file)
    return caught.value.faults


class TestWhatIsRead:
    def test_an_empty_file_means_all_defaults_and_nobody_may_talk(self, file: Path) -> None:
        settings = read(file, "")

        assert settings.engine.model == "demo"
        assert settings.access == {}
        assert settings.adapters == {}

    def test_ids_are_kept_by_platform(self, file: Path) -> None:
        settings = read(file, "[access.telegram]\nchats = [-100123]\nadmins = [7]")

        assert settings.access == {"telegram": Allowed(chats=frozenset({-100123}), admins=frozenset({7}))}

    def test_quotas_are_those_of_all_platforms(self, file: Path) -> None:
        settings = read(file, "[access.telegram]\n[access.quota]\ntokens_per_day = 9")

        assert (settings.quota, set(settings.access)) == (Quota(tokens_per_day=9), {"telegram"})

    def test_relative_paths_start_at_the_files_folder(self, file: Path) -> None:
        assert read(file, '[store]\npath = "a/b.sqlite3"').store.path == file.parent / "a/b.sqlite3"

    def test_engine_arguments_are_passed_as_they_are(self, file: Path) -> None:
        settings = read(file, "[engine.args]\nmax_model_len = 2048\nwhatever = {a = [1]}")

        assert settings.engine.args == {"max_model_len": 2048, "whatever": {"a": [1]}}

    def test_settings_cannot_be_changed(self, file: Path) -> None:
        with pytest.raises(ValueError, match="frozen"):
            read(file, "").answers.max_tokens = 3  # type: ignore[misc]

    def test_an_adapter_runs_when_it_has_a_table_that_does_not_turn_it_off(self, file: Path) -> None:
        settings = read(file, "[adapters.discord]\nfirst = [1.0]\n[adapters.telegram]\nenabled = false")

        assert {name: dict(table.options) for name, table in settings.adapters.items()} == {"discord": {"first": [1.0]}}


class TestWhichFile:
    def test_the_environment_names_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

        assert find({"CLAWDBOT_CONFIG": "/etc/clawdbot.toml"}) == Path("/etc/clawdbot.toml")

    def test_else_it_is_here(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(file.parent)
        file.touch()

        assert find({}) == Path("config.toml")

    def test_without_one_the_error_says_how_to_make_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

        with pytest.raises(ConfigError, match=r'Copy "config\.example\.toml" to it') as caught:
            load(None, {})
        assert caught.value.source == "config.toml"

    def test_a_file_that_is_not_there(self, file: Path) -> None:
        with pytest.raises(ConfigError, match="cannot be read: No such file or directory"):
            load(file, {})


class TestTokens:
    def test_come_from_the_environment(self, file: Path) -> None:
        token = read(file, "[adapters.discord]", CLAWDBOT_DISCORD_TOKEN=f" {TOKEN}\n").adapters["discord"].token

        assert token is not None
        assert token.get_secret_value() == TOKEN

    def test_come_from_a_file_that_the_configuration_names(self, file: Path) -> None:
        secret = file.parent / "secret"
        secret.write_text(f"{TOKEN}\n", encoding="utf-8")
        secret.chmod(0o600)

        token = read(file, '[adapters.telegram]\ntoken_file = "secret"').adapters["telegram"].token

        assert token is not None
        assert token.get_secret_value() == TOKEN

    def test_are_never_shown_with_the_settings(self, file: Path) -> None:
        settings = read(file, "[adapters.discord]", CLAWDBOT_DISCORD_TOKEN=TOKEN)

        assert TOKEN not in f"{settings!r} {settings} {settings.model_dump()}"

    def test_are_refused_in_the_file_without_being_repeated(self, file: Path) -> None:
        (fault,) = faults(file, f'[adapters.discord]\ntoken = "{TOKEN}"')

        assert fault.startswith("adapters.discord.token: a token does not belong in this file.")
        assert "CLAWDBOT_DISCORD_TOKEN" in fault
        assert TOKEN not in fault

    def test_a_file_that_everybody_can_read_is_warned_about(self, file: Path, caplog: pytest.LogCaptureFixture) -> None:
        secret = file.parent / "secret"
        secret.write_text(TOKEN, encoding="utf-8")
        secret.chmod(0o644)

        with caplog.at_level(logging.WARNING):
            read(file, '[adapters.telegram]\ntoken_file = "secret"')

        assert caplog.messages == [f"{secret} can be read by everybody on this machine; chmod 600 it."]

    @pytest.mark.parametrize(
        ("content", "said"), [(None, "cannot be read"), ("", "it is empty"), (b"\xff", "not text")]
    )
    def test_a_file_without_a_token(self, file: Path, content: str | bytes | None, said: str) -> None:
        secret = file.parent / "secret"
        if content is not None:
            secret.write_bytes(content.encode() if isinstance(content, str) else content)

        (fault,) = faults(file, '[adapters.telegram]\ntoken_file = "secret"')

        assert f'adapters.telegram.token_file = "{secret}"' in fault
        assert said in fault


FAULTS = {
    '[answers]\nmax_tokens = "many"': 'answers.max_tokens = "many": it must be a whole number.',
    "[answers]\nmax_tokens = 1.5": "answers.max_tokens = 1.5: it must be a whole number.",
    "[answers]\nmax_tokens = true": "answers.max_tokens = true: it must be a whole number.",
    "[answers]\nmax_tokens = 0": "answers.max_tokens = 0: it must be at least 1.",
    "[answers]\ntemperature = nan": "answers.temperature = nan: it must be a finite number.",
    "[answers]\ntop_p = 0": "answers.top_p = 0: it must be more than 0.",
    "[answers]\ntop_p = 2": "answers.top_p = 2: it must be at most 1.",
    "[answers]\nsystem_prompt = 3": "answers.system_prompt = 3: it must be a text in quotes.",
    "[answers]\ntemprature = 1": "answers.temprature is not a known setting; did you mean 'temperature'?",
    "[logging]\nxyz = 1": "logging.xyz is not a known setting; known here: format, level.",
    '[sessions]\nbusy = "wait"': "sessions.busy = \"wait\": it must be 'queue', 'interrupt' or 'refuse'.",
    "engine = 3": "engine = 3: it must be a table.",
    "[engin]": "engin is not a known setting; did you mean 'engine'?",
    "[access.discord]\nuser = [1]": "access.discord.user is not a known setting; did you mean 'users'?",
    "[access.quota]\nmessages_per_hour = -1": "access.quota.messages_per_hour = -1: it must be at least 0.",
    "[access.quota]\nmessages = 1": "access.quota.messages is not a known setting; did you mean 'messages_per_day'?",
    "[access]\nquota = 1": "access.quota = 1: it must be a table.",
    "[quota]\nmessages_per_hour = 1": "quota is not a known setting; did you mean 'access.quota'?",
    "[access.discord]\nusers = 1": "access.discord.users = 1: it must be a list in square brackets.",
    "[store]\npath = 3": "store.path = 3: it must be a path in quotes.",
    "adapters = 3": "adapters: it must be a table of tables, such as [adapters.discord].",
    "[adapters]\ndiscord = 3": "adapters.discord: it must be a table, [adapters.discord].",
    "[adapters.discord]\nenabled = 1": "adapters.discord.enabled: it must be true or false.",
    "[adapters.discord]\ntoken_file = 1": "adapters.discord.token_file: it must be a path in quotes.",
}


class TestFaults:
    @pytest.mark.parametrize("text", FAULTS)
    def test_name_key_value_and_what_is_allowed(self, file: Path, text: str) -> None:
        assert faults(file, text) == (FAULTS[text],)

    def test_are_all_said_at_once(self, file: Path) -> None:
        assert len(faults(file, "a = 1\n[answers]\nmax_tokens = 0\ntop_p = 7")) == 3

    def test_a_long_value_is_cut(self, file: Path) -> None:
        (fault,) = faults(file, f'[logging]\nlevel = "{"x" * 500}"')

        assert len(fault) < 200

    @pytest.mark.parametrize("entry", ['"alice"', '"123"', "true", "1.0"])
    def test_a_person_is_a_number_and_the_fault_says_where_to_find_it(self, file: Path, entry: str) -> None:
        (fault,) = faults(file, f"[access.discord]\nusers = [1, {entry}]")

        assert fault.startswith("access.discord.users[1] = ")
        assert "only a number" in fault
        assert "Developer Mode" in fault

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("[personas.default]\nsystem_prompt = 'x'", "that is what [answers] describes; give it another name."),
            ("[personas.'Big Bird']\nsystem_prompt = 'x'", "a name is made of small letters, digits,"),
            ("[personas.owl]\nabout = 'x'", "personas.owl.system_prompt is missing."),
            ("[personas.owl]\nsystem_prompt = 'x'\nmodel = 'y'", "personas.owl.model is not a known setting;"),
        ],
    )
    def test_a_persona_has_a_name_of_its_own_and_a_system_prompt(self, file: Path, text: str, said: str) -> None:
        (fault,) = faults(file, text)

        assert said in fault
        assert fault.startswith("personas.")

    def test_broken_toml_names_line_and_column(self, file: Path) -> None:
        (fault,) = faults(file, "[answers]\nmax_tokens = \n")

        assert re.search(r"is not valid TOML: .*line 2, column \d+", fault)

    def test_something_else_than_text(self, file: Path) -> None:
        file.write_bytes(b"\xff\xfe")

        with pytest.raises(ConfigError, match=r"is not UTF-8 text \(byte 0\)"):
            load(file, {})


class TestExample:
    """The example explains every setting there is, and shows its default."""

    def test_loads_as_it_is_with_every_platform_off(self) -> None:
        settings = load(EXAMPLE, {})

        assert settings.adapters == {}
        assert not any(ids for allowed in settings.access.values() for ids in allowed.model_dump().values())

    def test_has_every_setting_with_its_default(self) -> None:
        shown = tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))
        missing = [
            f"{key}: {value!r}"
            for key, value in _defaults()
            if _at(shown, key) != value and not (value is None and _mentioned(key))
        ]

        # The one default that depends on the machine is shown as a comment.
        assert [line.split(":")[0] for line in missing] == ["store.path"]
        assert _mentioned("store.path")

    def test_has_nothing_that_is_not_a_setting(self, file: Path) -> None:
        for name in ("discord.token", "telegram.token", "ops.token"):
            (file.parent / name).write_text(TOKEN, encoding="utf-8")
            (file.parent / name).chmod(0o600)
        everything = re.sub(r"^# ([a-z_]+ = )", r"\1", EXAMPLE.read_text(encoding="utf-8"), flags=re.MULTILINE)

        settings = read(file, everything.replace("enabled = false", "enabled = true"))

        assert set(plugins.build(settings, plugins.installed())) == {"discord", "telegram", "console", "web"}


def _defaults() -> list[tuple[str, Any]]:
    """Key path and default of every setting, the adapters' included."""
    known = plugins.installed()
    tables = {f"adapters.{name}": plugins.load(name, known, "here").settings for name in known}
    tables |= {"access.discord": Allowed, "access.quota": Quota}
    found = list(_fields(Settings, ""))
    for prefix, model in tables.items():
        found += _fields(model, f"{prefix}.")
    own = [f"quota.{name}" for name in Quota.model_fields]
    skipped = ("access", *own, "adapters", "engine.args", *(f"adapters.{name}.token" for name in known))
    return [(key, value) for key, value in found if key not in skipped]


def _fields(model: type[BaseModel], prefix: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found += _fields(field.annotation, f"{prefix}{name}.")
        else:
            assert name == "token" or not field.is_required(), f"{prefix}{name} has no default"
            found.append((prefix + name, _plain(field.get_default(call_default_factory=True))))
    return found


def _plain(value: Any) -> Any:
    """A value as TOML would give it."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list | frozenset):
        return [_plain(entry) for entry in value]
    if isinstance(value, IPv4Network | IPv6Network):
        return value.network_address.compressed if value.prefixlen == value.max_prefixlen else value.compressed
    return value


def _at(table: Any, key: str) -> Any:
    for part in key.split("."):
        table = table.get(part) if isinstance(table, dict) else None
    return table


def _mentioned(key: str) -> bool:
    section, _, name = key.rpartition(".")
    text = EXAMPLE.read_text(encoding="utf-8").partition(f"[{section}]\n")[2].partition("\n[")[0]
    return re.search(rf"^# {name} = ", text, flags=re.MULTILINE) is not None


class Inner(BaseModel, extra="forbid"):
    size: int | str = 1


class Outer(BaseModel, extra="forbid"):
    inner: Inner = Inner()
    pair: tuple[int, float] = (1, 1.0)
    token: int = 0
    wanted: int


class TestForeignModels:
    """A platform's own settings model gets the same sentences."""

    @pytest.mark.parametrize(
        ("data", "fault"),
        [
            ({}, "adapters.x.wanted is missing."),
            ({"wanted": 1, "inner": {"sise": 1}}, "adapters.x.inner.sise is not a known setting; did you mean 'size'?"),
            ({"wanted": 1, "pair": [1]}, "adapters.x.pair[1] is missing."),
            ({"wanted": 1, "token": "secret"}, "adapters.x.token: it must be a whole number."),
        ],
    )
    def test_are_explained_with_their_place_in_the_file(self, data: dict[str, Any], fault: str) -> None:
        with pytest.raises(ConfigError) as caught:
            validate(Outer, data, source="here", at=("adapters", "x"))

        assert caught.value.faults == (fault,)

    def test_a_fault_in_a_union_is_at_the_key_and_not_at_the_unions_member(self) -> None:
        with pytest.raises(ConfigError) as caught:
            validate(Outer, {"wanted": 1, "inner": {"size": []}}, source="here")

        assert {fault.split(":")[0] for fault in caught.value.faults} == {"inner.size"}


class TestOps:
    """``[ops]``: the bot's own web server."""

    def test_is_off_and_bound_to_this_machine(self, file: Path) -> None:
        ops = read(file, "").ops

        assert (ops.enabled, ops.host, ops.token) == (False, "127.0.0.1", None)

    def test_an_address_for_others_needs_a_token(self, file: Path) -> None:
        (fault,) = faults(file, '[ops]\nhost = "0.0.0.0"')

        assert fault.startswith('ops.host = "0.0.0.0": other machines reach the bot there')
        assert "CLAWDBOT_OPS_TOKEN" in fault

    def test_the_token_comes_from_the_environment(self, file: Path) -> None:
        ops = read(file, '[ops]\nhost = "0.0.0.0"', CLAWDBOT_OPS_TOKEN=TOKEN).ops

        assert ops.token is not None
        assert ops.token.get_secret_value() == TOKEN

    def test_a_token_that_can_be_guessed_is_refused_without_being_repeated(self, file: Path) -> None:
        with pytest.raises(ConfigError, match="must have 16 characters") as caught:
            read(file, "[ops]", CLAWDBOT_OPS_TOKEN="hunter2")

        assert "hunter2" not in str(caught.value)

    def test_a_proxy_is_an_address_or_a_network(self, file: Path) -> None:
        ops = read(file, '[ops]\nproxies = ["10.0.0.9", "172.18.0.0/16"]').ops

        assert [str(network) for network in ops.proxies] == ["10.0.0.9/32", "172.18.0.0/16"]

    @pytest.mark.parametrize("proxy", ['"proxy.example"', '"172.18.0.1/16"', "7"])
    def test_what_names_no_address_is_no_proxy(self, file: Path, proxy: str) -> None:
        (fault,) = faults(file, f"[ops]\nproxies = [{proxy}]")

        assert fault.startswith("ops.proxies[0] = ")
        assert 'such as "127.0.0.1"' in fault

    def test_a_token_in_the_file_is_refused(self, file: Path) -> None:
        (fault,) = faults(file, f'[ops]\ntoken = "{TOKEN}"')

        assert fault.startswith("ops.token: a token does not belong in this file.")
        assert TOKEN not in fault
