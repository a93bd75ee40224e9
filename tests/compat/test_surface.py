"""Names, parameters and defaults: ours beside the table, and the table beside XGrammar where it is installed."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import metadata

import pytest

from kernels_core.errors import UnsupportedFeatureError
from tests.compat import surface
from tests.project.tree import ROOT

OURS = "workbench.compat.xgrammar"
TABLE: dict[str, dict[str, str]] = tomllib.loads((ROOT / "tests/compat/surface.toml").read_text())


def lines() -> list[tuple[str, str, str]]:
    return [(part, key, line) for part, table in TABLE.items() for key, line in table.items()]


@pytest.mark.parametrize("part", TABLE)
def test_every_name_is_there_with_its_defaults(part: str) -> None:
    if part == "contrib.hf":
        pytest.importorskip("transformers")
    pytest.importorskip("torch")
    found = {}
    for key in TABLE[part]:
        name, _, member = key.partition(".")
        value = getattr(surface.module(OURS, "" if part == "xgrammar" else part), name)
        found[key] = surface.described(value).get(member, "missing")
        if TABLE[part][key] == "class" and isinstance(value, type):
            found[key] = "class"
    assert found == TABLE[part]


def test_nothing_is_missing_from_the_package() -> None:
    import workbench.compat.xgrammar as ours

    assert sorted(ours.__all__) == sorted(TABLE["xgrammar"])
    assert set(ours.__all__) <= set(dir(ours))
    with pytest.raises(AttributeError, match="nonsense"):
        ours.nonsense  # noqa: B018


def test_the_table_is_what_xgrammar_offers() -> None:
    pytest.importorskip("xgrammar")
    if metadata.version("xgrammar") != "0.2.8":
        pytest.skip("the table is of XGrammar 0.2.8")
    assert surface.surface("xgrammar") == TABLE


def test_names_without_a_counterpart_say_so() -> None:
    pytest.importorskip("torch")
    from workbench.compat.xgrammar import Grammar, testing

    grammar = Grammar.from_ebnf('root ::= "a"')
    passes = [name for name in vars(testing.GrammarFunctor) if not name.startswith("_")]
    assert len(passes) == 8
    for name in passes:
        with pytest.raises(UnsupportedFeatureError, match=name):
            getattr(testing.GrammarFunctor, name)(grammar)
    for name, arguments in {
        "_get_allow_empty_rule_ids": (None,),
        "_is_rule_fsm_accept_string": (grammar, 0, "a"),
        "_print_grammar_fsms": (grammar,),
        "_generate_float_regex": (1.0, 5.0),
    }.items():
        with pytest.raises(RuntimeError, match=name):
            getattr(testing, name)(*arguments)


def test_without_torch_numpy_does() -> None:
    script = f"""
import sys
sys.modules["torch"] = None
import numpy as np
import {OURS} as xgr
matcher = xgr.GrammarMatcher(xgr.GrammarCompiler(xgr.TokenizerInfo(["a", "b", "</s>"])).compile_grammar('root ::= "b"'))
mask = np.full(xgr.get_bitmask_shape(1, 3), -1, dtype=np.int32)
matcher.fill_next_token_bitmask(mask)
logits = np.zeros((1, 3), dtype=np.float32)
xgr.apply_token_bitmask_inplace(logits, mask)
assert logits.tolist() == [[-np.inf, 0.0, -np.inf]]
for ask in (lambda: xgr.allocate_token_bitmask(1, 3), lambda: xgr.bitmask_dtype, lambda: xgr.hf):
    try:
        ask()
    except ImportError as error:
        assert "torch" in str(error)
    else:
        raise AssertionError
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
