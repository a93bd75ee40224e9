"""Tool calls in the formats of models: which answers a template takes."""

import xgrammar as xgr
from xgrammar.openai_tool_call_schema import FunctionDefinition, FunctionToolParam
from xgrammar.structural_tag import ConstStringFormat
from xgrammar.testing import _is_grammar_accept_string

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
TOOLS.append({"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}})
ARGUMENTS = '{"city": "Lund"}'
ANSWERS = {
    "llama": ['{"name": "weather", "parameters": ' + ARGUMENTS + "}", "Hello", '{"name": "x", "parameters": {}}'],
    "qwen_3": [
        "hm</think>\n\nHello",
        'hm</think>\n\n<tool_call>\n{"name": "weather", "arguments": ' + ARGUMENTS + "}\n</tool_call>",
        'hm</think>\n\n<tool_call>\n{"name": "weather", "arguments": {}}\n</tool_call>',
    ],
    "deepseek_v3_1": [
        "hm</think>Hello",
        "hm</think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>"
        + ARGUMENTS
        + "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ],
    "kimi": [
        "hm</think>Hello",
        "hm</think><|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>"
        + ARGUMENTS
        + "<|tool_call_end|><|tool_calls_section_end|>",
    ],
    "qwen_3_5": [
        "hm</think>\n\nHello",
        "hm</think>\n\n<tool_call>\n<function=weather>\n<parameter=city>\nLund\n</parameter>\n</function>\n</tool_call>",
    ],
    "glm_4_7": [
        "hm</think>Hello",
        "hm</think><tool_call>weather<arg_key>city</arg_key><arg_value>Lund</arg_value></tool_call>",
        "hm</think><tool_call>weather<arg_key>town</arg_key><arg_value>Lund</arg_value></tool_call>",
    ],
    "deepseek_v3_2": [
        "hm</think>Hello",
        'hm</think>\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name="weather">\n'
        '<｜DSML｜parameter name="city" string="true">Lund</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    ],
    "mimo": [
        "Hello",
        "<tool_call><function=weather><parameter=city>Lund</parameter></function></tool_call>",
        "<tool_call><function=weather><parameter=city>Lund</function></tool_call>",
    ],
    "exaone": ["Hello", '<tool_call>{"name": "weather", "arguments": ' + ARGUMENTS + "}</tool_call>"],
}
CHOICES = ["auto", "none", "required", {"type": "function", "function": {"name": "now"}}]

RESULT = []
for model, answers in ANSWERS.items():
    for choice in CHOICES:
        tag = xgr.get_model_structural_tag(model, TOOLS, choice)
        assert isinstance(tag, xgr.StructuralTag)
        grammar = xgr.Grammar.from_structural_tag(tag)
        # Without tools a call is mere text to one library and no answer to the other.
        texts = [text for text in answers if choice != "none" or "weather" not in text]
        RESULT.append((model, str(choice), [_is_grammar_accept_string(grammar, text) for text in texts]))

functions, builtin, mode = xgr.normalize_tool_choice(
    [*TOOLS, {"type": "search"}],
    {
        "type": "allowed_tools",
        "allowed_tools": {
            "mode": "required",
            "tools": [{"type": "function", "function": {"name": "now"}}, {"type": "search"}],
        },
    },
)
RESULT.append(([tool.function.name for tool in functions], [tool.type for tool in builtin], mode))
for choice in (None, "none", "required", {"type": "search"}):
    functions, builtin, mode = xgr.normalize_tool_choice([*TOOLS, {"type": "search"}], choice)
    RESULT.append(([tool.function.name for tool in functions], [tool.type for tool in builtin], mode))

for arguments in (("unknown", TOOLS), ("llama", [], "required"), ("llama", TOOLS, "sometimes"), ("llama", [{}])):
    try:
        xgr.get_model_structural_tag(*arguments)
    except ValueError:
        continue
    raise AssertionError(arguments)


@xgr.register_model_structural_tag("house")
def house(tools, builtin_tools, tool_choice, reasoning, **options):
    """A template of one's own."""
    seen = f"{tools[0].function.name} {len(builtin_tools)} {tool_choice} {reasoning} {sorted(options.items())}"
    return xgr.StructuralTag(format=ConstStringFormat(value=seen))


own = [FunctionToolParam(function=FunctionDefinition(name="f"))]
RESULT.append(xgr.get_model_structural_tag("house", own, "required", reasoning=False, any_order=True).format.value)
