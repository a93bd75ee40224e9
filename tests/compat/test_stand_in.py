"""`import xgrammar` as ours: one identity for each class, whatever name it was imported by; undone without a trace."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from importlib import metadata
from types import ModuleType

import pytest

import workbench.compat.xgrammar as ours
from workbench.compat import stand_in

pytest.importorskip("torch")
pytest.importorskip("pydantic")

OURS = ours.__name__
# What vLLM and SGLang import, by the modules that they import it from.
IMPORTED = {
    "": (
        *("CompiledGrammar", "Grammar", "GrammarCompiler", "GrammarMatcher", "StructuralTag", "StructuralTagItem"),
        *("TokenizerInfo", "VocabType", "allocate_token_bitmask", "apply_token_bitmask_inplace", "bitmask_dtype"),
        *("BatchGrammarMatcher", "get_bitmask_shape", "reset_token_bitmask", "get_model_structural_tag", "exception"),
    ),
    "matcher": ("GrammarMatcher", "allocate_token_bitmask", "apply_token_bitmask_inplace", "bitmask_dtype"),
    "grammar": ("Grammar", "StructuralTagItem"),
    "compiler": ("CompiledGrammar", "GrammarCompiler"),
    "tokenizer_info": ("TokenizerInfo", "VocabType"),
    "structural_tag": ("StructuralTag", "TagFormat", "TriggeredTagsFormat", "JSONSchemaFormat", "StructuralTagItem"),
    "builtin_structural_tag": ("get_model_structural_tag", "normalize_tool_choice"),
    "openai_tool_call_schema": ("FunctionToolParam", "ToolParam"),
    "testing": ("_is_grammar_accept_string", "bitmask_to_bool_mask"),
    "kernels.apply_token_bitmask_inplace_cpu": ("apply_token_bitmask_inplace_cpu",),
    "kernels.apply_token_bitmask_inplace_cuda": ("apply_token_bitmask_inplace_cuda",),
    "kernels.apply_token_bitmask_inplace_triton": ("apply_token_bitmask_inplace_triton",),
    "kernels.apply_token_bitmask_inplace_torch": ("apply_token_bitmask_inplace_torch",),
    "kernels.apply_token_bitmask_inplace_torch_compile": ("apply_token_bitmask_inplace_torch_compile",),
}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    for name in [name for name in sys.modules if name == "xgrammar" or name.startswith("xgrammar.")]:
        monkeypatch.delitem(sys.modules, name)
    yield stand_in.install()
    stand_in.uninstall()


def test_it_is_the_same_module_by_both_names(installed: ModuleType) -> None:
    import xgrammar

    assert xgrammar is ours is installed
    assert stand_in.install() is ours
    assert ours.__spec__ is not None
    assert ours.__spec__.name == OURS


@pytest.mark.parametrize("name", IMPORTED)
def test_every_name_is_one_object(installed: ModuleType, name: str) -> None:
    suffix = f".{name}" if name else ""
    theirs, mine = (importlib.import_module(package + suffix) for package in ("xgrammar", OURS))
    assert theirs is mine
    for key in IMPORTED[name]:
        assert getattr(theirs, key) is getattr(mine, key)
        if hasattr(ours, key):
            assert getattr(ours, key) is getattr(mine, key), key


def test_its_version_is_that_of_the_interface(installed: ModuleType) -> None:
    assert metadata.version("xgrammar") == ours.__version__
    assert "numpy" in {found.name.lower() for found in metadata.distributions()}
    assert metadata.distribution("xgrammar").files is None


def test_what_is_not_there_cannot_be_imported(installed: ModuleType) -> None:
    with pytest.raises(ModuleNotFoundError, match="nothing"):
        importlib.import_module("xgrammar.nothing")


def test_another_xgrammar_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    other = ModuleType("xgrammar")
    monkeypatch.setitem(sys.modules, "xgrammar", other)
    with pytest.raises(stand_in.AlreadyImportedError, match="already"):
        stand_in.install()
    assert sys.modules["xgrammar"] is other
    assert not stand_in.is_installed()


def test_nothing_is_left_behind(installed: ModuleType) -> None:
    importlib.import_module("xgrammar.kernels.apply_token_bitmask_inplace_cpu")
    stand_in.uninstall()
    assert not [name for name in sys.modules if name.split(".")[0] == "xgrammar"]
    assert f"{OURS}.kernels" in sys.modules
