"""The Makefile, the environment script, the CI entry and the notebook export do what they say."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.project.tree import ROOT


def make(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    env.pop("MAKEFLAGS", None)  # the tests may themselves run under make
    env.pop("MAKELEVEL", None)
    return subprocess.run(["make", *words], cwd=ROOT, capture_output=True, text=True, timeout=60, env=env)


def test_chores_that_make_lists_are_well_formed() -> None:
    chores = re.findall(r"^  make ([\w-]+) +\S", make().stdout, re.MULTILINE)
    assert len(chores) > 5
    assert [(chore, done.stderr) for chore in chores if (done := make("--dry-run", chore)).returncode] == []


def test_torch_choice_is_remembered(tmp_path: Path) -> None:
    (tmp_path / ".stamp").write_text("gpu\n")
    assert "--torch gpu" in make("--dry-run", "-B", "venv", f"VENV={tmp_path}").stdout
    assert "--torch cpu" in make("--dry-run", "-B", "venv", f"VENV={tmp_path}", "TORCH=cpu").stdout


def test_absent_python_is_one_line(tmp_path: Path) -> None:
    done = make("venv", f"VENV={tmp_path}/none", "PYTHON=python-that-is-absent")
    assert done.returncode != 0
    assert "maskscope: python-that-is-absent not found. Run: apt-get install" in done.stdout + done.stderr


def load(script: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(script, ROOT / "tools" / f"{script}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[script] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def stopped(script: ModuleType) -> str:
    with pytest.raises(SystemExit) as caught:
        script.check_machine()
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_everything_missing_is_named_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = load("make_venv")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CXX", "g++")
    monkeypatch.setattr(script.sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setattr(script, "succeeds", lambda command: False)
    text = stopped(script)
    assert "a C++ compiler, Python's headers, Python's venv module missing. Run: " in text
    assert re.search(r"apt-get install .*g\+\+ python3[.\d]*-dev python3[.\d]*-venv$", text)


def test_old_python_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    script = load("make_venv")
    monkeypatch.setattr(script, "OLDEST", (99, 0))
    monkeypatch.setattr(script, "runs", lambda name: name == "python3.12")
    assert stopped(script).endswith("Run: make PYTHON=python3.12")
    monkeypatch.setattr(script, "runs", lambda name: False)
    assert "python3.11-venv" in stopped(script)


def test_folder_of_wheels_reaches_uv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = load("make_venv")
    (tmp_path / "torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl").touch()
    monkeypatch.setenv("PIP_FIND_LINKS", f"{tmp_path} {tmp_path}/absent")
    script.run(
        [sys.executable, "-c", f"import os; assert os.environ['UV_FIND_LINKS'] == '{tmp_path},{tmp_path}/absent'"]
    )
    assert script.wheel_at_hand("torch")
    assert not script.wheel_at_hand("numpy")


def test_requirements_are_those_of_the_project() -> None:
    names = {re.split(r"[<>=]", text)[0] for text in load("make_venv").requirements()}
    assert {"cython", "numpy", "referencing", "jupyterlab", "torch", "pytest", "ruff", "uv"} <= names
    assert not names & {"xgrammar", "llguidance"}


@pytest.mark.parametrize("script", [".ci/run", "tools/changed_rooms.sh", "tools/sanitize.sh"])
def test_shell_scripts_are_sound(script: str) -> None:
    path = ROOT / script
    assert os.access(path, os.X_OK)
    assert subprocess.run(["bash", "-n", str(path)]).returncode == 0


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The export of `page.ipynb` in this process; `tests/visualizers/test_strangers.py` calls the command."""
    for name in ("MASKSCOPE_STATIC", "PLOTLY_RENDERER"):
        monkeypatch.setenv(name, "")  # it sets them, and they are put back
    monkeypatch.setattr(sys, "argv", ["export_notebook", str(tmp_path / "page.ipynb"), str(tmp_path / "page.html")])
    return load("export_notebook")


def cells(*sources: str) -> nbformat.NotebookNode:
    made = [new_markdown_cell("# A page"), *(new_code_cell(source) for source in sources)]  # type: ignore[no-untyped-call]
    return new_notebook(cells=made)  # type: ignore[no-untyped-call, no-any-return]


def test_export_holds_its_pictures_and_asks_no_network(script: ModuleType, tmp_path: Path) -> None:
    """The HTML twin is preferred to the widget, whose scripts would come from a content network.  A bar that shows
    progress is a widget without a twin, and left out."""
    twin = (
        "from IPython.display import display\n"
        "display({'application/vnd.jupyter.widget-view+json': {'model_id': 'x'}, 'text/html': '<b>the twin</b>'},"
        " raw=True)"
    )
    progress = "from experiments.running import run\nrun('dispatch-size', 'smoke', progress=True)\n'the work is done'"
    notebook = cells(twin, "import os; print('static', os.environ['MASKSCOPE_STATIC'])", progress)
    nbformat.write(notebook, tmp_path / "page.ipynb")  # type: ignore[no-untyped-call]
    script.main()
    page = (tmp_path / "page.html").read_text()
    assert "<b>the twin</b>" in page
    assert not re.search(r"<script[^>]+src=.http", page)
    assert "static 1" in page
    assert "the work is done" in page


def test_export_refuses_a_blank_picture(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = cells("ipywidgets.IntSlider()")
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "x"}, "text/plain": "IntSlider(value=0)"}
    notebook.cells[1].outputs = [new_output("display_data", view)]  # type: ignore[no-untyped-call]
    (tmp_path / "page.ipynb").touch()
    monkeypatch.setattr(script, "execute", lambda source, folder: notebook)
    with pytest.raises(
        SystemExit, match=r"cell 1: application/vnd.jupyter.widget-view\+json has no text/html beside it"
    ):
        script.main()


def test_export_reports_a_failing_cell(script: ModuleType, tmp_path: Path) -> None:
    nbformat.write(cells("1 / 0"), tmp_path / "page.ipynb")  # type: ignore[no-untyped-call]
    with pytest.raises(SystemExit, match=r"(?s)a cell failed.*ZeroDivisionError"):
        script.main()
    assert not (tmp_path / "page.html").exists()
