"""Reasoning in front of an answer: read apart, allowed by the grammar where it is asked for, and counted."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_core import CancelToken, GrammarMatcher, TokenizerInfo
from tests.serve.conftest import SCHEMA, TOOLS, Client
from tests.serve.test_endpoints import events_of, told
from workbench.generation import Chunk, LanguageModel, Row, Sampling
from workbench.generation.row import Words
from workbench.serving import Limits, Service
from workbench.serving.answers import Writer
from workbench.serving.body import Body
from workbench.serving.calls import Piece, Said, Thought
from workbench.serving.chat import ChatRequest
from workbench.serving.constraint import Constraint, Maker
from workbench.serving.fields import read
from workbench.serving.thoughts import BLOCKS, LAYOUT, Block, ThoughtReader

TURNS = (
    "{% for message in messages %}{{ '<|assistant|>' if message.role == 'assistant' else '<|user|>' }}"
    "{% if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>{% endif %}"
    "{{ message.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
OPENS = TURNS.replace("<|assistant|>{% endif %}", "<|assistant|><think>\n{% endif %}")
FORMAT = {"type": "json_schema", "json_schema": {"name": "trip", "schema": SCHEMA}}
TRIP = '{"city": "Lund", "days": 2}'
THINK = BLOCKS[0]


@pytest.fixture(scope="module")
def thinker(demo: LanguageModel) -> Iterator[Callable[[str], Client]]:
    made: dict[str, Service] = {}

    def make(template: str) -> Client:
        if template not in made:
            tokenizer = copy.copy(demo.hf_tokenizer)
            tokenizer.chat_template = template
            model = LanguageModel(demo.model, tokenizer, name="thinker")
            made[template] = Service(model, Limits(rows=2), name="demo", tell_schema=False)
        return Client(made[template])

    yield make
    for service in made.values():
        service.close()


def writes(client: Client, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the model draws the tokens of `text`, and then ends."""
    tokenizer, engine = client.service.model.tokenizer, client.service.runner.engine
    tokens = [*tokenizer.encode(text), *list(tokenizer.info.stop_token_ids)[:1]]
    monkeypatch.setattr(engine, "choose", lambda rows, *_: [tokens[len(row.tokens)] for row in rows])


# -- reading ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("opened", "text", "thought", "said"),
    [
        (False, "<think>Hm.</think>\n\nYes.", "Hm.", "Yes."),
        (False, " \n<think>\nHm. </th</think>Yes.", "\nHm. </th", "Yes."),
        (False, "Yes, <think>no</think>.", "", "Yes, <think>no</think>."),
        (False, "<thin", "", "<thin"),
        (False, "", "", ""),
        (False, "<think>cut</thi", "cut</thi", ""),
        (True, "Hm.</think> Yes</think>.", "Hm.", "Yes</think>."),
        (True, "Hm. <think>", "Hm. <think>", ""),
        (False, "<think></think><think>x", "", "<think>x"),
    ],
)
@given(data=st.data())
def test_a_block_is_read_however_the_text_is_cut(
    opened: bool, text: str, thought: str, said: str, data: st.DataObject
) -> None:
    reader = ThoughtReader(Block("<think>", "</think>", opened))
    pieces: list[Piece] = []
    rest = text
    while rest:
        size = data.draw(st.integers(1, 9))
        pieces += reader.feed(rest[:size])
        rest = rest[size:]
    pieces += reader.feed("", last=True)
    assert "".join(piece.text for piece in pieces if isinstance(piece, Thought)) == thought
    assert "".join(piece.text for piece in pieces if isinstance(piece, Said)) == said


@pytest.mark.parametrize("size", [1, 3, 99])
@pytest.mark.parametrize(("text", "said"), [(" yes", " yes"), ("\n\n yes", " yes"), ("\n", ""), ("\nyes", "yes")])
def test_blanks_that_an_answer_begins_with_are_its_own(size: int, text: str, said: str) -> None:
    """Where it has a grammar, which says what stands behind the block."""
    whole = f"<think>Hm.</think>{text}"
    for layout, expected in (({"layout": LAYOUT}, said), ({}, said.lstrip())):
        reader = ThoughtReader(THINK, **layout)
        pieces = [piece for at in range(0, len(whole), size) for piece in reader.feed(whole[at : at + size])]
        pieces += reader.feed("", last=True)
        assert "".join(piece.text for piece in pieces if isinstance(piece, Said)) == expected


def test_nothing_follows_a_stop_string() -> None:
    """Also where its last token goes on with half a character."""
    info = TokenizerInfo([b"<think>", b"a", b"</think>", b"b", b"END\xc3", b"</s>"], stop_token_ids=[5])
    for size in (1, 5):
        row = Row(0, (1,), None, Sampling(), 0, 9, (b"END",), None, Words.of(info), 99)
        writer = Writer(Constraint(None, "text", "#/response_format", block=THINK), info, ("END",))
        tokens = (0, 1, 2, 3, 4)
        for at in range(0, 5, size):
            some = tokens[at : at + size]
            widths = tuple(len(info.decoded_vocab[token]) for token in some)
            writer.take(Chunk(row, some, widths, b"", "stop" if at + size >= 5 else None))
        assert (writer.reasoning, writer.text, writer.thought) == ("a", "b", 2)


# -- the grammar -----------------------------------------------------------------------------------------------------

BEHIND = f"Hm, {{a}}.</think>\n\n{TRIP}"
CALL = '<tool_call>{"name": "get_weather", "arguments": ' + TRIP + "}</tool_call>"


@pytest.mark.parametrize(
    ("fields", "opened", "taken", "refused"),
    [
        ({"response_format": FORMAT}, False, [TRIP], ["<think>" + BEHIND]),
        ({"response_format": FORMAT, "reasoning_effort": "none"}, False, [TRIP], ["<think>" + BEHIND]),
        ({"response_format": FORMAT, "reasoning_effort": "low"}, False, [TRIP, "<think>" + BEHIND], [BEHIND]),
        ({"response_format": FORMAT}, True, [BEHIND, f"</think>{TRIP}"], [TRIP, "<think>" + BEHIND]),
        ({"structured_outputs": {"choice": ["a", "b"]}}, True, ["x</think>\na"], ["a", "x</think>c"]),
        ({"structured_outputs": {"grammar": 'root ::= "a"'}}, True, ["x</think>a"], ["a"]),
        ({"tools": TOOLS, "tool_choice": "required", "reasoning_effort": "high"}, False,
         [CALL, f"<think>Hm.</think>\n\n{CALL}"], ["<think>Hm.</think>Hi."]),
        ({"tools": TOOLS, "tool_choice": "none"}, True, ["Hm.</think>Hi."], ["Hi.", f"Hm.</think>{CALL}"]),
        ({"tools": TOOLS, "response_format": FORMAT}, True, [BEHIND, f"Hm.</think>{CALL}"], [TRIP, "Hm.</think>Hi."]),
    ],
    ids=str,
)  # fmt: skip
def test_a_block_stands_in_front_of_what_is_asked_for(
    demo: LanguageModel, fields: dict[str, Any], opened: bool, taken: list[str], refused: list[str]
) -> None:
    body = Body(json.dumps({"model": "demo", "messages": [{"role": "user", "content": "a"}], **fields}).encode())
    block = Block(THINK.begin, THINK.end, opened)
    asked = read(body, ChatRequest)
    made = Maker(asked, body, demo.compiler, "exaone", Limits(), CancelToken(), block=block).constraint()
    assert made.compiled is not None
    for text in (*taken, *refused):
        matcher = GrammarMatcher(made.compiled)
        assert (matcher.accept_string(text) and matcher.is_completed()) is (text in taken), text


def test_what_cannot_stand_behind_reasoning_is_refused(thinker: Callable[[str], Client]) -> None:
    form = {"type": "grammar", "grammar": 'start: "x"', "language": "lark"}
    answer = thinker(TURNS).chat(response_format=form, reasoning_effort="high")
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "response_format"


# -- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("template", [TURNS, OPENS], ids=["written", "opened"])
@pytest.mark.parametrize(
    "fields",
    [{}, {"response_format": FORMAT, "reasoning_effort": "high"}, {"stop": ["never"], "logprobs": None}],
    ids=["text", "schema", "stop"],
)
def test_reasoning_has_a_field_of_its_own(
    thinker: Callable[[str], Client], monkeypatch: pytest.MonkeyPatch, template: str, fields: dict[str, Any]
) -> None:
    client = thinker(template)
    writes(client, ("" if template == OPENS else "<think>") + f"Hm, ja.</think>\n\n{TRIP}", monkeypatch)
    (choice,) = told(client.chat(**fields))["choices"]
    assert choice["message"]["reasoning_content"] == "Hm, ja."
    assert choice["message"]["content"] == TRIP
    deltas = [event["choices"][0]["delta"] for event in client.events(**fields)]
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "Hm, ja."
    assert "".join(delta.get("content") or "" for delta in deltas) == TRIP


def test_reasoning_in_front_of_a_call(thinker: Callable[[str], Client], monkeypatch: pytest.MonkeyPatch) -> None:
    client = thinker(OPENS)
    assert client.service.tool_format == "hermes"
    call = '<tool_call>\n{"name": "get_weather", "arguments": ' + TRIP + "}\n</tool_call>"
    writes(client, f"A call like {call} perhaps?</think>\n\n{call}", monkeypatch)
    (choice,) = told(client.chat(tools=TOOLS))["choices"]
    assert choice["message"]["reasoning_content"] == f"A call like {call} perhaps?"
    (made,) = choice["message"]["tool_calls"]
    assert json.loads(made["function"]["arguments"]) == json.loads(TRIP)
    assert choice["message"]["content"] is None


def test_reasoning_is_an_item_of_a_response(thinker: Callable[[str], Client], monkeypatch: pytest.MonkeyPatch) -> None:
    client = thinker(OPENS)
    writes(client, f"Hm, ja.</think>\n\n{TRIP}", monkeypatch)
    asked = {"model": "demo", "input": "weather in Lund", "max_output_tokens": 100}
    whole = told(client.ask("/v1/responses", asked))
    thought, message = whole["output"]
    assert thought["type"] == "reasoning"
    assert [part["text"] for part in thought["content"]] == ["Hm, ja."]
    assert [part["text"] for part in message["content"]] == [TRIP]
    tokens = client.service.model.tokenizer.encode("Hm, ja.</think>\n\n" + TRIP)
    head = next(n for n in range(len(tokens)) if "</think>" in client.service.model.tokenizer.decode(tokens[:n]))
    assert whole["usage"]["output_tokens_details"]["reasoning_tokens"] == head
    events = events_of(client.ask("/v1/responses", {**asked, "stream": True}))
    deltas = [event["delta"] for event in events if event["type"] == "response.reasoning_text.delta"]
    assert "".join(deltas) == "Hm, ja."
    assert [event["item"]["type"] for event in events if event["type"] == "response.output_item.done"] == [
        "reasoning",
        "message",
    ]


def test_reasoning_that_was_cut(thinker: Callable[[str], Client], monkeypatch: pytest.MonkeyPatch) -> None:
    client = thinker(OPENS)
    writes(client, "Hm, hm, hm, hm, hm, hm, hm, hm", monkeypatch)
    (choice,) = told(client.chat(max_tokens=5))["choices"]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("length", "")
    assert choice["message"]["reasoning_content"].startswith("Hm")


@pytest.mark.parametrize(
    ("begun", "written", "reasoning"),
    [("<think>Hm,", " ja.</think>\n\n", " ja."), ("<think>Hm.</think>\n\n", "", None), ("", "", None)],
)
def test_a_turn_that_is_gone_on_with_may_have_begun_to_reason(
    thinker: Callable[[str], Client],
    monkeypatch: pytest.MonkeyPatch,
    begun: str,
    written: str,
    reasoning: str | None,
) -> None:
    client = thinker(TURNS)
    writes(client, f"{written}{TRIP}", monkeypatch)
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": begun}]
    answer = client.chat(messages=messages, continue_final_message=True, response_format=FORMAT)
    message = told(answer)["choices"][0]["message"]
    assert (message.get("reasoning_content"), message["content"]) == (reasoning, TRIP)


def test_a_turn_brings_its_reasoning_back(thinker: Callable[[str], Client]) -> None:
    client = thinker(TURNS)
    said = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b", "reasoning_content": "Hm."},
        {"role": "user", "content": "c"},
    ]
    with_it = told(client.chat(messages=said, max_tokens=1))["usage"]["prompt_tokens"]
    del said[1]["reasoning_content"]
    assert told(client.chat(messages=said, max_tokens=1))["usage"]["prompt_tokens"] < with_it
