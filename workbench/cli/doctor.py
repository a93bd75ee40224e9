"""What this machine has and what it lacks: the checks behind `python -m workbench doctor`.

Every check looks at the thing itself (the compiler is asked for its version, the engine computes a mask) and returns
`Check`s; none of them raises.  `needed` marks what the main job cannot do without; `mend` is the command that repairs.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from workbench.data import CHECKOUT, data_folder

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
IN_CHECKOUT = (CHECKOUT / "Makefile").is_file()
INSTALL = "make venv" if IN_CHECKOUT else "pip install 'maskscope[workbench,generate]'"
REBUILD = "make build" if IN_CHECKOUT else "pip install --force-reinstall --no-deps maskscope"
TIMEOUT = 20  # seconds that an asked program gets to answer


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: `status` is "ok", "missing" or "broken"; `detail` what was found; `mend` what to do, if anything."""

    name: str
    status: str
    detail: str
    needed: bool = True
    mend: str | None = None


def examine() -> list[Check]:
    """Run all checks, in the order of the report.  A check that fails in an unforeseen way is itself a finding."""
    found: list[Check] = []
    for check in CHECKS:
        try:
            found += check()
        except Exception as error:
            name = check.__name__.removeprefix("_check_").replace("_", " ")
            found.append(Check(name, "broken", _first_line(error)))
    return found


def print_report(found: list[Check], *, as_json: bool = False) -> int:
    """Print the findings as a table or as JSON; returns the exit code, 0 when everything needed is there."""
    failed = [check for check in found if check.needed and check.status != "ok"]
    if as_json:
        print(json.dumps({"ok": not failed, "checks": [asdict(check) for check in found]}, indent=2))
        return bool(failed)
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Maskscope on this machine", title_justify="left", box=box.SIMPLE, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in found:
        color = "green" if check.status == "ok" else "red" if check.needed else "yellow"
        detail = Text(check.detail)
        if check.mend:
            detail.append(f"\nto mend: {check.mend}", "bold")
        table.add_row(Text(check.status, color), Text(check.name), detail)
    console = Console()
    console.print(table)
    if failed:
        console.print(f"[red]The main job does not work yet:[/] mend {', '.join(check.name for check in failed)}.")
    else:
        console.print("[green]The main job works.[/] What is yellow is optional.")
    return bool(failed)


def find_chromium() -> str | None:
    """The path of a Chromium or Chrome for browser tests, or None."""
    return next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)


def _check_python() -> Iterator[Check]:
    text = f"{platform.python_version()} at {sys.executable}"
    yield Check("Python", "ok" if sys.version_info >= (3, 11) else "broken", text, mend=None)


def _check_compiler() -> Iterator[Check]:
    """Needed to change the engine, not to run one that is built: the engine has its own check."""
    names = (os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "g++").split()[0], "g++"
    compiler = next((path for name in names if (path := shutil.which(name))), None)
    headers = Path(sysconfig.get_path("include")) / "Python.h"
    if compiler is None:
        yield Check("C++ compiler", "missing", "the engine cannot be rebuilt", False, _apt("g++"))
    elif not headers.is_file():
        detail = f"{_ask(compiler, '--version')}, but Python's headers are missing"
        yield Check("C++ compiler", "missing", detail, False, _apt("python3-dev"))
    else:
        yield Check("C++ compiler", "ok", _ask(compiler, "--version"), False)


def _check_engine() -> Iterator[Check]:
    """Import it, notice whether it is stale, and let it compute a mask that is known."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            import kernels_core as engine
        except ImportError as error:
            yield Check("engine", "missing", _first_line(error), mend=REBUILD)
            return
    from kernels_core._freshness import StaleEngineWarning

    stale = next((item for item in caught if issubclass(item.category, StaleEngineWarning)), None)
    if stale is not None:
        yield Check("engine", "broken", _first_line(stale.message), mend=REBUILD)
        return
    vocabulary: list[str | bytes] = [b"a", b"b", b"ab", b"c", b"</s>"]
    info = engine.TokenizerInfo(vocabulary, stop_token_ids=[4])
    compiled = engine.GrammarCompiler(info).compile_grammar('root ::= "a" "b"')
    bitmask = engine.allocate_token_bitmask(1, info.vocab_size)
    engine.GrammarMatcher(compiled).fill_next_token_bitmask(bitmask)
    allowed = int(bitmask[0, 0]) & (1 << info.vocab_size) - 1
    right = allowed == 0b00101
    detail = "built, fresh, and masks are right" if right else f"a known mask came out as {allowed:05b}, not 00101"
    yield Check("engine", "ok" if right else "broken", detail, mend=None if right else REBUILD)


def _check_front_end() -> Iterator[Check]:
    """The bundle that widgets and pages carry."""
    from visualizers.assets import PARTS, part

    try:
        size = sum(len(part(name)) for name in PARTS)
    except FileNotFoundError as error:
        yield Check("front end", "missing", _first_line(error), mend=REBUILD)
        return
    yield Check("front end", "ok", f"bundled, {size / 1024:.0f} KiB deflated")


def _check_libraries() -> Iterator[Check]:
    groups = {
        "numpy": ("numpy", "referencing"),
        "notebook": ("jupyterlab", "ipywidgets", "anywidget", "graphviz", "pandas", "plotly", "nbconvert"),
        "tokenizer libraries": ("mistral-common", "tokenizers", "tiktoken", "sentencepiece"),
        "model libraries": ("torch", "transformers", "safetensors"),
    }
    for group, names in groups.items():
        yield _installed(group, names)
    yield _installed("peers", ("xgrammar", "llguidance"), needed=False)


def _installed(group: str, names: tuple[str, ...], *, needed: bool = True) -> Check:
    versions: dict[str, str] = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    missing = [name for name in names if name not in versions]
    detail = ", ".join(f"{name} {version}" for name, version in versions.items())
    if not missing:
        return Check(group, "ok", detail, needed)
    detail = ", ".join(filter(None, [f"without {', '.join(missing)}", detail]))
    return Check(group, "missing", detail, needed, INSTALL if needed else f"pip install {' '.join(missing)}")


def _check_accelerator() -> Iterator[Check]:
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        yield Check("CUDA", "missing", _first_line(error), False)
        return
    if torch.cuda.is_available():
        names = ", ".join(torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count()))
        yield Check("CUDA", "ok", f"{names} (CUDA {torch.version.cuda})", False)
    else:
        built = "a CPU build of PyTorch" if torch.version.cuda is None else f"built for CUDA {torch.version.cuda}"
        yield Check("CUDA", "missing", f"no GPU in use ({built}); models run on the CPU", False, "README, 'On a GPU'")


def _check_default_tokenizer() -> Iterator[Check]:
    from workbench.tokenizers import load_tokenizer

    info = load_tokenizer("tekken").info
    yield Check("default tokenizer", "ok", f"Tekken, {info.vocab_size:,} ids")


def _check_demo_model() -> Iterator[Check]:
    from workbench.generation import load_model

    yield Check("demo model", "ok", str(load_model("demo")))


def _check_programs() -> Iterator[Check]:
    dot, chromium = shutil.which("dot"), find_chromium()
    without = "Graphviz's program; without it only live panels draw automata, and files have a table"
    yield _optional("dot", dot and _ask(dot, "-V"), without, _apt("graphviz"))
    browser = chromium and _ask(chromium, "--version")
    yield _optional("Chromium", browser, "browser tests are skipped", _apt("chromium", "fonts-dejavu-core"))


def _check_data() -> Iterator[Check]:
    folder = data_folder()
    yield _optional(
        "data folder", str(folder) if folder else None, "tests that need it are skipped", "set MASKSCOPE_DATA"
    )


def _optional(name: str, found: str | None, without: str, mend: str) -> Check:
    """Something that was `found` or is missing, without which the main job works."""
    return Check(name, "ok", found, False) if found else Check(name, "missing", without, False, mend)


CHECKS: tuple[Callable[[], Iterator[Check]], ...] = (
    _check_python,
    _check_compiler,
    _check_engine,
    _check_front_end,
    _check_libraries,
    _check_accelerator,
    _check_default_tokenizer,
    _check_demo_model,
    _check_programs,
    _check_data,
)


def _ask(program: str, option: str) -> str:
    """The first line a program prints about its version (`dot -V` writes it to standard error)."""
    try:
        done = subprocess.run([program, option], capture_output=True, text=True, timeout=TIMEOUT)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{program} does not answer: {_first_line(error)}"
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return lines[0].strip() if lines else program


def _apt(*packages: str) -> str:
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"{sudo}apt-get install -y --no-install-recommends {' '.join(packages)}"


def _first_line(error: object) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]
