"""What one can open with one click: outputs of different kinds, each with a prompt and a run that was recorded.

Read on: `recording.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from workbench.languages import Language, Source


@dataclass(frozen=True, slots=True)
class Entry:
    """An output: its source, a prompt that asks a model for it, the seed of the recorded run, what to look at in it."""

    name: str
    title: str
    language: Language
    text: str
    prompt: str
    seed: int
    look: str
    options: Mapping[str, Any] = field(default_factory=dict)
    until: str = ""  # a text with which the recorded run ends, where the model would go on
    rests: str = ""  # the part of the recorded run before whose last occurrence it rests when it has played; its end
    chat: bool = True  # whether the prompt is said to the model as a chat, or is the beginning of a text

    @property
    def source(self) -> Source:
        return Source(self.language, self.text, dict(self.options), self.title)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _object(**members: object) -> dict[str, object]:
    """A schema of objects with these members and no others."""
    return {"type": "object", "properties": members, "required": [*members], "additionalProperties": False}


_WEATHER: Final = {
    "name": "get_weather",
    "parameters": _object(city={"type": "string", "maxLength": 24}, unit={"enum": ["celsius", "fahrenheit"]}),
}
_MAIL: Final = {
    "name": "send_mail",
    "parameters": _object(to={"type": "string", "format": "email"}, text={"type": "string", "maxLength": 60}),
}
_TOOLS: Final = [{"type": "function", "function": one} for one in (_WEATHER, _MAIL)]

GALLERY: Final = (
    Entry(
        "tool_call",
        "Tool call in free text",
        "tools",
        _json({"model": "qwen_3", "tools": _TOOLS}),
        "User: How warm is it in Oslo?\nAssistant: Let me see.<tool_call>\n"
        '{"name": "get_weather", "arguments": {"city": "Oslo", "unit": "kelvin"}}\n</tool_call>\n'
        "User: How warm is it in Lund?\nAssistant:",
        3,
        "Look at celsius: the model wanted kelvin, as in the prompt's example, which is no value of the enum.",
        until="</tool_call>",
        rests="celsius",
        chat=False,
    ),
    Entry(
        "strict_json",
        "Strict JSON answer",
        "json_schema",
        _json(
            _object(
                city={"type": "string", "maxLength": 24},
                country={"enum": ["Sweden", "Denmark", "Norway"]},
                population={"type": "integer", "minimum": 1000, "maximum": 9999999},
                coastal={"type": "boolean"},
            )
        ),
        "Describe the city of Stockholm as JSON with city, country, population and coastal.",
        1,
        "Look at coastal: true was likelier, but the draw took false. The grammar guarantees the form alone.",
        {"any_whitespace": False},
        rests=" false",
    ),
    Entry(
        "harmony",
        "Harmony with reasoning",
        "tools",
        _json({"model": "harmony", "reasoning": "enabled", "tools": _TOOLS}),
        "User: How warm is it in Oslo?\nAssistant:<|channel|>analysis<|message|>I need the weather in Oslo.<|end|>"
        "<|start|>assistant<|channel|>commentary to=functions.get_weather<|constrain|>json<|message|>"
        '{"city": "Oslo", "unit": "kelvin"}<|call|>\nUser: How warm is it in Lund?\nAssistant:',
        4,
        "Look at the parts: reasoning, then a call; kelvin, as in the prompt's example, is no value of the enum.",
        until="<|call|>",
        rests="celsius",
        chat=False,
    ),
    Entry(
        "union",
        "Discriminated union",
        "json_schema",
        _json(
            {
                "oneOf": [
                    _object(kind={"const": "circle"}, radius={"type": "number"}),
                    _object(kind={"const": "rectangle"}, width={"type": "number"}, height={"type": "number"}),
                ]
            }
        ),
        'A rectangle that is 3 wide and 4 high, as JSON: {"kind": "rectangle", "width": 3, "height": 4}. Now a '
        "rectangle that is 5 wide and 2 high:",
        1,
        "Look at Next: kind is rectangle, so width must follow, and radius may not.",
        rests="width",
    ),
    Entry(
        "sql",
        "SQL",
        "lark",
        r"""// A small part of SQL.
start: select ";"
select: "SELECT " columns " FROM " NAME where? order?
columns: "*" | NAME (", " NAME)*
where: " WHERE " condition (" AND " condition)*
condition: NAME " " OPERATOR " " value
order: " ORDER BY " NAME (" ASC" | " DESC")?
value: NUMBER | STRING
OPERATOR: "=" | "<" | ">" | "<=" | ">=" | "LIKE"
NAME: /[a-z_]{1,16}/
NUMBER: /[0-9]{1,6}/
STRING: /'[a-zA-Z ]{0,16}'/
""",
        "Write one SQL query that selects name and age from users older than 30, ordered by age.",
        4,
        "Look at the end: ORDER BY was asked for, and is missing. The grammar guarantees the form alone.",
        rests=";",
    ),
    Entry(
        "ambiguous",
        "Ambiguous grammar",
        "ebnf",
        """# A sum can be read in several ways: look at the derivation.
root ::= sum "."
sum ::= sum " + " sum | sum " * " sum | [1-9]
""",
        "Write a sum of four digits such as 1 + 2 * 3 + 4.",
        5,
        "Click the badge beside Next to see the parses. Four digits were asked for; the grammar takes any number.",
    ),
    Entry(
        "hostile",
        "Hostile grammar",
        "ebnf",
        """# The n-th letter from the end must be an a: an automaton that knows this has 2^n states.
root ::= [ab]* "a" [ab] [ab] [ab] [ab] [ab] [ab] [ab] [ab] [ab] [ab] "."
""",
        "Write letters a and b: abababababab.",
        2,
        "Look at the bars: an automaton would have over 2,000 states; only those that the text meets are made.",
    ),
)
FIRST: Final = GALLERY[0]
