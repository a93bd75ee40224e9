"""Structural tags: built of classes, of dicts, in the older form, and of a model's template."""

import json

import xgrammar as xgr
from pydantic import BaseModel
from xgrammar.structural_tag import (
    AnyTextFormat,
    ConstStringFormat,
    GrammarFormat,
    JSONSchemaFormat,
    OptionalFormat,
    OrFormat,
    RegexFormat,
    RepeatFormat,
    SequenceFormat,
    TagFormat,
    TagsWithSeparatorFormat,
    TriggeredTagsFormat,
)
from xgrammar.testing import _get_masked_tokens_from_bitmask, _is_grammar_accept_string


class City(BaseModel):
    """Where."""

    name: str


WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
call = TagFormat(begin="<f=weather>", content=JSONSchemaFormat(json_schema=WEATHER), end="</f>")
FORMATS = {
    "triggered": TriggeredTagsFormat(triggers=["<f="], tags=[call]),
    "first only": TriggeredTagsFormat(triggers=["<f="], tags=[call], stop_after_first=True),
    "at least one": TriggeredTagsFormat(triggers=["<f="], tags=[call], at_least_one=True),
    "list": TagsWithSeparatorFormat(tags=[call], separator=";"),
    "thinking": SequenceFormat(
        elements=[
            TagFormat(begin="<think>", content=AnyTextFormat(), end="</think>"),
            OptionalFormat(content=ConstStringFormat(value="\n")),
            OrFormat(elements=[RegexFormat(pattern="[ab]+"), GrammarFormat(grammar='root ::= "c" root | "d"')]),
            RepeatFormat(min=0, max=2, content=ConstStringFormat(value="!")),
        ]
    ),
}
TEXTS = [
    "",
    "plain",
    "one <f=weather>",
    'x<f=weather>{"city": "Lund"}</f>',
    '<f=weather>{"city": "Lund"}</f>',
    '<f=weather>{"city": "Lund"}</f> and more',
    '<f=weather>{"city": "Lund"}</f>;<f=weather>{"city":"Rio"}</f>',
    '<f=weather>{"city": "Lund", "x": 1}</f>',
    '<f=weather>{"city": 1}</f>',
    "<f=time>{}</f>",
    "<think>hm</think>\nab!",
    "<think>hm</think>ccd!!",
    "<think>hm</think>ccd!!!",
    "<think>hm</think>",
]

RESULT = {}
for name, inner in FORMATS.items():
    tag = xgr.StructuralTag(format=inner)
    text = tag.model_dump_json()
    assert xgr.StructuralTag.from_json(text) == tag
    assert xgr.StructuralTag.from_json(json.loads(text)) == tag
    for given in (tag, text, tag.model_dump()):
        grammar = xgr.Grammar.from_structural_tag(given)
        RESULT[name] = [_is_grammar_accept_string(grammar, text) for text in TEXTS]

items = [xgr.StructuralTagItem(begin="<f=city>", schema=City, end="</f>")]
items.append(xgr.StructuralTagItem(begin="<f=n>", schema='{"type": "integer"}', end="</f>"))
OLDER = ["<f=city>" + '{"name": "Rio"}' + "</f>", "a<f=n>12</f>b", "<f=n>x</f>", "<f=n>1.0</f>", "<f=m>1</f>"]
for grammar in (
    xgr.Grammar.from_structural_tag(items, ["<f="]),
    xgr.Grammar.from_structural_tag(tags=items, triggers=["<f="]),
    xgr.Grammar.from_structural_tag(xgr.StructuralTag.from_legacy_structural_tag(items, ["<f="])),
):
    RESULT["older form"] = [_is_grammar_accept_string(grammar, text) for text in OLDER]

VOCABULARY = ["</s>", "<think>", "</think>", "a", "b", "ab", "<f=n>", "</f>", "1", "12", "<", "f", "="]
info = xgr.TokenizerInfo(VOCABULARY)
compiler = xgr.GrammarCompiler(info)
compiled = compiler.compile_structural_tag(items, ["<f="])
matcher = xgr.GrammarMatcher(compiled)
row = xgr.allocate_token_bitmask(1, info.vocab_size)
masks = []
for token in (3, 6, 9, 7, 4):
    matcher.fill_next_token_bitmask(row)
    masks.append(_get_masked_tokens_from_bitmask(row, info.vocab_size))
    assert matcher.accept_token(token)
RESULT["masks"] = masks

for wrong in ("{", {"format": {"type": "const"}}, {"format": {"type": "tag", "begin": "<", "end": ">"}}, {}):
    for refuse in (xgr.Grammar.from_structural_tag, compiler.compile_structural_tag):
        try:
            refuse(wrong)
        except RuntimeError:
            continue
        raise AssertionError(wrong)
try:
    xgr.Grammar.from_structural_tag("{")
except xgr.InvalidJSONError:
    pass
try:
    xgr.Grammar.from_structural_tag({})
except xgr.InvalidStructuralTagError:
    pass
