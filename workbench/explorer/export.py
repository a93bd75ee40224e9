"""A desk as one HTML page: the same screen with the same panels, stepped through the history without Python.

The places are visited by a copy of the session, so that neither the session nor the counters of its engine notice.
What does not depend on the place (counters, the tokens of a generation, comparisons) is carried as the desk shows it.

Read on: `visualizers/standalone.py` (pages), `frontend/src/host.js` (`fill`: how the places get into the browser).
"""

from __future__ import annotations

from typing import Final

from visualizers.live_base import Traits
from visualizers.standalone import page
from workbench.explorer.dashboard import Dashboard
from workbench.session import Session
from workbench.session.history import Place

MAX_PLACES: Final = 240
"""A page holds at most so many steps of the history, those around the place; its buttons say where it ends."""


def desk_page(desk: Dashboard, title: str) -> str:
    """The page.  It begins at the session's place and reaches the ends of the history, up to `MAX_PLACES` steps."""
    session = desk.session
    with session.inspect.held():
        desk.update_all()
        copy = Session.load(session.to_json(), session.tokenizer)
        copy.model.copy(session.model)
        here, last = session.place, len(session.steps)
    first = max(0, min(here.index - MAX_PLACES // 2, last - MAX_PLACES))
    visited = Dashboard(copy, [type(panel) for panel in desk.panels.values()])
    try:
        for name, panel in visited.panels.items():
            panel.take(desk.panels[name])
        for name, view in visited.views.items():
            view.take_given(desk.views[name])
        places = {}
        for index in range(first, min(last, first + MAX_PLACES) + 1):
            copy.goto(index)
            key, kept = _visit(visited)
            places[key] = kept
        copy.goto(here.index)
        for _ in range(here.offset):
            copy.forward("byte")
        if here != Place(here.index):
            key, kept = _visit(visited)
            places[key] = kept
        key, _ = _visit(visited)
        parts = [view.placed_part(name, desk.views[name]) for name, view in visited.views.items()]
        return page(
            parts,
            title=title,
            arranger=desk.host.arranger,
            panels=desk.host.panels,
            place=visited.host.place,
            places=places,
        )
    finally:
        visited.close()


def _visit(desk: Dashboard) -> tuple[str, Traits]:
    """What all views show at the place where `desk` stands, for `fill` of the host script."""
    desk.update_all()
    if desk.troubles:
        name, said = next(iter(desk.troubles.items()))
        raise RuntimeError(f"the panel {name!r} cannot be put on a page: {said}")
    kept: Traits = {"place": desk.host.place}
    for name, view in desk.views.items():
        if (found := view.page_place(name)) is not None:
            kept[name] = found
    return str(desk.host.place["number"]), kept
