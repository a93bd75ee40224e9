"""Builds the Cython modules in place: `python setup.py build_ext --inplace` (or `make build`).

Metadata lives in pyproject.toml.  Switches, as environment variables: MASKSCOPE_DEBUG=1 (symbols, no optimisation),
MASKSCOPE_TRACE=1 (line tracing for coverage).  CFLAGS and LDFLAGS are honoured (`make sanitize` uses them).

Cython's own helpers (memoryviews, type conversions) are compiled once, into `kernels_core._cyshared`, and not into
every module: a full build takes half the time and each module is a fifth of the size.
"""

import os
import subprocess
import sys
from pathlib import Path

import Cython
from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("MASKSCOPE_DEBUG") == "1"
TRACE = os.environ.get("MASKSCOPE_TRACE") == "1"
COMPILE = ["-std=c++17", "-fno-strict-aliasing", *(["-O0", "-g"] if DEBUG else ["-O3", "-g0"])]
MACROS = [("CYTHON_TRACE", "1")] if TRACE else []
JOBS = os.cpu_count() or 1
CACHE = Path("build/cython")
SHARED = "kernels_core._cyshared"


def extension(name: str, source: Path) -> Extension:
    return Extension(name, [str(source)], language="c++", extra_compile_args=COMPILE, define_macros=MACROS)


def settings_changed() -> bool:
    """Whether flags or Cython differ from the last build: time stamps cannot tell, so everything is built again."""
    settings = repr((Cython.__version__, COMPILE, MACROS, os.environ.get("CFLAGS"), os.environ.get("LDFLAGS")))
    record = CACHE / "settings"
    if record.is_file() and record.read_text() == settings:
        return False
    CACHE.mkdir(parents=True, exist_ok=True)
    record.write_text(settings)
    return True


def shared_module(force: bool) -> Extension:
    source = CACHE / "kernels_core" / "_cyshared.cpp"
    if force or not source.is_file():
        source.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "cython", "generate-shared", "-+", "--module-name", SHARED, str(source)]
        subprocess.run(command, check=True)
    return extension(SHARED, source)


def main() -> None:
    force = settings_changed()
    sources = sorted(Path("kernels_core").rglob("*.pyx"))
    modules = cythonize(
        [extension(".".join(path.with_suffix("").parts), path) for path in sources],
        nthreads=JOBS,
        force=force,
        compiler_directives={"language_level": 3, "embedsignature": True, "linetrace": TRACE},
        build_dir=str(CACHE),
        shared_utility_qualified_name=SHARED,
    )
    setup(
        ext_modules=[*modules, shared_module(force)],
        options={"build_ext": {"parallel": JOBS, "force": force}},
    )


# The guard matters: cythonize's worker processes import this file again where processes are spawned.
if __name__ == "__main__":
    main()
