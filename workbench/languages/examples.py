"""One short example for each language: what an editor shows when a language is chosen that nothing was written in yet.

Read on: `workbench/panels/source.py`.
"""

from __future__ import annotations

from typing import Final

from workbench.languages.guess import Language

EXAMPLES: Final[dict[Language, str]] = {
    "ebnf": r"""# A small language of calls: edit it and see.
root   ::= call
call   ::= "call " name "(" args? ")"
name   ::= [a-z]+
args   ::= value (", " value)*
value  ::= number | string | call
number ::= "-"? [0-9]+ ("." [0-9]+)?
string ::= "\"" [a-zA-Z0-9 ]* "\""
""",
    "lark": r"""// Sums of numbers and names.
start: sum
sum: product (("+" | "-") product)*
product: atom (("*" | "/") atom)*
atom: NUMBER | NAME | "(" sum ")"
NUMBER: /[0-9]+(\.[0-9]+)?/
NAME: /[a-z]+/
%ignore " "
""",
    "regex": r"(mon|tues|wednes|thurs|fri)day, [0-9]{1,2}(:[0-9]{2})? (am|pm)",
    "json_schema": """{
  "type": "object",
  "properties": {
    "city": {"type": "string", "minLength": 1},
    "days": {"type": "integer", "minimum": 1, "maximum": 14},
    "unit": {"enum": ["celsius", "fahrenheit"]}
  },
  "required": ["city"],
  "additionalProperties": false
}
""",
    "structural_tag": """{
  "type": "structural_tag",
  "format": {
    "type": "triggered_tags",
    "triggers": ["<answer", "<note"],
    "tags": [
      {
        "begin": "<answer>",
        "content": {"type": "json_schema", "json_schema": {"type": "array", "items": {"type": "boolean"}}},
        "end": "</answer>"
      },
      {"begin": "<note>", "content": {"type": "any_text"}, "end": "</note>"}
    ]
  }
}
""",
    "tools": """[
  {
    "type": "function",
    "function": {
      "name": "get_weather",
      "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}},
        "required": ["city"]
      }
    }
  },
  {
    "type": "function",
    "function": {
      "name": "set_alarm",
      "parameters": {
        "type": "object",
        "properties": {"time": {"type": "string", "format": "time"}},
        "required": ["time"]
      }
    }
  }
]
""",
}
