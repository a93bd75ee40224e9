"""Logged answers under a grammar: formats, their mistakes with places, and what a replay says, against other judges."""

from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest

import workbench as wb
from kernels_core import GrammarCompiler, GrammarMatcher, TokenizerInfo
from kernels_core.errors import TokenizerError
from workbench.replaying import ReplayError, read_logged
from workbench.tokenizers import Tokenizer

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"enum": ["Paris", "Lund"]}, "days": {"type": "integer", "minimum": 0}},
    "required": ["city"],
    "additionalProperties": False,
}
WORDS = [b'{"', b"city", b'":', b' "', b"Paris", b'",', b'"}', b"Sure", b" here: ", b"days", b" 1", b"2", b"}", b"Lu"]
BYTES = [bytes((byte,)) for byte in range(256)]
INFO = TokenizerInfo([*BYTES, *WORDS, b"</s>"], stop_token_ids=[256 + len(WORDS)])
SPELT = Tokenizer(INFO, name="test")
ANSWER = [b'{"', b"city", b'":', b' "', b"Paris", b'"}']
TOP = {b"city": b"days", b"Paris": b"Rome"}  # the favourite of a place, beside the token that was written
LOG = math.log


def number(token: bytes) -> int:
    return INFO.decoded_vocab.index(token)


def chat(tokens: list[bytes], **more: Any) -> dict[str, Any]:
    """As OpenAI's chats tell it: the favourite has 0.6, the token itself 0.3."""
    content = []
    for token in tokens:
        likely = [{"token": token.decode(), "logprob": LOG(0.3), "bytes": list(token)}]
        if token in TOP:
            likely.insert(0, {"token": TOP[token].decode(), "logprob": LOG(0.6), "bytes": list(TOP[token])})
        content.append({"token": token.decode(), "logprob": LOG(0.3), "bytes": list(token), "top_logprobs": likely})
    choice = {"index": 0, "logprobs": {"content": content, "refusal": None}, **more}
    return {"object": "chat.completion", "choices": [choice]}


def completion(tokens: list[bytes]) -> dict[str, Any]:
    top = [{token.decode(): LOG(0.3)} | ({TOP[token].decode(): LOG(0.6)} if token in TOP else {}) for token in tokens]
    told = {"tokens": [token.decode() for token in tokens], "token_logprobs": [LOG(0.3)] * len(tokens)}
    return {"choices": [{"index": 0, "text": "", "logprobs": {**told, "top_logprobs": top, "text_offset": []}}]}


def sglang(tokens: list[bytes]) -> dict[str, Any]:
    own = [[LOG(0.3), number(token), None] for token in tokens]
    top = [[[LOG(0.3), number(token), None]] for token in tokens]
    for place, token in enumerate(tokens):
        if token in TOP and TOP[token] in INFO.decoded_vocab:
            top[place].append([LOG(0.6), number(TOP[token]), None])
    return {"text": "", "meta_info": {"output_token_logprobs": own, "output_top_logprobs": top}}


def vllm_output(tokens: list[bytes]) -> dict[str, Any]:
    entries = []
    for token in tokens:
        told = {str(number(token)): {"logprob": LOG(0.3), "rank": 2, "decoded_token": token.decode()}}
        if token in TOP and TOP[token] in INFO.decoded_vocab:
            told[str(number(TOP[token]))] = {"logprob": LOG(0.6), "rank": 1, "decoded_token": TOP[token].decode()}
        entries.append(told)
    return {"token_ids": [number(token) for token in tokens], "logprobs": entries}


def by_id(tokens: list[bytes]) -> dict[str, Any]:
    """vLLM with `return_tokens_as_token_ids`."""
    told = chat(tokens)
    for entry in told["choices"][0]["logprobs"]["content"]:
        for one in (entry, *entry["top_logprobs"]):
            data = bytes(one["bytes"])
            if data in INFO.decoded_vocab:
                one["token"], one["bytes"] = f"token_id:{number(data)}", None
    return told


def response(tokens: list[bytes]) -> dict[str, Any]:
    content = chat(tokens)["choices"][0]["logprobs"]["content"]
    part = {"type": "output_text", "text": "", "logprobs": content}
    return {"object": "response", "output": [{"type": "reasoning"}, {"type": "message", "content": [part]}]}


FORMATS = {
    "chat": chat,
    "completion": completion,
    "sglang": sglang,
    "vllm": vllm_output,
    "by id": by_id,
    "response": response,
}


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_tells_the_same(form: str) -> None:
    found = wb.replay(FORMATS[form](ANSWER), SCHEMA, SPELT)
    assert [step.token for step in found] == ANSWER
    assert found.complete
    assert found.died is None
    assert not found.foreign
    city = found.steps[1]
    assert city.logprob == pytest.approx(LOG(0.3))
    assert (city.favourite, city.favourite_refused) == (b"days", False)  # `city` is required, and may come second
    assert city.least_mass == pytest.approx(0.9)
    assert city.most_mass == pytest.approx(1.0)
    paris = found.steps[4]
    if form in ("sglang", "vllm"):  # ids alone: the vocabulary has no Rome
        assert paris.favourite == b"Paris"
    else:
        assert (paris.favourite, paris.favourite_refused) == (b"Rome", True)
        assert "R cannot come" in paris.favourite_reason
        assert (paris.least_mass, paris.most_mass) == (pytest.approx(0.3), pytest.approx(0.4))
        assert found.log_mass[0] < found.log_mass[1] < 0
    assert [step.index for step in found.fights] == ([] if form in ("sglang", "vllm") else [4])


def test_a_stream_is_one_answer(tmp_path: Path) -> None:
    content = chat(ANSWER)["choices"][0]["logprobs"]["content"]
    events: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": {"role": "assistant"}, "logprobs": None}]}]
    events += [{"choices": [{"index": 0, "delta": {}, "logprobs": {"content": [one]}}]} for one in content]
    events.append({"choices": [], "usage": {}})
    whole = wb.replay(chat(ANSWER), SCHEMA, SPELT)
    lines = "\n".join(json.dumps(event) for event in events)
    sent = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    file = tmp_path / "log.jsonl"
    file.write_text(sent)
    for log in (events, lines, sent, file, str(file)):
        assert [step.token for step in wb.replay(log, SCHEMA, SPELT)] == [step.token for step in whole]


def test_several_answers() -> None:
    log = {"choices": chat(ANSWER)["choices"] + chat([b"Sure"], index=1)["choices"]}
    assert wb.replay(log, SCHEMA, SPELT).complete
    assert wb.replay(log, SCHEMA, SPELT, choice=1).died is not None
    assert wb.replay([sglang(ANSWER), sglang([b"Sure"])], SCHEMA, SPELT, choice=1).died is not None
    with pytest.raises(ReplayError, match="there is no choice 2: 2 were logged"):
        wb.replay(log, SCHEMA, SPELT, choice=2)


def test_an_answer_that_the_grammar_refuses() -> None:
    log = chat([b"Sure", b" here: ", *ANSWER])
    found = wb.replay(log, SCHEMA, SPELT)
    assert found.died is found.steps[-1]
    assert (len(found), found.tokens, found.complete) == (1, 8, False)
    assert found.died.reason == "S cannot come; expected: {"
    assert (found.died.least_mass, found.died.most_mass) == (0.0, pytest.approx(0.7))
    later = wb.replay(log, SCHEMA, SPELT, begin="{")
    assert later.complete
    assert later.skipped == 2
    with pytest.raises(ReplayError, match="has no '<json>'"):
        wb.replay(log, SCHEMA, SPELT, begin="<json>")
    glued = wb.replay(chat([b'Sure{"', *ANSWER[1:]]), SCHEMA, SPELT, begin="{")  # begins inside a token
    assert glued.complete
    assert glued.steps[0].logprob is None


def test_stop_tokens_and_texts_of_foreign_tokens() -> None:
    assert wb.replay(sglang([*ANSWER, b"</s>"]), SCHEMA, SPELT).complete
    early = wb.replay(sglang([*ANSWER[:3], b"</s>"]), SCHEMA, SPELT)
    assert early.died is not None
    assert early.died.reason == "the text may not end here"
    assert wb.replay(chat([*ANSWER, b"</s>"]), SCHEMA, SPELT).complete
    empty = wb.replay(chat([*ANSWER, b""]), SCHEMA, SPELT)  # how some servers tell of their stop token
    assert empty.complete
    more = wb.replay(sglang([*ANSWER, b"</s>", b"2"]), SCHEMA, SPELT)
    assert more.died is not None
    assert more.died.reason == "the text has ended"
    foreign = wb.replay(chat([b'{"city": "Pa', b'ris"}']), SCHEMA, SPELT)
    assert foreign.complete
    assert foreign.foreign == 2


@pytest.mark.parametrize("seed", range(40))
def test_a_text_is_taken_where_the_schema_takes_it(seed: int) -> None:
    """By another library than the engine: whole documents and their mutations."""
    random = Random(seed)
    value: dict[str, Any] = {"city": random.choice(["Paris", "Lund", "Rome"]), "days": random.choice([0, 3, -1, 2.5])}
    for name in random.sample(sorted(value), random.randint(0, 1)):
        del value[name]
    text = json.dumps(value)
    found = wb.replay(text, SCHEMA, SPELT)
    valid = jsonschema.Draft202012Validator(SCHEMA).is_valid(value)
    whole = found.died is None and found.complete
    if value.get("days") == 2.5:  # which is no integer
        assert not valid
    assert whole == valid


def test_what_is_allowed_and_left_is_what_a_mask_says() -> None:
    """Each place again by a matcher of its own, and all listed tokens by its mask."""
    log = chat(ANSWER)
    found = wb.replay(log, SCHEMA, SPELT)
    matcher = GrammarMatcher(GrammarCompiler(INFO).compile_grammar(wb.Grammar.from_json_schema(SCHEMA)))
    (logged,) = read_logged(log, INFO, SPELT.encode)
    for step, one in zip(found, logged.tokens, strict=True):
        allowed = set(matcher.allowed_token_ids())
        assert step.allowed_count == len(allowed)
        mass = sum(math.exp(top.logprob or 0.0) for top in one.top if matcher.fork().accept_string(top.token))
        assert step.least_mass == pytest.approx(mass)
        assert step.mask_us > 0
        assert matcher.accept_token(number(one.token))


def test_guesses_die_where_the_grammar_ends_them() -> None:
    """`, "city": "Paris"` comes again as a guess; the second time the name cannot come."""
    schema = {"type": "array", "items": {"enum": ["Paris", "Lund"]}, "maxItems": 3}
    text = '["Paris", "Paris", "Paris"]'
    tokens = [b"[", b'"', b"Paris", b'"', b",", b" ", b'"', b"Paris", b'"', b",", b" ", b'"', b"Paris", b'"', b"]"]
    assert b"".join(tokens).decode() == text
    found = wb.replay(chat(tokens), schema, SPELT, guesses=3)
    guesses = {step.index: step.guess for step in found if step.guess is not None}
    assert guesses[8].tokens == (b'"', b",", b" ")
    assert guesses[8].held == guesses[8].allowed == 3
    last = guesses[13]  # behind the third: the guess goes on with a fourth
    assert (last.tokens, last.held, last.allowed) == ((b'"', b",", b" "), 1, 1)
    assert [step.index for step in found.dead_guesses] == [12, 13, 14]
    assert not any(step.guess for step in wb.replay(chat(tokens), schema, SPELT, guesses=0))


MISTAKES: list[tuple[Any, str]] = [
    ({"choices": []}, "#/choices: no log probabilities: ask for logprobs"),
    ({"choices": 3}, "#/choices: a list is expected, not 3"),
    ({"choices": ["x"]}, "#/choices/0: an object is expected, not 'x'"),
    ({"choices": [{"logprobs": None}]}, "#/choices: no log probabilities: ask for logprobs"),
    (
        {"choices": [{"logprobs": {"content": [{"logprob": -1}]}}]},
        "#/choices/0/logprobs/content/0/token: a text is exp",
    ),
    (
        {"choices": [{"logprobs": {"content": [{"token": "a", "logprob": 0.5}]}}]},
        "#/choices/0/logprobs/content/0/logprob: a log probability (0 or less) is expected, not 0.5",
    ),
    (
        {"choices": [{"logprobs": {"content": [{"token": "a", "logprob": -1, "bytes": [300]}]}}]},
        "#/choices/0/logprobs/content/0/bytes: a list of numbers from 0 to 255",
    ),
    (
        {"choices": [{"logprobs": {"content": [{"token": "\ufffd", "logprob": -1}]}}]},
        "#/choices/0/logprobs/content/0/token: '\ufffd' holds bytes that are no text",
    ),
    (
        {"choices": [{"logprobs": {"tokens": ["a"], "token_logprobs": [-1, -2]}}]},
        "#/choices/0/logprobs/token_logprobs: 2 entries for 1 tokens",
    ),
    (
        {"choices": [{"logprobs": {"tokens": ["token_id:999"], "token_logprobs": [-1]}}]},
        "#/choices/0/logprobs/tokens/0: 999 is no id of this vocabulary (0 to 270): name the model's own tokenizer",
    ),
    ({"meta_info": {}}, "#/meta_info: no output_token_logprobs: ask for return_logprob"),
    (
        {"meta_info": {"output_token_logprobs": [[-1]]}},
        "#/meta_info/output_token_logprobs/0: a list [logprob, id, text]",
    ),
    ({"meta_info": {"output_token_logprobs": [[-1, "x"]]}}, "#/meta_info/output_token_logprobs/0/1: 'x' is no id"),
    ({"token_ids": [1], "logprobs": []}, "#/logprobs: 0 entries for 1 token ids"),
    ({"token_ids": [1], "logprobs": [{"x": -1}]}, "#/logprobs/0/x: a token id is expected, not 'x'"),
    ({"object": "response", "output": []}, "#: no log probabilities: ask for them with include"),
    ({"answer": 1}, "#: none of the formats that are read: there is no choices"),
    ([], "#: there is no answer in an empty list"),
    ([{"choices": []}, 3], "#/1: an object is expected, not 3"),
    (17, "a log is JSON, a text, a path or a Generation, not int"),
    ('data: {"choices": []}\ndata: {"choices"', "line 2: not JSON"),
]


@pytest.mark.parametrize(("log", "told"), MISTAKES, ids=[told[:40] for _, told in MISTAKES])
def test_a_mistake_in_a_log_is_told_with_its_place(log: Any, told: str) -> None:
    with pytest.raises(ReplayError) as error:
        wb.replay(log, SCHEMA, SPELT)
    assert str(error.value).startswith(told)


def test_a_text_that_is_json_is_an_answer_and_no_log() -> None:
    assert wb.replay('{"city": "Lund"}', SCHEMA, SPELT).kind == "text"
    assert wb.replay("no JSON", SCHEMA, SPELT).died is not None
    assert wb.replay(b'{"city": "Lund"}', SCHEMA, SPELT).complete
    with pytest.raises(FileNotFoundError):
        wb.replay("answers.json", SCHEMA, SPELT)
    assert wb.replay(b"answers.json", SCHEMA, SPELT).died is not None


def test_events_for_perfetto(tmp_path: Path) -> None:
    found = wb.replay(chat([*ANSWER[:4], b"Rome"]), SCHEMA, SPELT)
    events = json.loads(found.to_chrome_trace(tmp_path / "trace.json").read_text())["traceEvents"]
    for event in events:
        assert event["ph"] in "MXCi"
        assert isinstance(event["pid"], int)
        if event["ph"] != "M":
            assert event["ts"] >= 0
        if event["ph"] == "X":
            assert event["dur"] >= 0
            assert event["tid"] in (1, 2)
    assert sum(event.get("cat") == "mask" for event in events) == len(found)
    lanes: dict[int, float] = {}
    for event in events:  # those of a lane do not overlap
        if event["ph"] == "X":
            assert event["ts"] >= lanes.get(event["tid"], 0.0) - 1e-9
            lanes[event["tid"]] = event["ts"] + event["dur"]
    assert any(event["ph"] == "i" and event["name"] == "Rome refused" for event in events)
    with pytest.raises(ValueError, match=r"must end in \.json"):
        found.to_chrome_trace(tmp_path / "trace.html")


def test_displays() -> None:
    found = wb.replay(chat([*ANSWER[:4], b"Rome"]), SCHEMA, SPELT)
    assert "refused at token 4" in repr(found)
    assert "R cannot come" in str(found)
    assert "R cannot come" in found._repr_html_()
    frame = found.to_frame()
    assert list(frame["refused"]) == [False] * 4 + [True]
    assert found.summary()["died"] == 4
    pytest.importorskip("plotly")
    assert len(found.figure().data) >= 4


def test_other_grammars() -> None:
    compiled = GrammarCompiler(INFO).compile_grammar('root ::= "Sure"')
    for grammar in (compiled, compiled.grammar, 'root ::= "Sure"'):
        assert wb.replay("Sure", grammar, SPELT).complete
    assert wb.replay("Sure", "Sure|No", SPELT, language="regex").complete
    other = GrammarCompiler(TokenizerInfo([b"a", b"b"])).compile_grammar('root ::= "a"')
    with pytest.raises(TokenizerError, match="another vocabulary"):
        wb.replay("Sure", other, SPELT)
