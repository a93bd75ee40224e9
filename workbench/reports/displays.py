"""Who draws what: how grammars, generations, traces and sessions are shown.

Read on: `kernels_core/display.py` (who asks), `cockpit.py`, `token_strip.py`.
"""

from __future__ import annotations

from typing import Final

from kernels_core import CompiledGrammar, Grammar
from kernels_core.display import register
from visualizers import formatters, html
from visualizers.glyphs import clip, html_escape, size
from visualizers.next import outlook_html
from visualizers.svg import automaton_pdf, to_svg
from visualizers.tables import card, details, more, pre
from visualizers.why import why_html
from workbench.explorer.explorer import Explorer
from workbench.generation.side_by_side import SideBySide
from workbench.generation.trace import Generation
from workbench.next.next_tokens import NextTokens
from workbench.next.why import Why
from workbench.reports import cockpit
from workbench.reports.token_strip import session_strip
from workbench.session.inspector import Inspector
from workbench.session.session import Session
from workbench.session.trace import Trace

MAX_SOURCE: Final = 20_000


def register_all() -> None:
    """Register the displays; calling it again changes nothing."""
    formatters.register_all()
    register(Grammar, html=_grammar)
    register(CompiledGrammar, html=_compiled_grammar)
    register(Generation, html=cockpit.generation_html, text=cockpit.generation_text, page=cockpit.generation_page)
    register(Trace, html=cockpit.trace_html, text=cockpit.trace_text, page=cockpit.trace_page)
    register(SideBySide, html=cockpit.side_by_side_html, text=cockpit.side_by_side_text)
    register(Session, html=session_strip, live=Explorer)
    register(Inspector, svg=_automaton_svg, pdf=_automaton_pdf)
    register(NextTokens, html=lambda found: outlook_html(found.state()))
    register(Why, html=lambda found: why_html(found.state()))


def _automaton_svg(inspect: Inspector) -> str:
    return to_svg(inspect.automaton(), active=inspect.frontier().active_states())


def _automaton_pdf(inspect: Inspector) -> bytes:
    return automaton_pdf(inspect.automaton(), active=inspect.frontier().active_states())


def _grammar(grammar: Grammar) -> str:
    """A grammar's text, and how many rules it has."""
    rules = grammar.ir
    text = str(grammar)
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
    body = details("automaton", html.automaton(snapshot), shown=True)
    body += details("counters", html.cache_stats(compiled.cache_stats()), shown=False)
    if snapshot.source:
        body += details("source", pre(clip(snapshot.source, MAX_SOURCE)), shown=False)
    return card("Compiled grammar", facts, body)
