"""Attributes of rules: some rewrite the body of their rule, the rest become its notes, a few of which the parser reads.

- `lazy`: the rule ends as soon as it can, so it holds the texts of which no proper beginning is one of its texts.
- `max_chars=N`: its texts of at most N characters.
- `suffix` and `stop` (Lark): the rule and then the suffix, `lazy` as a whole.  With `max_chars` the rule also ends
  after as many characters, without a suffix.

These work on regular rules, and on no rule that calls one with notes.

Notes stay on the rule (`ir.Rule.notes`) and are printed.  Masks do not depend on these, which are for whoever drives a
generation:

- `capture`, `capture="name"`: texts of the rule are captured, under its name or another.
- `trailing="text"`: a suffix left this text at the end of the rule's texts, and the capture leaves it out.
- `hidden`: captures of rules around it leave that trailing text out, too.
- `stop_capture="name"`: the trailing text is captured by itself.
- `temperature=x`.

The parser reads these:

- `max_tokens=N`: at most N tokens begin inside of a text of the rule (`../earley/token_limits.pyx`); N = 0 leaves the
  empty text.  Not with `lazy`, `suffix` or `stop`, whose end is a part of the rule.
- `distinct`, `item`: no two items of one text of a `distinct` rule are equal as JSON values (`../earley/marks.pyx`).  A
  text of a rule with `item` is an item of the innermost `distinct` rule around it.  Items must be told apart by the
  bytes between them, and a `distinct` rule begins with `[` or `{`.

Read on: `ebnf.py` and `lark/lower.py` (how attributes are written), `regular/languages.pyx`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import GrammarError, UnsupportedFeatureError
from .analysis import begins_with_a_bracket, components, reached
from .ir import Empty, GrammarIR, Rule
from .names import undefined
from .regular.from_rules import grammar_language
from .regular.languages import (
    ALL,
    ANY_CHARACTER,
    EPSILON,
    Language,
    TooManyStates,
    complement,
    concat,
    intersection,
    loop,
)
from .regular.lengths import with_length
from .regular.to_rules import language_node
from .rulebook import RuleBook

NOTES = ("capture", "temperature", "trailing", "hidden", "stop_capture", "max_tokens", "distinct", "item")

Note = tuple[str, Any]


@dataclass(frozen=True, slots=True)
class Attribute:
    """`name` or `name=value`, and the offset of the name in the source."""

    name: str
    value: str | float | int | None
    offset: int


def renamed_capture(notes: tuple[Note, ...], name: str) -> tuple[Note, ...]:
    """`notes` of a rule called `name`, for one that is called otherwise: a capture without a name gets this one."""
    return tuple((key, name if key == "capture" and value is None else value) for key, value in notes)


def shortest(language: Language) -> Language:
    """The texts of `language` of which no proper beginning is in it."""
    if language.nullable:
        return EPSILON
    return intersection(language, complement(concat(language, ANY_CHARACTER, ALL)))


def at_most(language: Language, count: int) -> Language:
    """The texts of `language` with at most `count` characters."""
    solved = with_length(language, 0, count)
    return solved if solved is not None else intersection(language, loop(ANY_CHARACTER, 0, count))


def with_attributes(
    ir: GrammarIR, attributes: Mapping[str, list[Attribute]], marks: Mapping[str, tuple[Note, ...]] = {}
) -> GrammarIR:
    """`ir` with the bodies of rules rewritten by their `attributes`, callees before callers, and with their notes.

    `marks` are notes that cannot be written as text (`predicates.py`).

    `GrammarError` where there is no rule to mark; `UnsupportedFeatureError`, at the attribute, where a rule is not
    regular or needs too many states.
    """
    for name in marks:
        if name not in ir.rules:
            raise GrammarError(undefined(name, ir.rules, role="rule for a predicate"))
    book = RuleBook()
    rules = book.rules = {
        name: Rule(name, rule.body, marks.get(name, ()), span=rule.span) for name, rule in ir.rules.items()
    }
    for name in [name for group in components(ir) for name in group if name in attributes]:
        rule = rules[name]
        by_name = {attribute.name: attribute for attribute in attributes[name]}
        body = rule.body
        if "lazy" in by_name and "max_tokens" in by_name:
            reason = "a rule that is lazy ends by itself, so it takes no max_tokens: give that to a rule that calls it"
            raise UnsupportedFeatureError(reason, ir.source, by_name["max_tokens"].offset)
        if "distinct" in by_name and not begins_with_a_bracket(body):
            reason = f'the rule {name!r} has items that differ (distinct), so it begins with "[" or "{{"'
            raise UnsupportedFeatureError(reason, ir.source, by_name["distinct"].offset)
        offsets = [by_name[key].offset for key in ("lazy", "max_chars") if key in by_name]
        if offsets:
            if "distinct" in by_name:
                reason = "lazy and max_chars make a rule anew, without items that could differ (distinct)"
                raise UnsupportedFeatureError(reason, ir.source, by_name["distinct"].offset)
            rules[name] = Rule(name, body, span=rule.span)  # marks come back below: they are of whole texts of the rule
            try:
                called = reached(GrammarIR(rules, name, ir.source))
                texts = grammar_language(called)
                for one in called.rules.values():
                    if one.notes:
                        reason = f"lazy and max_chars make a rule anew: {one.name!r} would lose its {one.notes[0][0]}"
                        raise UnsupportedFeatureError(reason, ir.source, min(offsets))
                if "lazy" in by_name:
                    texts = shortest(texts)
                if "max_chars" in by_name:
                    texts = at_most(texts, int(by_name["max_chars"].value or 0))
                there_before = len(rules)
                body = language_node(texts, book, f"{name}.text")
                for added in [*rules][there_before:]:
                    rules[added] = Rule(added, rules[added].body, span=rule.span)
            except TooManyStates as error:
                reason = f"the rule {name!r} is not regular, as its attributes need, or it needs {error}"
                raise UnsupportedFeatureError(reason, ir.source, min(offsets)) from None
            except UnsupportedFeatureError as error:
                place = error.offset if error.offset is not None else min(offsets)
                raise UnsupportedFeatureError(error.reason, ir.source, place) from None
        if "max_tokens" in by_name and by_name["max_tokens"].value == 0:
            body = Empty(span=body.span)
            del by_name["max_tokens"]
        notes = tuple((key, attribute.value) for key, attribute in by_name.items() if key in NOTES)
        rules[name] = Rule(name, body, span=rule.span, notes=(*notes, *marks.get(name, ())))
    return GrammarIR(rules, ir.root, ir.source)
