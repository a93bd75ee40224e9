"""`wb.caches(...)`: how the masks of a run, a session or a matcher were found, and what its grammars share.

    found = wb.caches(generation)             # or a trace, a session, a compiler, a compiled grammar
    found.to_frame(); found.plot(); found     # a table, a plotly figure, a display

Read on: `visualizers/caches.py` (the pictures), `kernels_core/inspect/fills.py`, `kernels_core/inspect/sharing.py`.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernels_core import CompiledGrammar, GrammarCompiler
from kernels_core.inspect.fills import CacheRecord
from kernels_core.inspect.sharing import sharing
from visualizers.caches import CacheShot, CacheView, figure, static
from workbench.session.session import Session

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from workbench.generation.generation import Generation


@dataclass(frozen=True, repr=False)
class Caches(CacheShot):
    """Every mask of a run (`record`), and who shares token sets with whom (`sharing`, None where it is not known).

    `tokens` are the tokens taken after the masks, `tools` the names of the source's tools, `current` the number of the
    grammar among those of the sharing; `note` says where the numbers come from.
    """

    note: str = ""

    def to_frame(self) -> pd.DataFrame:
        """One row for each mask, in the order asked for; `sharing.to_frame()` has the token sets."""
        return self.record.to_frame()

    def plot(self) -> go.Figure:
        """Time of each mask, visits of its parser state, and the bytes held, as one plotly figure."""
        return figure(self, note=self.note)

    def view(self) -> CacheView:
        """The live view, which needs no session."""
        view = CacheView()
        if self.record.visits:
            view.play_steps(self, max(visit.event.step for visit in self.record.visits))
        else:
            view.show(self)
        return view

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.view())  # type: ignore[no-untyped-call]

    def save(self, path: str | Path) -> Path:
        """Write the view as a page that needs nothing else; the path must end in `.html`."""
        return self.view().save(path, title="Maskscope caches")

    def _repr_html_(self) -> str:
        return static(self)

    def __repr__(self) -> str:
        return f"<Caches: {self.record!r}{'' if self.sharing is None else f'; {self.sharing!r}'}>"


def caches(what: Any) -> Caches:
    """The caches' history of a generation, a trace, a session or an explorer, or what a compiler's grammars share.

    A compiler or a compiled grammar remembers no single masks: its record is empty.  `TypeError` for anything else,
    `ValueError` for a run that was not recorded (`record=False`) or had no grammar.
    """
    if isinstance(what, Caches):
        return what
    if isinstance(what, CacheRecord):
        return Caches(what, note=versions())
    if isinstance(what, GrammarCompiler | CompiledGrammar):
        return Caches(CacheRecord(()), sharing(what), note=versions())
    if not hasattr(what, "generation"):  # an explorer by its session; a trace has both
        what = getattr(what, "session", what)
    generation = getattr(what, "generation", what)
    if hasattr(generation, "masks") and hasattr(generation, "steps") and not callable(generation):
        return _of_generation(generation)
    if isinstance(what, Session):
        tokens = [step.data for step in what.steps]
        about, source = what.inspect, what.document
        tools = tuple(source.tool_tag.names.values()) if source.language == "tools" else ()
        note = f"{what.tokenizer.name}; {versions()}"
        current, shared = number_of(about.compiled, about.compiler), sharing(about.compiler)
        return Caches(about.cache_record(), shared, tokens=tokens, tools=tools, current=current, note=note)
    raise TypeError(f"caches of a generation, a trace, a session or a compiler, not of {type(what).__name__}")


def number_of(compiled: CompiledGrammar, compiler: GrammarCompiler) -> int | None:
    """Which of the compiler's grammars it is, as `sharing` counts them."""
    return next((number for number, one in enumerate(compiler.grammars) if one is compiled), None)


def _of_generation(generation: Generation) -> Caches:
    if generation.masks is None:
        raise ValueError("this generation has no record of its masks: it had no grammar, or ran with record=False")
    source = generation.source
    origin = None if source is None else source.origin
    shared = None
    if source is not None and origin is not None:
        # The grammars of the model's own compiler share a cross-grammar cache; another's grammar is shown with itself.
        mine = any(compiled is origin.compiled for compiled in source.model.compiler.grammars)
        shared = sharing(source.model.compiler if mine else origin.compiled)
    note = f"{generation.model}, seed {generation.settings.get('seed')}; {versions()}"
    return Caches(generation.masks, shared, tokens=[step.token for step in generation.steps], note=note)


def versions() -> str:
    """What a number was measured with."""
    found = [f"Python {platform.python_version()}"]
    for name in ("maskscope", "numpy", "torch"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
