"""`python -m workbench`: the command line, and a doctor that finds what was taken away."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from tests.project.tree import ROOT
from workbench.cli import app, doctor
from workbench.cli.doctor import Check, examine, find_chromium, print_report
from workbench.data import data_folder


def command(*words: str, package: str = "workbench") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", package, *words], cwd=ROOT, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("package", ["workbench", "maskscope"])
def test_help_lists_the_commands(package: str) -> None:
    done = command("--help", package=package)
    assert done.returncode == 0
    assert f"python -m {package} " in done.stdout
    assert "doctor" in done.stdout
    assert "version" in done.stdout


def test_unknown_command_is_refused() -> None:
    done = CliRunner().invoke(app, ["diagnose"])
    assert done.exit_code == 2
    assert "diagnose" in done.stderr


def test_version_is_the_declared_one() -> None:
    done = CliRunner().invoke(app, ["version"])
    assert f'version = "{done.stdout.strip()}"' in (ROOT / "pyproject.toml").read_text()


def test_main_job_works_here() -> None:
    """The machine that runs the tests has everything needed; the report is whole and machine-readable."""
    done = command("doctor", "--json")
    report = json.loads(done.stdout)
    failed = [check for check in report["checks"] if check["needed"] and check["status"] != "ok"]
    assert failed == []
    assert report["ok"] is True
    assert done.returncode == 0
    names = {check["name"] for check in report["checks"]}
    assert {
        "Python",
        "engine",
        "front end",
        "numpy",
        "default tokenizer",
        "demo model",
        "dot",
        "Chromium",
        "CUDA",
    } <= names


def named(checks: Iterator[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


def test_missing_programs_come_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    found = named(doctor._check_programs()) | named(doctor._check_compiler())
    assert {check.status for check in found.values()} == {"missing"}
    assert not any(check.needed for check in found.values())
    for name, package in {"dot": "graphviz", "Chromium": "chromium", "C++ compiler": "g++"}.items():
        mend = found[name].mend
        assert mend is not None
        assert f"apt-get install -y --no-install-recommends {package}" in mend


def test_missing_library_is_named() -> None:
    check = doctor._installed("group", ("numpy", "surely-not-a-distribution"))
    assert check.status == "missing"
    assert check.detail.startswith("without surely-not-a-distribution, numpy ")
    assert check.mend == "make venv"


def test_a_failing_check_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def _check_broken_thing() -> Iterator[Check]:
        yield Check("first", "ok", "")
        raise RuntimeError("it fell\nand broke")

    monkeypatch.setattr(doctor, "CHECKS", (_check_broken_thing,))
    assert examine() == [Check("first", "ok", ""), Check("broken thing", "broken", "it fell")]


def test_exit_code_follows_what_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    good = Check("numpy", "ok", "2.0")
    optional = Check("dot", "missing", "absent", needed=False, mend="apt-get install graphviz")
    needed = Check("engine", "missing", "not built", mend="make build")
    assert print_report([good, optional]) == 0
    assert print_report([good, optional, needed]) == 1
    shown = capsys.readouterr().out
    assert "to mend: make build" in shown
    assert "The main job does not work yet: mend engine." in shown
    assert print_report([needed], as_json=True) == 1


def test_data_folder_is_one_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("MASKSCOPE_DATA", str(tmp_path))
    assert str(data_folder()) == str(tmp_path)
    monkeypatch.setenv("MASKSCOPE_DATA", f"{tmp_path}/absent")
    assert data_folder() is None


def test_continuous_integration_has_all_options(chromium: str, dot: str) -> None:
    """Tests skip what is missing; where CI=true that would hide them, and these fixtures fail."""
    assert (chromium, dot) == (find_chromium(), shutil.which("dot"))
