"""Rows about structural tags: tokens, styles of arguments, templates of models."""

from __future__ import annotations

import json
from typing import Any

from .row import Row, grammar_row, taken, value_row

__all__ = ["ROWS"]

OBJECT: dict[str, Any] = {
    "type": "object",
    "properties": {"s": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["s"],
}


def const(value: str) -> dict[str, Any]:
    """Exactly this text."""
    return {"type": "const_string", "value": value}


def tag(begin: Any, content: Any, end: Any) -> dict[str, Any]:
    """A tag."""
    return {"type": "tag", "begin": begin, "content": content, "end": end}


VOCABULARY = ["</s>", "a", "b", "<t>", "</t>", "x"]
TOKEN3 = {"type": "token", "token": 3}


def _ids(feature: str, form: Any, texts: list[list[int]]) -> Row:
    def call(xgr: Any) -> taken:
        compiled = xgr.GrammarCompiler(xgr.TokenizerInfo(VOCABULARY)).compile_structural_tag({"format": form})

        def takes(ids: list[int]) -> bool:
            matcher = xgr.GrammarMatcher(compiled)
            return all(matcher.accept_token(token) for token in ids) and matcher.is_completed()

        return taken(" ".join(map(str, ids)) for ids in texts if takes(ids))

    shown = f"{json.dumps(form)}: {', '.join(' '.join(map(str, ids)) for ids in texts)}"
    return value_row("Structural tags: tokens", feature, shown, call)


TOKENS = (
    _ids("token", TOKEN3, [[3], [1]]),
    _ids("token by its text", {"type": "token", "token": "<t>"}, [[3], [1]]),
    _ids("token by a text that no token has", {"type": "token", "token": "<no>"}, [[3]]),
    _ids("token out of range", {"type": "token", "token": 99}, [[3]]),
    _ids("token that is no id", {"type": "token", "token": 1.5}, [[3]]),
    _ids("exclude_token", {"type": "exclude_token", "exclude_tokens": [1]}, [[1], [2], [3]]),
    _ids("any_tokens", {"type": "any_tokens", "exclude_tokens": [1]}, [[], [2, 3, 5], [1]]),
    _ids("any_tokens with max_tokens", {"type": "any_tokens", "max_tokens": 1}, [[], [2], [2, 2]]),
    _ids(
        "tag of tokens",
        tag(TOKEN3, {"type": "any_tokens"}, {"type": "token", "token": 4}),
        [[3, 4], [3, 1, 4], [3, 4, 4]],
    ),
    _ids("free tokens before an end string", tag("<t>", {"type": "any_tokens"}, "</t>"), [[3, 4], [3, 1, 4], [3, 1]]),
    _ids(
        "token_triggered_tags",
        {"type": "token_triggered_tags", "trigger_tokens": [3], "tags": [tag(TOKEN3, const("a"), "</t>")]},
        [[], [1], [3, 1, 4], [2, 3, 1, 4, 2], [3, 2]],
    ),
    _ids("token_dispatch", {"type": "token_dispatch", "rules": [[3, const("a")]]}, [[], [2], [3, 1], [3, 2]]),
    _ids(
        "token by its text inside repeat",
        {"type": "repeat", "min": 2, "max": 2, "content": {"type": "token", "token": "b"}},
        [[2, 2], [2]],
    ),
)


def _style(style: str, text: str, *others: str) -> Row:
    form = {"type": "json_schema", "json_schema": OBJECT, "style": style}
    return grammar_row(
        "Styles of arguments",
        style,
        lambda xgr: xgr.Grammar.from_structural_tag({"format": form}),
        style,
        [text, *others],
    )


def _kimi(name: str, kind: str, value: str) -> str:
    return f'<|open|>argument key="{name}" type="{kind}"<|sep|>{value}<|close|>argument<|sep|>'


MARK = "]<]minimax[>["
STYLES = (
    _style(
        "qwen_xml",
        "<parameter=s>a</parameter><parameter=n>1</parameter>",
        "<parameter=n>1</parameter>",
        "<parameter=s>a</parameter>b</parameter>",
    ),
    _style(
        "minimax_xml",
        '<parameter name="s">a</parameter><parameter name="n">1</parameter>',
        '<parameter name="n">1</parameter>',
    ),
    _style("minimax_m3_xml", f"{MARK}<s>a{MARK}</s>{MARK}<n>1{MARK}</n>", f"{MARK}<n>1{MARK}</n>"),
    _style(
        "deepseek_xml",
        '<｜DSML｜parameter name="s" string="true">a</｜DSML｜parameter>',
        '<｜DSML｜parameter name="s" string="false">a</｜DSML｜parameter>',
    ),
    _style("deepseek_v4_1_xml", '<｜DSML｜ parameter name="s" string="true">a</｜DSML｜ parameter>'),
    _style("glm_xml", "<arg_key>s</arg_key><arg_value>a</arg_value>", "<arg_key>n</arg_key><arg_value>1</arg_value>"),
    _style(
        "cohere_xml",
        '<cofl:value name="s" type="raw">a</cofl:value>',
        '<cofl:value name="s" type="json">1</cofl:value>',
    ),
    _style(
        "kimi_k3_xml",
        _kimi("s", "string", "a"),
        _kimi("s", "string", "a") + _kimi("n", "number", "1"),
        _kimi("s", "string", "a") + _kimi("n", "integer", "1"),
    ),
    _style("yaml", "s: a"),
)

TOOLS = [
    {
        "type": "function",
        "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}},
    }
]
CALL = {
    "llama": '{"name": "f", "parameters": {"a": 1}}',
    "qwen_3": '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
    "qwen_3_5": "<tool_call>\n<function=f>\n<parameter=a>1</parameter>\n</function>\n</tool_call>",
    "qwen_3_coder": "<tool_call>\n<function=f>\n<parameter=a>1</parameter>\n</function>\n</tool_call>",
    "mimo": "<tool_call><function=f><parameter=a>1</parameter></function></tool_call>",
    "exaone": '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>',
    "glm_4_7": "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>",
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}"
    "<|tool_call_end|><|tool_calls_section_end|>",
    "deepseek_r1": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{}\n```"
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "deepseek_v3_1": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}"
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "deepseek_v3_2": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n'
    "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    "deepseek_v4": '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="f">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
    "minimax": '<minimax:tool_call>\n<invoke name="f">\n</invoke>\n</minimax:tool_call>\n',
    "minimax_m3": f'{MARK}<tool_call>\n{MARK}<invoke name="f">{MARK}</invoke>\n{MARK}</tool_call>',
    "cohere": '<cofl:tool_calls><cofl:tool_call id="0" name="f"></cofl:tool_call></cofl:tool_calls>',
}


def _template(model: str, feature: str, texts: list[str], **options: Any) -> Row:
    def call(xgr: Any) -> taken:
        form = xgr.get_model_structural_tag(model, **{"tools": TOOLS, "reasoning": "disabled", **options})
        grammar = xgr.Grammar.from_structural_tag(form)
        return taken(text for text in texts if xgr.testing._is_grammar_accept_string(grammar, text))

    said = "".join(f", {name}={value!r}" for name, value in options.items())
    shown = f"{model}{said}: {' | '.join(texts)}"
    return value_row("Templates", f"{model}: {feature}", shown, call)


TEMPLATES = tuple(
    row
    for model, call in CALL.items()
    for row in (
        _template(model, "a call may come", [call, f"Well. {call}", call + call]),
        _template(model, "a call must come", [call, "Hello."], tool_choice="required"),
        _template(model, "no tools", ["Hello.", call], tools=[]),
        _template(model, "one call at most", [call, call + call], parallel_tool_calls=False),
    )
)
REASONING = tuple(
    _template(model, f"reasoning {mode}", ["hm</think>\n\nYes.", "<think>hm</think>\n\nYes.", "Yes."], reasoning=mode)
    for model in ("qwen_3", "qwen_3_5", "deepseek_r1", "deepseek_v3_1", "glm_4_7", "mimo", "minimax")
    for mode in ("enabled", "auto", "disabled")
)


def _choice(feature: str, shown: str, call: Any) -> Row:
    return value_row("Templates: tools and choices", feature, shown, call)


def _mode(xgr: Any, choice: Any) -> str:
    functions, own, mode = xgr.normalize_tool_choice(TOOLS, choice)
    return f"{len(functions)} functions, {len(own)} others, {mode}"


CHOICES = (
    _choice("auto", '"auto"', lambda xgr: _mode(xgr, "auto")),
    _choice("None", "None", lambda xgr: _mode(xgr, None)),
    _choice("none", '"none"', lambda xgr: _mode(xgr, "none")),
    _choice("required", '"required"', lambda xgr: _mode(xgr, "required")),
    _choice(
        "a function",
        '{"type": "function", ...}',
        lambda xgr: _mode(xgr, {"type": "function", "function": {"name": "f"}}),
    ),
    _choice(
        "an unknown function",
        '{"type": "function", ...}',
        lambda xgr: _mode(xgr, {"type": "function", "function": {"name": "g"}}),
    ),
    _choice("an unknown choice", '"sometimes"', lambda xgr: _mode(xgr, "sometimes")),
    _choice(
        "tools without a type",
        '[{"function": {"name": "f"}}]',
        lambda xgr: len(xgr.normalize_tool_choice([{"function": {"name": "f"}}])[0]),
    ),
    _choice("tools that are no list", "123", lambda xgr: xgr.get_model_structural_tag("llama", 123)),
    _choice("an unknown model", '"nobody"', lambda xgr: xgr.get_model_structural_tag("nobody")),
    _choice(
        "required without tools", '[], "required"', lambda xgr: xgr.get_model_structural_tag("llama", [], "required")
    ),
    _choice("an unknown reasoning", '"always"', lambda xgr: xgr.get_model_structural_tag("llama", reasoning="always")),
    _choice(
        "no call when there is no choice",
        'qwen_3, tool_choice="none": a call as text',
        lambda xgr: xgr.testing._is_grammar_accept_string(
            xgr.Grammar.from_structural_tag(xgr.get_model_structural_tag("qwen_3", TOOLS, "none", "disabled")),
            CALL["qwen_3"],
        ),
    ),
)

ROWS = (*TOKENS, *STYLES, *TEMPLATES, *REASONING, *CHOICES)
