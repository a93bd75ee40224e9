"""Our backends in the servers themselves, where those are installed: the project needs neither, and CI has neither."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.compat import real_vllm as asked  # noqa: E402
from tests.compat import server_calls as calls  # noqa: E402
from tests.compat.test_servers import INFO, RESULTS, OverSglang, OverVllm, Scenario, Settings, as_json  # noqa: E402
from workbench.compat.servers import sglang, vllm  # noqa: E402
from workbench.generation.fetching import find_model  # noqa: E402

ROOT = Path(__file__).parents[2]

# -- vLLM ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def backend_of_vllm() -> Iterator[Any]:
    """Our class in the place of XGrammar's, over vLLM's own base classes."""
    pytest.importorskip("vllm")
    yield vllm.register()
    vllm.unregister()


@pytest.mark.parametrize("scenario", calls.SCENARIOS)
def test_over_the_classes_of_vllm(scenario: Scenario, backend_of_vllm: Any) -> None:
    backend = backend_of_vllm(Settings, tokenizer=INFO, vocab_size=calls.SIZE)
    assert as_json(scenario(OverVllm(backend))) == RESULTS[scenario.__name__]


@pytest.fixture(scope="module")
def answers() -> dict[str, dict[str, Any]]:
    """What vLLM's engine answers, in a process of its own, with this engine as its plugin."""
    pytest.importorskip("vllm")
    model = find_model("smollm2")
    if model is None:
        pytest.skip("the model is not here: maskscope model fetch smollm2")
    if not importlib.metadata.entry_points(group="vllm.general_plugins", name="maskscope"):
        pytest.skip("maskscope is not installed beside vLLM, which finds it by its metadata")
    command = [sys.executable, "-m", "tests.compat.real_vllm", str(model)]
    environment = os.environ | {vllm.SWITCH: "xgrammar", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    found: dict[str, dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def is_person(text: str) -> bool:
    found = json.loads(text)
    return list(found) == ["name", "age"] and len(found["name"]) <= 12 and found["age"] in range(131)


FITS: dict[str, Callable[[str], object]] = {
    "schema": is_person,
    "the same schema": is_person,
    "multiples": lambda text: int(text) in range(1000, 9001, 5),
    "object": lambda text: text.startswith("{"),  # it may be cut
    "regex": lambda text: re.fullmatch("[0-9]{4}-[0-9]{2}", text),
    "choice": asked.ASKED["choice"]["choice"].__contains__,
    "ebnf": lambda text: re.fullmatch("Hello, [A-Z][a-z]{2,6}!", text),
    "lark": lambda text: re.fullmatch("Hello, [A-Z][a-z]{2,6}!", text),
    "tag": lambda text: text.startswith("<call>") and text.endswith(".") and is_person(text[6:-1]),
}


@pytest.mark.parametrize("name", asked.ASKED)
def test_what_vllm_answers_fits(name: str, answers: dict[str, dict[str, Any]]) -> None:
    assert FITS[name](answers[name]["text"]), answers[name]
    assert answers[name]["reason"] == "stop" or name == "object"


def test_requests_of_a_batch_do_not_touch_each_other(answers: dict[str, dict[str, Any]]) -> None:
    assert answers["the same schema"] == answers["schema"]
    assert answers["free"]["tokens"] == 5
    assert (answers["cut"]["reason"], answers["cut"]["tokens"]) == ("length", 4)
    assert answers["schema"]["text"].startswith(answers["cut"]["text"])


def test_what_vllm_refuses_says_why_and_the_engine_lives(answers: dict[str, dict[str, Any]]) -> None:
    for name in asked.REFUSED:
        assert "the grammar of this request cannot be used: " in answers[name]["error"]
    assert answers["no such token"]["reason"] == "error"
    assert answers["afterwards"] == answers["choice"]


# -- SGLang ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def backend_of_sglang() -> Any:
    """Our backend as SGLang makes it, under its own manager's way of asking."""
    pytest.importorskip("sglang")
    base = importlib.import_module("sglang.srt.constrained.base_grammar_backend")
    sglang.register()
    arguments = SimpleNamespace(constrained_json_disable_any_whitespace=True, reasoning_parser=None)
    backend = base.GRAMMAR_BACKEND_REGISTRY["maskscope"](arguments, INFO, calls.SIZE, {calls.STOP})

    def ask(kind: str, text: str) -> Any:
        found, known = backend.get_cached_or_future_value((kind, text), False)
        if not known:
            found = found.result()
            backend.set_cache((kind, text), found.copy())
        return found

    backend.asked = ask
    return backend


@pytest.mark.parametrize("scenario", calls.SCENARIOS)
def test_over_the_classes_of_sglang(scenario: Scenario, backend_of_sglang: Any) -> None:
    assert as_json(scenario(OverSglang(backend_of_sglang))) == RESULTS[scenario.__name__]


def test_what_sglang_refuses_says_why(backend_of_sglang: Any) -> None:
    base = importlib.import_module("sglang.srt.constrained.base_grammar_backend")
    found = backend_of_sglang.asked("regex", "(")
    assert isinstance(found, base.InvalidGrammarObject)
    assert "line 1" in found.error_message


def test_drafts_of_sglang(backend_of_sglang: Any) -> None:
    """Its walk over a tree of drafts fills the masks that single steps fill, and leaves the text where it was."""
    drafts = pytest.importorskip("sglang.srt.speculative.spec_utils")
    grammar = backend_of_sglang.asked("ebnf", 'root ::= "x" ("q" | "<")* "x"')
    # 0: the last token taken; below it "x" and "q", below "x" "q" and "<".
    tokens = torch.tensor([0, 9, 15, 15, 14])
    children = torch.tensor([1, 3, -1, -1, -1])
    siblings = torch.tensor([-1, 2, -1, 4, -1])
    masks = grammar.allocate_vocab_mask(calls.SIZE, len(tokens), "cpu")
    drafts.traverse_tree(children, siblings, tokens, grammar, masks, calls.SIZE)
    assert [calls.allowed(masks, row) for row in (0, 1)] == [[9], [9, 14, 15]]
    assert [calls.allowed(masks, row) for row in (3, 4)] == [[9, 14, 15]] * 2
    assert calls.allowed(masks, 2) == list(range(calls.SIZE))  # a draft that does not fit: its row stays
    assert grammar.matcher.num_steps == 0
