"""The mask at this place beside another engine's, that of other options, or of another grammar.

Nothing is computed until the person asks; then it is done in a thread of its own, with engines of its own, so that
neither stepping nor the session's counters notice.

Read on: `visualizers/compare.py` (the view), `workbench/comparing/__init__.py` (what is asked).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kernels_core import Options
from visualizers.compare import CompareView
from workbench.comparing.comparison import Comparison
from workbench.comparing.sides import Missing, Side, ask, common_ids, open_engines, parse_engine
from workbench.languages import Source
from workbench.panels.base import Desk, Message, Panel
from workbench.peers.catalogue import ENGINES, installed, package_of
from workbench.session import Change
from workbench.tokenizers import Tokenizer

OURS: Final = (
    ("ours", "ours, default options"),
    ("ours:parser=naive", "ours, naive: every token tried"),
    ("ours:parser=pushdown", "ours, pushdown parser"),
    ("ours:parser=fsm", "ours, one finite automaton"),
    ("ours:lazy_lowering=false", "ours, all lowered at once"),
    ("ours:cross_grammar_cache=false,warm_start=false", "ours, without the cross-grammar cache"),
)
MAX_OTHER: Final = 1_000_000
"""Characters of another grammar."""


@dataclass(frozen=True)
class _Question:
    """What is compared: taken down at the place where it was asked."""

    engine: str
    other: str
    source: Source
    text: bytes
    tokenizer: Tokenizer
    options: Options

    @property
    def place(self) -> tuple[object, ...]:
        return (self.source.key, self.text, id(self.tokenizer))


class ComparePanel(Panel, name="compare", title="Compare", rank=100, wide=True):
    """The mask here beside that of another engine, other options or another grammar.

    Computed when asked for; what stands there of another place is marked as that.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        peers = [name for name in installed() if name != "ours"]
        choices = [{"id": name, "label": label} for name, label in [*OURS, *((name, name) for name in peers)]]
        absent = dict.fromkeys(package_of(name) for name in ENGINES if name not in (*peers, "ours"))
        choices += [{"id": name, "label": name, "missing": f"not installed: pip install {name}"} for name in absent]
        self.view: CompareView = CompareView(choices)
        self.view.chosen = peers[0] if peers else OURS[1][0]
        self._place: tuple[object, ...] | None = None
        self.actions = {
            "compare": lambda said: self.ask(str(said.get("engine") or "ours"), str(said.get("grammar") or "")),
            "present": self._show_present,
        }

    def update(self, change: Change | None) -> None:
        """Nothing is computed here: an answer to another place is marked."""
        if self.view.status in ("done", "stale"):
            self.view.status = "done" if self._question().place == self._place else "stale"

    def _show_present(self, _content: Message) -> None:
        self.view.other_text = self.session.document.text

    def ask(self, engine: str, grammar: str = "") -> None:
        """Compare with `engine` (see `parse_engine`) and `grammar` ("": the same one); one question at a time."""
        if self.thread is not None and self.thread.is_alive():
            return
        with self.session.inspect.held():
            question = self._question(engine, grammar)
            with self.view.hold_sync():
                self.view.chosen, self.view.other_text = engine, grammar
                self.view.status, self.view.note = "busy", ""
            self.message = ""

        def work() -> None:
            found = compared(question)
            shown = found.to_dict() | {"masks": [found.masks(pair) for pair in found.pairs]}
            with self.session.inspect.held():
                self._place = question.place
                self.view.show(shown)

        def ended() -> None:
            if self.message:
                with self.view.hold_sync():
                    self.view.status, self.view.note = "error", self.message

        self.begin(work, ended)

    def _question(self, engine: str = "", grammar: str = "") -> _Question:
        session = self.session
        options = session.inspect.options
        return _Question(engine, grammar[:MAX_OTHER], session.document, session.text, session.tokenizer, options)


def in_words(label: str, options: Options) -> str:
    """Our label with the options that are not the defaults as a person says them."""
    changed, usual = [], Options().to_dict()
    for key, value in options.to_dict().items():
        name = key.replace("_", " ")
        if value != usual[key]:
            changed.append(name if value is True else f"no {name}" if value is False else f"{name} {value}")
    return f"ours, {', '.join(changed)}" if changed else label


def compared(question: _Question) -> Comparison:
    """The session's grammar in our engine with the session's options, beside the other grammar in the other engine."""
    tokenizer, source, text = question.tokenizer, question.source, question.text
    ((label, opened),) = open_engines([parse_engine(question.engine)], tokenizer)
    label = dict(OURS).get(question.engine, label)
    ((here, ours),) = open_engines([question.options], tokenizer)
    second = Source.of(question.other) if question.other.strip() else source
    sides = [] if isinstance(ours, Missing) else [Side(f"here: {in_words(here, question.options)}", ours, source, text)]
    if not isinstance(opened, Missing):
        named = label if second is source else f"{label}, the other grammar"
        sides.append(Side(named, opened, second, text))
    missing = [opened] if isinstance(opened, Missing) else []
    common = common_ids(tokenizer)
    return Comparison([ask(side, common) for side in sides], missing, common, tokenizer)
