"""Builds the Cython modules in place: `python setup.py build_ext --inplace` (or `make build`).

Metadata lives in pyproject.toml.  Switches, as environment variables: MASKSCOPE_DEBUG=1 (symbols, little optimisation),
MASKSCOPE_SANITIZE=1 (the same, and the address and undefined-behaviour sanitizers: see tools/sanitize.sh),
MASKSCOPE_SANITIZE=thread (the thread sanitizer instead),
MASKSCOPE_TRACE=1 (line tracing for coverage), MASKSCOPE_JOBS=N (N modules are compiled at a time).

Cython's own helpers (memoryviews, type conversions) are compiled once, into `kernels_core._cyshared`, and not into
every module: a full build takes half the time and each module is a fifth of the size.  The headers that nearly all
modules include are compiled once, too (`PRELUDE`).
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import Cython
import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

DEBUG, TRACE = (os.environ.get(f"MASKSCOPE_{name}") == "1" for name in ("DEBUG", "TRACE"))
SANITIZE = {
    # C2y (N3322) lets nothing be copied from a null pointer, which is where an empty vector may be.
    "1": [
        *("-fsanitize=address,undefined", "-fno-sanitize=nonnull-attribute"),
        *("-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer", "-D_GLIBCXX_ASSERTIONS"),
    ],
    "thread": ["-fsanitize=thread", "-fno-omit-frame-pointer"],
}.get(os.environ.get("MASKSCOPE_SANITIZE", ""), [])
COMPILE = ["-std=c++17", "-fno-strict-aliasing", *(["-O1", "-g"] if DEBUG or SANITIZE else ["-O3", "-g0"])]
# Of code that Cython wrote: every limit beside a size, every conversion that nobody asks for.
COMPILE += ["-Wno-sign-compare", "-Wno-unused-function"]
COMPILE += SANITIZE
# On Windows Clang stands in for Microsoft's compiler, which has no vector types and none of GCC's built-ins, and takes
# its flags.  Nobody has run this yet.
COMPILE_WINDOWS = ["/std:c++17", *(["/Od", "/Zi"] if DEBUG else ["/O2"]), "-Wno-sign-compare", "-Wno-unused-function"]
# The grammar room calls Python's C interface nearly all the time: optimising it takes 30 s of a build and buys nothing
# that `bench masks` can see.
READING, READING_WINDOWS = ["-O1"], ["/O1"]
LINK: list[str] = []
MACROS = [("CYTHON_TRACE", "1")] if TRACE else []
LINK += SANITIZE
# A class says itself how it is pickled; Cython would write code for all others, too.
DIRECTIVES = {
    "language_level": 3,
    "embedsignature": True,
    "auto_pickle": False,
    "show_performance_hints": False,
    "linetrace": TRACE,
}
JOBS = int(os.environ.get("MASKSCOPE_JOBS") or os.cpu_count() or 1)
CACHE = Path("build/cython")
# GCC compiles these once for all modules, which takes half a second off each, and reads the text where it cannot use
# that; other compilers always read the text.  Cython, too, defines PY_SSIZE_T_CLEAN before it includes Python.h.
HEADER = CACHE / "prelude.hpp"
HEADERS = (
    "Python.h",
    "algorithm",
    "atomic",
    "exception",
    "map",
    "mutex",
    "stdexcept",
    "string",
    "unordered_map",
    "vector",
)
# A function that cannot raise and fails nonetheless, for want of memory, has left its work half done, and Cython would
# have the caller go on with that: a mask could be wrong.  The process ends instead, and says where.
FAIL = """
static inline void maskscope_fail(PyObject* where) {
    PyErr_WriteUnraisable(where);
    Py_FatalError("maskscope: what cannot raise has failed, and nobody may go on with what it left");
}
#define PyErr_WriteUnraisable maskscope_fail
"""
PRELUDE = "#define PY_SSIZE_T_CLEAN\n" + "".join(f"#include <{name}>\n" for name in HEADERS) + FAIL
SHARED = "kernels_core._cyshared"
RECORD = CACHE / "settings"
BUNDLE = Path("visualizers/bundle/main.js")
PACKING = frozenset({"bdist_wheel", "install", "sdist"})
BUILDING = frozenset({"bdist_wheel", "build", "build_ext", "develop", "editable_wheel", "install"})
SETTINGS = repr((Cython.__version__, sys.version, COMPILE, READING, DIRECTIVES, LINK, MACROS, PRELUDE))
SETTINGS += repr((COMPILE_WINDOWS, READING_WINDOWS)) if sys.platform == "win32" else ""


def extension(name: str, source: Path) -> Extension:
    return Extension(
        name,
        [str(source)],
        language="c++",
        include_dirs=[numpy.get_include()],
        extra_link_args=LINK,
        define_macros=MACROS,
    )


def remove_orphans(package: Path) -> list[Path]:
    """Remove the modules whose sources are gone; one that is left would be imported, and be of another engine."""
    orphans = [
        path
        for ending in ("so", "pyd")
        for path in package.rglob(f"*.{ending}")
        if path.name.partition(".")[0] != SHARED.rpartition(".")[2]
        and not path.with_name(path.name.partition(".")[0] + ".pyx").exists()
    ]
    for path in orphans:
        path.unlink()
    return orphans


class BuildExt(build_ext):
    """Chooses flags by compiler, and remembers what the modules were built with: time stamps cannot tell that flags or
    Cython changed."""

    def build_extensions(self) -> None:
        HEADER.write_text(PRELUDE)
        windows = self.compiler.compiler_type == "msvc"
        flags, reading = (COMPILE_WINDOWS, READING_WINDOWS) if windows else (COMPILE, READING)
        prelude = [f"/FI{HEADER.resolve()}"] if windows else ["-include", str(HEADER)]
        for module in self.extensions:
            in_grammar = module.name.startswith("kernels_core.grammar.")
            module.extra_compile_args = [*flags, *(reading if in_grammar else []), *prelude]
        if windows:
            self.take_clang()
        else:
            self.compile_headers()
        super().build_extensions()

    def take_clang(self) -> None:
        clang = shutil.which("clang-cl")
        if clang is None:
            raise SystemExit("maskscope: clang-cl is missing. Install LLVM, or the Clang tools of Visual Studio")
        self.compiler.initialize()
        self.compiler.cc = clang

    def compile_headers(self) -> None:
        compiled = HEADER.with_name(f"{HEADER.name}.gch")
        compiler = getattr(self.compiler, "compiler_so_cxx", self.compiler.compiler_so)
        maker = subprocess.run([compiler[0], "--version"], check=True, capture_output=True, text=True).stdout
        if "Free Software Foundation" in maker and (self.force or not compiled.is_file()):
            folders = [f"-I{folder}" for folder in (*self.include_dirs, *self.compiler.include_dirs)]
            flags = [*COMPILE, *folders, "-x", "c++-header"]
            subprocess.run([*compiler, *flags, str(HEADER), "-o", str(compiled)], check=True)

    def run(self) -> None:
        super().run()
        RECORD.write_text(SETTINGS)
        if self.inplace:
            remove_orphans(Path("kernels_core"))


def shared_module(force: bool) -> Extension:
    source = CACHE / "kernels_core" / "_cyshared.cpp"
    if force or not source.is_file():
        source.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "cython", "generate-shared", "-+", "--module-name", SHARED, str(source)]
        subprocess.run(command, check=True)
    return extension(SHARED, source)


def main() -> None:
    if PACKING.intersection(sys.argv) and not BUNDLE.is_file():
        raise SystemExit("maskscope: the front end is not built. Run: make build (or python tools/build_frontend.py)")
    if not BUILDING.intersection(sys.argv):  # metadata and source distributions need no compiled module
        setup()
        return
    force = not RECORD.is_file() or RECORD.read_text() != SETTINGS
    sources = sorted(Path("kernels_core").rglob("*.pyx"))
    modules = cythonize(
        [extension(".".join(path.with_suffix("").parts), path) for path in sources],
        nthreads=JOBS,
        force=force,
        compiler_directives=DIRECTIVES,
        build_dir=str(CACHE),
        shared_utility_qualified_name=SHARED,
    )
    setup(
        cmdclass={"build_ext": BuildExt},
        ext_modules=[*modules, shared_module(force)],
        options={"build_ext": {"parallel": JOBS, "force": force}},
    )


# The guard matters: cythonize's worker processes import this file again where processes are spawned.
if __name__ == "__main__":
    main()
