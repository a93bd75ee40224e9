"""Confidences of the leaves of a JSON answer: which tokens hold them, and what was recorded of these."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench.conditioning.leaves import leaves_of  # noqa: E402
from workbench.generation import Generation, LanguageModel, Step  # noqa: E402

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"enum": ["Lund", "Malmö", "Åse"]},
        "days": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 99}, "maxItems": 3},
        "sure": {"type": "boolean"},
    },
    "required": ["city", "days", "sure"],
    "additionalProperties": False,
}


def at(value: Any, pointer: str) -> Any:
    for name in pointer.split("/")[1:]:
        value = value[int(name)] if isinstance(value, list) else value[name.replace("~1", "/").replace("~0", "~")]
    return value


@pytest.mark.parametrize("seed", range(8))
def test_each_leaf_has_its_tokens(leaning: LanguageModel, seed: int) -> None:
    run = wb.generate(leaning, "quick", SCHEMA, seed=seed, max_tokens=200, complete=True)
    found = wb.confidences(run)
    value = json.loads(run.text)
    assert {"/city", "/sure"} <= set(found)
    assert len(found) == 2 + len(value["days"])
    for pointer, leaf in found.items():
        assert leaf.value == at(value, pointer)
        assert json.loads(run.text_bytes[leaf.start : leaf.end]) == leaf.value
        held = b"".join(run.steps[number].token for number in leaf.steps)
        assert run.text_bytes[leaf.start : leaf.end] in held
        assert list(leaf.steps) == list(range(leaf.steps[0], leaf.steps[-1] + 1))
        expected = sum(run.steps[n].logprob - math.log(run.steps[n].feasible_mass) for n in leaf.steps)
        assert leaf.log_probability == pytest.approx(expected, abs=1e-6)
        assert leaf.own_log_probability <= leaf.log_probability + 1e-9
        assert 0 < leaf.probability <= 1
        assert leaf.own == pytest.approx(math.exp(leaf.own_log_probability))
        assert leaf.weakest in leaf.steps
        if not leaf.shared:
            assert held.strip() == run.text_bytes[leaf.start : leaf.end]


def test_what_the_grammar_forces_is_certain(leaning: LanguageModel) -> None:
    run = wb.generate(leaning, "quick", 'root ::= "{\\"a\\": " ("1" | "2") ", \\"b\\": null}"', seed=1)
    found = wb.confidences(run)
    assert found["/a"].value in (1, 2)
    assert found["/b"].value is None
    assert found["/b"].own < found["/b"].probability


def written(text: str) -> Generation:
    """A generation of that text in no tokens."""
    return Generation("none", "", (), (), text.encode(), "stop", False, None)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, -2.5e3, true, null, "x\\"y"], "b/c~d": {"é": "ö"}, "e": {}, "f": []}',
        ' [ [ ] , [ { "k" : false } ] ] ',
        '"alone"',
        "-0.5",
        "{}",
    ],
)
def test_every_leaf_is_found(text: str) -> None:
    value = json.loads(text)
    found = {pointer: (leaf, text[first:past]) for pointer, leaf, first, past in leaves_of(text)}
    for pointer, (leaf, spelled) in found.items():
        assert json.loads(spelled) == leaf == at(value, pointer)

    def count(value: Any) -> int:
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
        return 1 if inside is None else sum(map(count, inside))

    assert len(found) == count(value)
    # Of a text that was cut, each leaf is one of the whole text's.
    for length in range(len(text.rstrip())):
        for pointer, leaf, first, past in leaves_of(text[:length]) if text[0] in "{[ " else ():
            assert found[pointer] == (leaf, text[first:past])


def in_tokens(*tokens: bytes, healed: bytes = b"") -> Generation:
    """A generation in these tokens, of which the first begin with `healed`."""
    text, steps = b"", []
    hidden = len(healed)
    for number, token in enumerate(tokens):
        steps.append(Step(number, number, token, len(text), -1.0, -1.0, 3, 1.0, False, False, False, (), 0, 0, 0))
        text += token[hidden:]
        hidden = max(0, hidden - len(token))
    return Generation("none", "", (), tuple(steps), text, "length", True, False, {}, healed)


def test_what_was_healed_is_none_of_a_leaf() -> None:
    plain = wb.confidences(in_tokens(b'{"a":', b"1", b',"b":', b"22", b"}"))
    healed = wb.confidences(in_tokens(b"x ", b'y: {"a":', b"1", b',"b":', b"22", b"}", healed=b"x y: "))
    assert [leaf.steps for leaf in plain.values()] == [(1,), (3,)]
    assert [leaf.steps for leaf in healed.values()] == [(2,), (4,)]
    assert [leaf.shared for leaf in healed.values()] == [False, False]


def test_a_text_that_was_cut_inside_a_character_has_the_leaves_before_it() -> None:
    assert list(wb.confidences(in_tokens(b'{"a":', b'1,"b":"', b"\xc3"))) == ["/a"]


@pytest.mark.parametrize("text", ['{"a": 1} x', "{a: 1}", "[1 2]", '{"a" 1}', "[1, oops]", '["\\q", 1]'])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="JSON, line 1, column"):
        leaves_of(text)
    with pytest.raises(ValueError, match="no UTF-8"):
        wb.confidences(dataclasses.replace(written(""), text_bytes=b'"\xff"'))
