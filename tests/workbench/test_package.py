"""The package's public names, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import maskscope
import workbench
from kernels_core import Grammar, TimeLimit


def test_every_public_name_is_there() -> None:
    for name in workbench.__all__:
        if name in ("Generation", "LanguageModel", "generate", "load_model"):
            pytest.importorskip("torch")
        getattr(workbench, name)
    assert set(workbench.__all__) <= set(dir(workbench))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        workbench.nothing  # noqa: B018


def test_no_public_name_is_a_module_as_well() -> None:
    folder = Path(workbench.__file__).parent
    # Importing a submodule sets its name in the package, and would hide the function.
    modules = {path.stem for path in folder.iterdir()}
    assert modules & set(workbench.__all__) == set()


@pytest.mark.parametrize("before", ["", "import kernels_core; ", "import IPython; "])
def test_snapshots_display_themselves_once_this_is_imported(before: str) -> None:
    """In whatever order: nothing is told to IPython."""
    code = (
        f"{before}import workbench; from kernels_core import *; "
        "info = TokenizerInfo([b'a', b'</s>'], stop_token_ids=[1]); grammar = Grammar.from_ebnf('root ::= \"a\"'); "
        "matcher = GrammarMatcher(GrammarCompiler(info).compile_grammar(grammar)); "
        "print('Frontier' in matcher.frontier()._repr_html_(), 'root ::=' in grammar._repr_html_())"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "True True"


def test_the_engine_alone_displays_nothing() -> None:
    code = "from kernels_core import *; print(Grammar.from_ebnf('root ::= \"a\"')._repr_html_())"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "None"


def test_maskscope_is_the_same_by_its_own_name() -> None:
    assert sorted(maskscope.__all__) == sorted(workbench.__all__)
    assert all(getattr(maskscope, name) is getattr(workbench, name) for name in workbench.__all__)
    assert {*workbench.__all__} <= {*dir(maskscope)}
    with pytest.raises(AttributeError, match="maskscope"):
        maskscope.nothing  # noqa: B018
    code = "import sys, maskscope; print('kernels_core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_a_grammar_that_is_too_long_to_be_written_shows_itself() -> None:
    address = {"type": "string", "format": "uri", "minLength": 1, "maxLength": 2083}
    grammar = Grammar.from_json_schema(address)
    with TimeLimit(100):
        assert "too many to write all" in grammar._repr_html_()
