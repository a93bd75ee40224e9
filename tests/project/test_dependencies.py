"""What the packages need is declared, and what they read is packaged; importing the engine needs little."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import metadata

import pytest
from packaging.requirements import Requirement

import kernels_core
from tests.project.tree import PACKAGES, ROOT, imports, module_name, package_files, project_files, shown

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CYTHON_MODULES = {"cython", "libc", "libcpp", "cpython"}
# Used when they happen to be there: the meta-schemas that a JSON schema may refer to.
OPTIONAL = {"jsonschema-specifications"}


TOKENIZERS = "torch transformers tokenizers tiktoken sentencepiece mistral_common"
# Whoever does this does not wait for these libraries, nor need them.
LIGHT = {
    "import kernels_core, kernels_core.tokens": f"{TOKENIZERS} pandas IPython ipywidgets anywidget requests httpx",
    "import workbench": "torch transformers pandas plotly ipywidgets anywidget kernels_core visualizers",
    "import workbench.generation": "torch transformers",
    "import workbench as wb; wb.Session('root ::= \"a\"', [b'a']).step('a')": "torch pandas ipywidgets anywidget",
    "from workbench.tokenizers import load_tokenizer as load; load(['a']).encode('a'); load('tekken')": TOKENIZERS,
    "import workbench.compat.xgrammar as x; x.GrammarCompiler, x.GrammarMatcher, x.apply_token_bitmask_inplace": (
        "torch transformers pydantic pandas IPython"
    ),
}


@pytest.mark.parametrize("does", LIGHT)
def test_what_is_light_stays_so(does: str) -> None:
    script = f"{does}; import sys; print(*set({LIGHT[does]!r}.split()) & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_every_third_party_import_is_declared() -> None:
    """A module that only happens to be installed, because something else needs it, is not a dependency."""
    table = PROJECT["project"]
    lists = [table["dependencies"], *table["optional-dependencies"].values()]
    declared = {normal(Requirement(text).name) for group in lists for text in group} | OPTIONAL
    providers = metadata.packages_distributions()
    own = {*PACKAGES, *sys.stdlib_module_names, *CYTHON_MODULES}
    wrong = set()
    for file in package_files(suffixes=(".py", ".pyx", ".pxd")):
        for top in {name.partition(".")[0] for name in imports(file)} - own:
            distributions = {normal(item) for item in providers.get(top, [top])}
            if not distributions & declared:
                wrong.add(f"{module_name(file)} imports {top}, of {', '.join(sorted(distributions))}")
    assert not wrong


def test_every_resource_is_packaged() -> None:
    """What a package reads beside its modules must be named in pyproject.toml, or an installed copy lacks it.

    Pages (`.md`) are for people who read the checkout.
    """
    table = dict(PROJECT["tool"]["setuptools"]["package-data"])
    everywhere = table.pop("*")
    wrong = []
    for file in package_files(suffixes=tuple({file.suffix for file in project_files()} - {".py", ".pyx", ".md"})):
        patterns = [(file.parent, pattern) for pattern in everywhere]
        patterns += [(ROOT / name.replace(".", "/"), pattern) for name, group in table.items() for pattern in group]
        if not any(folder in file.parents and file.relative_to(folder).match(pattern) for folder, pattern in patterns):
            wrong.append(shown(file))
    assert not wrong


def test_engine_and_project_agree_on_the_version() -> None:
    assert kernels_core.__version__ == PROJECT["project"]["version"]


def normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")
