"""Builds the Cython modules in place: `python setup.py build_ext --inplace -j2`.

Metadata lives in pyproject.toml.  Switches, as environment variables: MASKSCOPE_DEBUG=1 (symbols, no optimisation),
MASKSCOPE_TRACE=1 (line tracing for coverage).
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("MASKSCOPE_DEBUG") == "1"
TRACE = os.environ.get("MASKSCOPE_TRACE") == "1"
COMPILE = ["-std=c++17", "-fno-strict-aliasing", *(["-O0", "-g"] if DEBUG else ["-O3", "-g0"])]

modules = sorted(Path("kernels_core").rglob("*.pyx"))
extensions = [
    Extension(
        ".".join(path.with_suffix("").parts),
        [str(path)],
        language="c++",
        extra_compile_args=COMPILE,
        define_macros=[("CYTHON_TRACE", "1")] if TRACE else [],
    )
    for path in modules
]

setup(
    ext_modules=cythonize(
        extensions,
        nthreads=2,
        compiler_directives={"language_level": 3, "embedsignature": True, "linetrace": TRACE},
        build_dir="build/cython",
    ),
)
