"""Who draws what: how grammars, generations, traces and sessions are shown.

Read on: `kernels_core/display.py` (who asks), `cockpit.py`, `token_strip.py`.
"""

from __future__ import annotations

from kernels_core import CompiledGrammar, Grammar
from kernels_core.display import register
from visualizers import formatters, html
from visualizers.next import outlook_html
from visualizers.svg import automaton_pdf, to_svg
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

__all__ = ["register_all"]


def register_all() -> None:
    """Register the displays; calling it again changes nothing."""
    formatters.register_all()
    register(Grammar, html=html.grammar)
    register(CompiledGrammar, html=html.compiled_grammar)
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
