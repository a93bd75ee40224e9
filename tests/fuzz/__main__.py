"""`python -m tests.fuzz TARGET`: see the package."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Hunt for inputs that break a rule.")
    parser.add_argument("target", nargs="?", help="which door; without one they are listed")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float)
    length.add_argument("--seconds", type=float)
    parser.add_argument("--inputs", type=int, help="stop after so many inputs of the generator")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slack-ms", type=int, help="processor time that an input may take beyond its limits")
    parser.add_argument("--input", type=Path, help="run this file alone")
    parser.add_argument("--guide", choices=("coverage", "none"), help="default: coverage, where atheris is installed")
    parser.add_argument("--corpus", type=Path, help="of a guided run; default: build/fuzz/TARGET/corpus")
    options = parser.parse_args()
    guided = options.guide == "coverage" or (
        options.guide is None and options.input is None and options.inputs is None and find_spec("atheris") is not None
    )
    if guided and find_spec("atheris") is None:
        parser.error("--guide coverage needs atheris: pip install '.[fuzz]'")
    with _instrumented() if guided and options.target else nullcontext():
        from tests.fuzz import driver
    if options.target is None:
        print(*(f"{name:12} {(run.__doc__ or '').splitlines()[0]}" for name, run in driver.TARGETS.items()), sep="\n")
        return 0
    if options.target not in driver.TARGETS:
        parser.error(f"no target {options.target!r}; there are {', '.join(driver.TARGETS)}")
    if options.slack_ms is not None:
        driver.rules.SLACK_MS = options.slack_ms
    folder = driver.ROOT / options.target
    if options.input is not None:
        return int(driver.try_input(options.target, options.input.read_bytes(), folder) is not None)
    seconds = 60 * options.minutes if options.minutes is not None else options.seconds or 60.0
    if guided:
        driver.run_guided(options.target, options.seed, seconds, options.corpus)
        return 0
    driver.limit_memory()
    result = driver.run_seeded(options.target, options.seed, inputs=options.inputs, seconds=seconds)
    found = f"{len(result.findings)} findings"
    print(f"{options.target}: {result.inputs:,} inputs, the slowest {result.slowest:.2f} s, {found}")
    return int(bool(result.findings))


def _instrumented() -> object:
    import atheris

    return atheris.instrument_imports(include=["kernels_core", "workbench"])


if __name__ == "__main__":
    sys.exit(main())
