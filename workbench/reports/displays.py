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
from visualizers.svg import automaton_html, automaton_pdf, to_svg
from visualizers.tables import card, chip, details, dim, more, pre
from workbench.explorer.explorer import Explorer
from workbench.generation.generation import Generation
from workbench.generation.side_by_side import SideBySide
from workbench.next.why import Why
from workbench.provenance.rules import called
from workbench.reports import cockpit
from workbench.session.inspector import Inspector
from workbench.session.session import Session
from workbench.session.trace import Trace

MAX_SOURCE: Final = 20_000
MAX_CHIPS = 400
MAX_GLYPH = 40


def register_all() -> None:
    """Register the displays; calling it again changes nothing."""
    formatters.register_all()
    register(Grammar, html=_grammar)
    register(CompiledGrammar, html=_compiled_grammar)
    register(Generation, html=cockpit.generation_html, text=cockpit.generation_text, page=cockpit.generation_page)
    register(Trace, html=cockpit.trace_html, text=cockpit.trace_text, page=cockpit.trace_page)
    register(SideBySide, html=cockpit.side_by_side_html, text=cockpit.side_by_side_text)
    register(Session, html=_session, live=Explorer)
    register(Inspector, svg=partial(_automaton, to_svg), pdf=partial(_automaton, automaton_pdf))
    register(Why, html=lambda found: pre(str(found)))


def _automaton(draw: Callable[..., str | bytes], inspect: Inspector) -> str | bytes:
    active, written = inspect.frontier().active_states(), partial(called, inspect.document)
    return draw(inspect.automaton(), active=active, written=written)


def _grammar(grammar: Grammar) -> str:
    """A grammar's text, and how many rules it has; of one that is too long to be written, the rules that there are."""
    root = f"root <b>{html_escape(grammar.lazy_ir.root)}</b>"
    try:
        rules, text = grammar.ir.rules, str(grammar)
    except BudgetExceededError:
        return card("Grammar", [root, f"{len(grammar.lazy_ir.rules):,} rules so far", "too many to write all"], "")
    cut, lines = clip(text, MAX_SOURCE), text.count("\n") + 1
    source = pre(cut) + more(len(text) - len(cut), "characters")
    facts = [root, f"{len(rules):,} rules", f"{lines:,} lines"]
    return card("Grammar", facts, details("EBNF", source, shown=lines <= 30))


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
    """The session's history as a strip of tokens: steps read, and steps undone."""
    index, position = session.index, session.inspect.position
    chips = []
    for number, step in enumerate(session.steps[:MAX_CHIPS], start=1):
        kind = "active" if number <= index or step.start < position else "rejected"
        title = f"step {number}: " + ("bytes" if step.token_id is None else f"token {step.token_id}")
        chips.append(chip(STOP_TOKEN if step.stop else clip(glyph(step.data), MAX_GLYPH), kind, title))
    hidden = len(session.steps) - MAX_CHIPS
    if hidden > 0:
        chips.append(f"and {hidden:,} more")
    facts = [
        f"byte {position:,}",
        f"after step {index:,} of {len(session.steps):,}",
        f"{len(session.inspect.allowed_ids()):,} tokens allowed",
        f"vocabulary {html_escape(session.inspect.vocabulary)}",
        "stopped" if session.inspect.is_terminated else "may end here" if session.is_completed else "may not end yet",
    ]
    shown = " ".join(chips) or dim("nothing read yet")
    return card("Text", facts, f'<div style="line-height:23px">{shown}</div>')
