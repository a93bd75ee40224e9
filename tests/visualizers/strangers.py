"""Texts that would run as a program if a view took them for markup, at every place where a stranger's text comes in.

`EVIL` has no blank and few letters, so that no view clips it or spells it otherwise.  Read on:
`tests/visualizers/test_strangers.py`.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import workbench as wb
from kernels_core import GrammarMatcher, TokenizerInfo, allocate_token_bitmask
from kernels_core.inspect.derivation import Chain, chain
from kernels_core.inspect.trace import Events
from tests.workbench.peers import FlippedEngine
from workbench.languages import Source
from workbench.tokenizers import Tokenizer, load_tokenizer

EVIL = "<img/src/onerror=alert(1)>"
SCRIPT = "</script></title></style><script>alert(2)</script>"
WORDS = [EVIL, SCRIPT, "<img", "/src/", "onerror", '"' + EVIL, EVIL + '"', f"<{EVIL}"]
EOS = 256 + len(WORDS)

SCHEMA: dict[str, Any] = {
    "title": EVIL,
    "description": SCRIPT,
    "type": "object",
    "properties": {EVIL: {"enum": [EVIL, SCRIPT], "description": EVIL}, SCRIPT: {"pattern": f"^{SCRIPT}[a-z]"}},
    "required": [EVIL, SCRIPT],
    "additionalProperties": False,
}
TAG = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": [EVIL],
        "tags": [{"begin": EVIL + SCRIPT, "content": {"type": "json_schema", "json_schema": SCHEMA}, "end": SCRIPT}],
    },
}
RULES = f'root ::= word "{EVIL}" word "{SCRIPT}" | TagDispatch(("{EVIL}", word))\nword ::= [a-z<]+ # {EVIL}'

IN_A_NAME = json.dumps({EVIL: EVIL})[:-1] + f', "{SCRIPT[:34]}'  # behind "<script>al"

# By name: what is read, a text that it takes, and one that dies behind it.
CASES: dict[str, tuple[Any, str, str]] = {
    "rules": (RULES, f"a{EVIL}", "\x07" + EVIL),
    "a schema": (SCHEMA, IN_A_NAME, EVIL),
    "a tag": (TAG, f"hello {EVIL}{SCRIPT}{IN_A_NAME}", EVIL),
}


# What displays itself: of the workbench by its own method (`displays`), of the engine by `visualizers.formatters`.
DISPLAYS = (
    "Ablation", "Blame", "Caches", "Comparison", "Cuts", "Explorer", "Generation", "Hunt", "NextTokens",
    "Probabilities", "Reading", "Replayed", "Samples", "Session", "SideBySide", "Trace", "Why",
)  # fmt: skip
SNAPSHOTS: dict[str, Callable[[wb.Session], Any]] = {
    "Frontier": lambda session: session.inspect.frontier(),
    "TokenSets": lambda session: session.inspect.token_sets(),
    "CacheStats": lambda session: session.inspect.cache_stats(),
    "Automaton": lambda session: session.inspect.automaton(),
    "Operations": lambda session: session.inspect.operations(),
    "Events": lambda session: events(session),
    "CallStack": lambda session: session.inspect.call_stack(),
    "Derivation": lambda session: session.inspect.derivation(),
    "Chain": lambda session: chained(session),
    "Modes": lambda session: session.inspect.modes(),
    "Grammar": lambda session: session.inspect.grammar,
    "CompiledGrammar": lambda session: session.inspect.compiled,
}


def tokenizer() -> Tokenizer:
    """Every byte, and tokens that are markup."""
    words: list[str | bytes] = [*(bytes((byte,)) for byte in range(256)), *(word.encode() for word in WORDS), b""]
    return load_tokenizer(TokenizerInfo(words, stop_token_ids=[EOS]))


def session(case: str) -> wb.Session:
    """A session of `case` behind its text."""
    grammar, text, _ = CASES[case]
    opened = wb.Session(grammar, tokenizer())
    assert opened.read(text).ok
    return opened


def chained(session: wb.Session) -> Chain:
    """How the parser got to the first item of the session's place."""
    matcher = session.inspect.shadow()
    return chain(matcher, matcher.frontier().items[0])


def events(session: wb.Session) -> Events:
    """What a matcher does that reads the session's text."""
    matcher = GrammarMatcher(session.inspect.compiled)
    row = allocate_token_bitmask(1, session.inspect.compiled.tokenizer_info.vocab_size)
    with matcher.trace() as found:
        assert matcher.accept_string(session.text)
        matcher.fill_next_token_bitmask(row)
    return found  # type: ignore[no-any-return]


def modules(package: ModuleType) -> Iterator[ModuleType]:
    """All modules of `package`, but those that want a library that is not here."""
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if found.name.rpartition(".")[2] == "__main__":
            continue
        try:
            yield importlib.import_module(found.name)
        except ImportError as error:
            if (error.name or "workbench").partition(".")[0] in ("workbench", "visualizers", "kernels_core"):
                raise


def displays() -> dict[str, Callable[[], str]]:
    """A display of every class of the workbench that has one of its own, by the class's name, made of hostile texts."""
    here = session("rules")
    dead = session("a schema").inspect.explain(EVIL)
    model = wb.load_model("demo")
    told = f'root ::= "{EVIL}" "{SCRIPT}"'
    run = replace(wb.generate(model, EVIL, told, seed=1), model=EVIL, prompt=EVIL)
    traced = wb.Session(told, model.tokenizer)
    traced.run(model, EVIL, seed=1)
    assert traced.trace is not None
    trace = replace(traced.trace, generation=run)
    side = wb.generate_side_by_side(model, EVIL, {EVIL: told, SCRIPT: None}, max_tokens=4, seed=1)
    beginning = wb.Session(SCHEMA, tokenizer()).step("{")
    other = f'root ::= "{EVIL}" [0-9]'
    faulty = FlippedEngine(tokenizer(), 256)
    compared = wb.compare(RULES, other, text="", tokenizer=tokenizer())
    hunted = wb.hunt(told, ["ours", faulty], texts=2, limit=1, tokenizer=tokenizer(), progress=lambda *_: None)
    return {
        "Ablation": wb.ablate(told, EVIL + SCRIPT, tokenizer=tokenizer(), repeats=1)._repr_html_,
        "Blame": wb.blame(run)._repr_html_,
        "Caches": wb.caches(here)._repr_html_,
        "Cuts": run.cuts(passes=1)._repr_html_,
        "Comparison": compared._repr_html_,
        "Explorer": lambda: wb.explore(here).static_html(),
        "Generation": run._repr_html_,
        "Hunt": hunted._repr_html_,
        "NextTokens": beginning.inspect.next()._repr_html_,
        "Probabilities": wb.probability(model, EVIL, [EVIL, SCRIPT])._repr_html_,
        "Reading": dead._repr_html_,
        "Replayed": wb.replay(EVIL + SCRIPT, told, model)._repr_html_,
        "Samples": wb.sample(model, EVIL, told, n=2, method="local", seed=1)._repr_html_,
        "Session": here._repr_html_,
        "SideBySide": side._repr_html_,
        "Trace": trace._repr_html_,
        "Why": session("a schema").inspect.why(EVIL)._repr_html_,
    }


def pages() -> dict[str, Callable[[], str]]:
    """Pages that run without Python, by what makes them."""
    model = wb.load_model("demo")
    opened = wb.Session(f'root ::= "{EVIL}" "{SCRIPT}"', model.tokenizer)
    opened.run(model, EVIL, seed=1)
    assert opened.trace is not None
    trace = opened.trace
    run = replace(trace.generation, model=EVIL, prompt=EVIL)
    made = {
        "Explorer": lambda: wb.explore(opened).to_html(title=SCRIPT + EVIL),
        "Generation": lambda: run.to_html(title=SCRIPT + EVIL),
        "Trace": lambda: replace(trace, generation=run).to_html(title=SCRIPT + EVIL),
    }
    return made | {f"Explorer, {case}": lambda case=case: wb.explore(session(case)).to_html() for case in CASES}  # type: ignore[misc]


def broken() -> Source:
    """A grammar that is refused, in whose message the hostile text stands."""
    return Source("ebnf", f'root ::= "{SCRIPT}" {EVIL}')
