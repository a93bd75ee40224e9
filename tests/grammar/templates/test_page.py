"""The page on structural tags: its tables are complete, and its calls are what the templates accept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernels_core import GrammarCompiler, GrammarMatcher, TokenizerInfo
from kernels_core.grammar.structural_tag.build import format_types
from kernels_core.grammar.structural_tag.styles import STYLES
from kernels_core.grammar.templates import get_model_structural_tag, model_templates

PAGE = (Path(__file__).parents[3] / "docs" / "concepts" / "structural-tags.md").read_text()
CALLS = dict(re.findall(r"^(\w+): +(.*)$", PAGE.split("```text\n")[1].split("```\n")[0], re.MULTILINE))
OTHER_NAMES = {"kimi", "qwen_3_coder", "minimax_m2", "gemma_4"}
SCHEMA = {
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]


def table(heading: str) -> set[str]:
    """The names in the first column of the table under a heading."""
    rows = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return {name for cell in re.findall(r"^\| (`.*?`) \|", rows, re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)}


def test_tables_are_complete() -> None:
    assert table("Formats") == set(format_types())
    assert table("Styles of arguments") == {"json", "gemma", *STYLES}
    assert set(CALLS) | OTHER_NAMES == set(model_templates()) - {"shouting"}
    assert all(name in PAGE for name in OTHER_NAMES)


@pytest.mark.parametrize("model", CALLS)
def test_calls_are_accepted(model: str) -> None:
    call = CALLS[model].replace("⏎", "\n")
    info = TokenizerInfo([*(bytes((value,)) for value in range(256)), b"<stop>"], stop_token_ids=[256])
    form = get_model_structural_tag(model, TOOLS, "required", "disabled")
    matcher = GrammarMatcher(GrammarCompiler(info).compile_structural_tag(form))
    assert matcher.accept_string(call)
    assert matcher.is_completed()
    matcher.reset()
    wrong = call.replace("days", "day")
    assert wrong != call
    assert not matcher.accept_string(wrong)
