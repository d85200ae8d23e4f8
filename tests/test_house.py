"""Rules of the whole tree that no linter knows."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import clawdbot

ROOT = Path(__file__).parents[1]
CORE = ROOT / "clawdbot"
ADAPTERS = ROOT / "adapters"
SEAMS = {
    "clawdbot.abilities",
    "clawdbot.attached",
    "clawdbot.chat",
    "clawdbot.menu",
    "clawdbot.errors",
    "clawdbot.clock",
    "clawdbot.hosted",
}
"""What an adapter may know of the core."""

LONGEST_MODULE, LONGEST_FUNCTION = 350, 60
"""Lines; above them nobody holds it in his head."""

MACHINE = re.compile(r"(?<![\w.~-])/(?:work|root|opt|home/\w+|Users/\w+|tmp/x)/")
INDEX = re.compile(r"(?:pypi\.org|pythonhosted\.org|download\.pytorch\.org|registry\.npmjs\.org)")
ENGINES = {"vllm", "torch", "transformers", "openai"}
"""They come with one of the extras, cpu, cuda or remote."""

INDEX_ALLOWED = {
    # The one index that has torch's builds for the CPU.
    "Makefile": {"download.pytorch.org"},
    "Dockerfile": {"download.pytorch.org"},
}


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def texts() -> Iterator[tuple[str, str]]:
    """Name and text of every tracked text file but this one, which spells what it looks for."""
    for path in tracked():
        data = path.read_bytes()
        if path != Path(__file__) and b"\0" not in data:
            yield str(path.relative_to(ROOT)), data.decode("utf-8")


def modules(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports(path: Path) -> set[str]:
    """Every module that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            # "from clawdbot import chat" imports clawdbot.chat.
            found |= {f"{module}.{alias.name}" for alias in node.names} if module == "clawdbot" else {module}
    return found


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring, which is not what has to be held in the head."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None and isinstance(first, ast.Expr):
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def test_no_file_names_a_path_of_one_machine() -> None:
    found = {(name, match) for name, text in texts() for match in MACHINE.findall(text)}

    assert found == set()


def test_no_file_names_a_package_index_but_torchs_own() -> None:
    found = {
        (name, match)
        for name, text in texts()
        for match in INDEX.findall(text)
        if match not in INDEX_ALLOWED.get(name, set())
    }

    assert found == set()


@pytest.mark.parametrize("path", modules(CORE, ADAPTERS), ids=name_of)
def test_a_module_fits_in_a_head(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    functions = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]

    assert len(source.splitlines()) <= LONGEST_MODULE
    assert {node.name: length(node) for node in functions if length(node) > LONGEST_FUNCTION} == {}


def test_the_adapters_folder_is_no_package() -> None:
    """A top-level package called "adapters" would collide with a library of that name."""
    assert not (ADAPTERS / "__init__.py").exists()


def test_the_core_imports_no_adapter() -> None:
    adapters = {path.name for path in ADAPTERS.iterdir() if path.is_dir()}
    found = {
        (name_of(path), module)
        for path in modules(CORE)
        for module in imports(path)
        if module.split(".")[0] in adapters
    }

    assert found == set()


def test_an_adapter_knows_only_the_seams_of_the_core() -> None:
    found = {
        (name_of(path), module)
        for path in modules(ADAPTERS)
        for module in imports(path)
        if module.split(".")[0] == "clawdbot" and module not in SEAMS
    }

    assert found == set()


def test_an_adapter_imports_no_other_adapter() -> None:
    found = {
        (name_of(path), module)
        for path in modules(ADAPTERS)
        for module in imports(path)
        if module.startswith("clawdbot_") and module.split(".")[0] != path.relative_to(ADAPTERS).parts[0]
    }

    assert found == set()


def test_one_module_imports_vllm() -> None:
    found = {name_of(path) for path in modules(CORE, ADAPTERS) if any(_is_vllm(name) for name in imports(path))}

    assert found == {"clawdbot/engine/vllm.py"}


def test_one_package_knows_prometheus() -> None:
    """The core tells facts; what becomes of them is the affair of whoever watches it."""
    found = {
        name_of(path)
        for path in modules(CORE, ADAPTERS)
        if any(name.split(".")[0] == "prometheus_client" for name in imports(path))
    }

    assert all(name.startswith("clawdbot/ops/") for name in found)


def test_what_is_imported_is_declared() -> None:
    """A library that only comes along with another one leaves when that one does."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.split(r"[^\w.-]", wanted)[0].replace(".", "-").lower() for wanted in project["dependencies"]}
    own = {"clawdbot"} | {path.name for path in ADAPTERS.iterdir()}
    imported = {name.split(".")[0] for path in modules(CORE, ADAPTERS) for name in imports(path)}
    distributions = packages_distributions()

    undeclared = {
        name
        for name in imported - own - ENGINES - sys.stdlib_module_names
        if not declared & {re.sub("[._]", "-", found).lower() for found in distributions.get(name, [])}
    }

    assert undeclared == {"pydantic_core"}, "and that one is pydantic's own"


def _is_vllm(module: str) -> bool:
    return module.split(".")[0] == "vllm"


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert project["version"] == clawdbot.__version__


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    """A command line that only prints its help must not wait for torch."""
    heavy = ("torch", "transformers", "vllm", "matplotlib")
    light = "clawdbot.settings.config, clawdbot.plugins, clawdbot.engine.models"
    code = f"import sys, {light}; print(*set({heavy}) & set(sys.modules))"

    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    assert said.split() == []


def test_arithmetic_on_times_needs_no_library_that_reads_the_machine() -> None:
    """Whoever keeps or prints a timing would load NVML's and psutil's."""
    heavy, pure = ("psutil", "pynvml"), "clawdbot.latency.timing, clawdbot.latency.report, clawdbot.store"
    code = f"import sys, {pure}; print(*set({heavy}) & set(sys.modules))"

    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    assert said.split() == []
