"""Who draws what: how grammars, generations, traces and sessions are shown.

Read on: `kernels_core/display.py` (who asks), `cockpit.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from kernels_core import CompiledGrammar, Grammar
from kernels_core.display import register
from kernels_core.errors import BudgetExceededError
from visualizers import formatters
from visualizers.glyphs import STOP_TOKEN, clip, glyph, html_escape, size
from visualizers.next import NextView
from visualizers.svg import automaton_html, automaton_pdf, to_svg
from visualizers.tables import card, details, more, pre
from visualizers.why import WhyView
from workbench.explorer.explorer import Explorer
from workbench.generation.side_by_side import SideBySide
from workbench.generation.trace import Generation
from workbench.next.next_tokens import NextTokens
from workbench.next.why import Why
from workbench.provenance.rules import called
from workbench.reports import cockpit
from workbench.session.inspector import Inspector
from workbench.session.session import Session
from workbench.session.trace import Trace

MAX_SOURCE: Final = 20_000
MAX_CHIPS = 400
MAX_GLYPH = 40
CHIP = "font-family:monospace;font-size:12px;border-radius:3px;padding:1px 4px;white-space:pre;"
BLUE, GREY = "66,116,236", "128,136,146"


def register_all() -> None:
    """Register the displays; calling it again changes nothing."""
    formatters.register_all()
    register(Grammar, html=_grammar)
    register(CompiledGrammar, html=_compiled_grammar)
    register(Generation, html=cockpit.generation_html, text=cockpit.generation_text, page=cockpit.generation_page)
    register(Trace, html=cockpit.trace_html, text=cockpit.trace_text, page=cockpit.trace_page)
    register(SideBySide, html=cockpit.side_by_side_html, text=cockpit.side_by_side_text)
    register(Session, html=_session, live=Explorer)
    register(Inspector, svg=_automaton_svg, pdf=_automaton_pdf)
    register(NextTokens, html=lambda found: formatters.static_of(NextView)(found.state()))
    register(Why, html=lambda found: formatters.static_of(WhyView)(found.state()))


def _automaton_svg(inspect: Inspector) -> str:
    return to_svg(inspect.automaton(), active=inspect.frontier().active_states(), written=_written(inspect))


def _automaton_pdf(inspect: Inspector) -> bytes:
    return automaton_pdf(inspect.automaton(), active=inspect.frontier().active_states(), written=_written(inspect))


def _written(inspect: Inspector) -> Callable[[str], str]:
    return partial(called, inspect.document)


def _grammar(grammar: Grammar) -> str:
    """A grammar's text, and how many rules it has; of one that is too long to be written, the rules that there are."""
    try:
        rules, text = grammar.ir, str(grammar)
    except BudgetExceededError:
        rules = grammar.lazy_ir
        facts = [
            f"root <b>{html_escape(rules.root)}</b>",
            f"{len(rules.rules):,} rules so far",
            "too many to write all",
        ]
        return card("Grammar", facts, "")
    cut = clip(text, MAX_SOURCE)
    lines = text.count("\n") + 1
    source = pre(cut) + more(len(text) - len(cut), "characters")
    return card(
        "Grammar",
        [f"root <b>{html_escape(rules.root)}</b>", f"{len(rules.rules):,} rules", f"{lines:,} lines"],
        details("EBNF", source, shown=lines <= 30),
    )


def _compiled_grammar(compiled: CompiledGrammar) -> str:
    """A compiled grammar: its automaton, its counters, its size."""
    snapshot = compiled.automaton()
    facts = [
        f"root <b>{html_escape(snapshot.root)}</b>",
        f"{snapshot.state_count():,} states",
        f"{compiled.tokenizer_info.vocab_size:,} tokens",
        size(compiled.memory_size_bytes),
    ]
    body = details("automaton", automaton_html(snapshot), shown=True)
    body += details("counters", formatters.cache_stats(compiled.cache_stats()), shown=False)
    if snapshot.source:
        body += details("source", pre(clip(snapshot.source, MAX_SOURCE)), shown=False)
    return card("Compiled grammar", facts, body)


def _session(session: Session) -> str:
    """The session's history as a strip of tokens: steps read, and steps undone.

    Inline styles with half-transparent colours only: they survive an untrusted notebook, and read on white and black.
    """
    index, position = session.index, session.inspect.position
    chips = []
    for number, step in enumerate(session.steps[:MAX_CHIPS], start=1):
        colour = BLUE if number <= index or step.start < position else GREY
        title = f"step {number}: " + ("bytes" if step.token_id is None else f"token {step.token_id}")
        chips.append(_chip(STOP_TOKEN if step.stop else glyph(step.data), colour, title))
    hidden = len(session.steps) - MAX_CHIPS
    if hidden > 0:
        chips.append(f"and {hidden:,} more")
    state = "stopped" if session.inspect.is_terminated else "may end here" if session.is_completed else "must go on"
    allowed = (
        f"{len(session.inspect.allowed_ids()):,} tokens allowed · vocabulary {html_escape(session.inspect.vocabulary)}"
    )
    facts = f"byte {position:,} · after step {index:,} of {len(session.steps):,} · {allowed}"
    head = f'<b>Text</b><span style="opacity:0.7"> · {facts} · {state}</span>'
    shown = " ".join(chips) or '<span style="opacity:0.7">nothing read yet</span>'
    return (
        f'<div style="font-size:13px;line-height:1.45;max-width:1100px;text-align:left">'
        f'<div style="padding:2px 0 4px">{head}</div><div style="line-height:23px">{shown}</div></div>'
    )


def _chip(text: str, colour: str, title: str) -> str:
    style = f"{CHIP}background-color:rgba({colour},0.15);border:1px solid rgba({colour},0.5)"
    return f'<span title="{html_escape(title)}" style="{style}">{html_escape(clip(text, MAX_GLYPH))}</span>'
