"""The one widget of a panel: an anywidget that carries any number of views over a single comm.

Every synced trait of a view named `automaton` is mirrored by a trait of the host, `automaton__active`, so that a step
of the whole panel is one message with what changed and nothing else.  Traits in `LINKED` are shared by all views that
have them and travel once, as `shared__selection`.  In the browser `frontend/src/host.js` gives each view's module a
model that looks as if it were alone.  The code of the views is in a widget of its own, the `Library`, of which a
kernel has one.

Messages: from the browser `{library: version}`, which is answered with the code; `{to: view, content, client, seq}`;
or `{traits: {name: value}, client, seq}` with what a person set.  To it `{to: view, content}`.  When one of the last
two has been dealt with, `ack` is set to `[client, seq]`, in the same message as all that it changed.

Read on: `visualizers/live_base.py` (the views), `frontend/src/host.js`, `workbench/explorer/dashboard.py` (a panel
of many).
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import anywidget
import traitlets as t

from kernels_core.locks import new_lock
from visualizers.assets import PARTS, part, script, version

Traits = dict[str, Any]
Buffers = Sequence[bytes | memoryview]
Renew = Callable[[str, Mapping[str, object]], None]

LINKED = ("index", "selection")
"""Traits that all views of one host share: the step of a recorded run, and what is chosen."""

SHARED: Final = "shared"
SETTABLE: Final = ("asleep",)
"""Traits of the host itself that the browser may set."""
LATE_SECONDS: Final = 3
"""A static twin waits so long for the widget to appear, so that it does not flash up before it."""
_MARK: Final = re.compile(r"[0-9a-f]{8,40}")


def synced(trait: Any) -> Any:
    """`trait`, kept equal in the browser and in Python."""
    return trait.tag(sync=True)


class Library(anywidget.AnyWidget):  # type: ignore[misc]
    """The code of all views: it travels once a notebook, and hosts name it (`frontend/src/widget.ts`)."""

    _esm = "export default {}"

    main = synced(t.Bytes())
    editor = synced(t.Bytes())
    graphviz = synced(t.Bytes())

    def __init__(self) -> None:
        super().__init__(**{name: part(name) for name in PARTS})


_library: Library | None = None
_making = new_lock()


def library() -> Traits:
    """Where the browser finds the code: the library's id, and the version of what it holds."""
    global _library
    with _making:
        if _library is None or _library.comm is None:  # somebody closed all widgets
            _library = Library()
        return {"id": str(_library.model_id), "version": version()}


class Host(anywidget.AnyWidget):  # type: ignore[misc]
    """One widget for all of `views` (name -> `LiveView`); names must be identifiers and not "shared".

    `arranger` names what lays them out (default: one below the other), and `panels` is what it needs for that.  `place`
    says where in a text the views stand, `troubles` what went wrong with whom.
    """

    parts = synced(t.List())
    library = synced(t.Dict())
    arranger = synced(t.Unicode())
    place = synced(t.Dict())
    panels = synced(t.List())
    troubles = synced(t.Dict())
    ack = synced(t.List())
    # Nobody sees this host: scrolled away, or in a tab that is not in front.
    asleep = synced(t.Bool())
    # Tells this host from others in the same document (see `with_twin`).
    mark = synced(t.Unicode())
    uid = synced(t.Unicode())

    def __init__(
        self,
        views: Mapping[str, Any],
        *,
        arranger: str = "",
        panels: Sequence[Traits] = (),
        selection: Mapping[str, object] | None = None,
    ) -> None:
        self._views: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._leave: list[Callable[[], None]] = []
        self._wires: dict[str, tuple[str, str]] = {}
        self._flat: set[str] = set()
        self._closed = False
        self._held = threading.local()
        for name, view in views.items():
            if not name.isidentifier() or "__" in name or name == SHARED:
                raise ValueError(f"a view cannot be called {name!r}: use an identifier without '__'")
            self._views[name] = view
            self._names[id(view)] = name
        self.add_traits(
            _esm=synced(t.Unicode(script("widget"))), **self._mirrors({} if selection is None else dict(selection))
        )
        self._flat = {*self._wires, "place", "troubles", "ack"}
        super().__init__(
            parts=[{"name": name, **view.contract()} for name, view in self._views.items()],
            library=library(),
            panels=list(panels),
            arranger=arranger,
            mark=uuid.uuid4().hex,
        )
        self.uid = self.model_id or ""
        for view in self._views.values():
            view.observe(self._from_view, names=view.keys)
            self._leave.append(view.carried(self))
        self.observe(self._from_browser, names=list(self._wires))
        self.on_msg(self._received)

    @property
    def views(self) -> Mapping[str, Any]:
        """The views by name."""
        return self._views

    def _mirrors(self, selection: Traits) -> dict[str, Any]:
        """A trait for each trait of each view; what is linked has one for all, equal to the first view's."""
        chosen = f"{SHARED}__selection"
        mirrors: dict[str, Any] = {chosen: synced(t.Any(default_value=selection))}
        self._wires[chosen] = (SHARED, "selection")
        for name, view in self._views.items():
            for trait in view.keys:
                wire = self._wire(name, trait)
                if wire in mirrors:
                    setattr(view, trait, mirrors[wire].default_value)
                    continue
                self._wires[wire] = (SHARED if trait in LINKED else name, trait)
                mirrors[wire] = synced(t.Any(default_value=getattr(view, trait)))
        return mirrors

    def _wire(self, name: str, trait: str) -> str:
        return f"{SHARED if trait in LINKED else name}__{trait}"

    def _from_view(self, change: Traits) -> None:
        setattr(self, self._wire(self._names[id(change["owner"])], change["name"]), change["new"])

    def _from_browser(self, change: Traits) -> None:
        """A trait changed here: all views that have it follow; what a view refuses is undone in the browser."""
        name, trait = self._wires[change["name"]]
        for owner, view in self._views.items():
            if (name in (SHARED, owner)) and view.has_trait(trait):
                try:
                    setattr(view, trait, change["new"])
                except t.TraitError:
                    setattr(self, change["name"], change["old"])
                    return

    # -- messages ----------------------------------------------------------------------------------------------------

    def deliver(self, view: Any, content: object, buffers: Buffers | None = None) -> None:
        """Send `content` to `view` in the browser."""
        if not self._closed:
            self.send({"to": self._names[id(view)], "content": content}, buffers)

    def _received(self, _widget: object, message: object, buffers: Buffers) -> None:
        if not isinstance(message, dict):
            return
        if "library" in message:  # a page whose manager does not know the library
            self.send({"library": version()}, buffers=[part(name) for name in PARTS])
            return
        traits = message.get("traits")
        if not isinstance(traits, dict) and message.get("to") not in self._views:
            return
        with self.hold_sync():
            try:
                if isinstance(traits, dict):
                    self._set(traits)
                else:
                    self._views[message["to"]].receive(message.get("content"), buffers)
            finally:
                self.ack = [message.get("client"), message.get("seq")]

    def _set(self, traits: Traits) -> None:
        """Take what was set in the browser; it gets back what is no such trait's value."""
        for name in traits.keys() & {*self._wires, *SETTABLE}:
            try:
                setattr(self, name, traits[name])
            except t.TraitError:
                self.send_state(name)

    @contextmanager
    def hold_sync(self) -> Iterator[None]:
        """Within, this thread's changes are collected; at the end they go as one message, or nowhere after `close`.

        ipywidgets collects those of all threads in one set, which a generation in the background then changes while it
        is being sent.
        """
        if self._closed or self._collected() is not None:
            yield
            return
        names: set[str] = set()
        self._held.names = names
        try:
            yield
        finally:
            self._held.names = None
            if names and not self._closed:
                self.send_state(names)

    def send_state(self, key: str | Iterable[str] | None = None) -> None:
        """Send the traits named (one, or several), or all.

        ipywidgets looks for bytes through every value, which takes longer than all else about a message.  Views have
        none.
        """
        names = {key} if isinstance(key, str) else set(self.keys if key is None else key)
        if self._property_lock or not names <= self._flat:
            super().send_state(key)
            return
        state = {name: getattr(self, name) for name in names}
        self._send({"method": "update", "state": state, "buffer_paths": []}, buffers=[])

    def _collected(self) -> set[str] | None:
        """Names of the traits that this thread has changed since it began to hold them back; None where it does not."""
        names: set[str] | None = getattr(self._held, "names", None)
        return names

    def _should_send_property(self, key: str, value: object) -> bool:
        names = self._collected()
        if names is None:
            return bool(super()._should_send_property(key, value))
        names.add(key)
        return False

    # -- displays ----------------------------------------------------------------------------------------------------

    def bundle(self) -> tuple[Traits, Traits]:
        """What displays this widget: data by MIME type, and metadata."""
        found = self._repr_mimebundle_()
        if found is None:
            raise RuntimeError("this widget was told not to display itself")
        return found

    def with_twin(self, static: str, text: str) -> tuple[Traits, Traits]:
        """Two outputs: the widget, and its twin (`static` is sanitiser-proof HTML, `text` what a terminal shows), so
        that one of them is seen wherever the notebook is opened.

        JupyterLab shows a widget or, where it does not trust the notebook, what else the same output holds.  A notebook
        that is trusted but whose kernel is gone shows neither: the widget's renderer says "model not found".  So the
        twin is an output of its own, after the widget's.  While the widget is in the document its style sheet hides the
        twin (`frontend/src/host.js`), which is seen wherever there is no widget.  A rule of the twin's that looked for
        the widget (`body:has(...)`) would have the browser search the document whenever a node comes or goes.
        """
        if not _MARK.fullmatch(self.mark):  # what is synced, a browser may set
            raise ValueError(f"{self.mark!r} is no mark: some 8 to 40 hexadecimal digits")
        twin, child = f".ms-twin-{self.mark}", ".jp-OutputArea-child"
        style = (
            f"{twin}{{animation:ms-late 1ms {LATE_SECONDS}s both}}"
            "@keyframes ms-late{from{max-height:0;overflow:hidden;opacity:0}to{max-height:none;opacity:1}}"
            # The renderer's error is a line of text without any element.
            f"{child}:has(+ {child} {twin}) .jp-OutputArea-output.jupyter-widgets:not(:has(*)){{display:none}}"
        )
        data, _ = self.bundle()
        # The empty HTML keeps an untrusted notebook from showing `text` above the twin.
        live = {**data, "text/plain": text, "text/html": "<span></span>"}
        page = f'<style>{style}</style><div class="ms-twin-{self.mark}">{static}</div>'
        return live, {"text/plain": text, "text/html": page}

    def display(self, static: str, text: str, metadata: Mapping[str, object] | None = None) -> Renew:
        """Display this widget with its twin in the running cell; returns what puts another picture in the twin's place.

        `metadata`, here and there, is what the notebook keeps with the twin.
        """
        from IPython.display import display

        live, twin = self.with_twin(static, text)
        display(live, raw=True)  # type: ignore[no-untyped-call]
        told = dict(metadata or {})
        handle = display(twin, raw=True, display_id=True, metadata=told)  # type: ignore[no-untyped-call]

        def renew(now: str, told: Mapping[str, object]) -> None:
            if handle is not None:
                handle.update(self.with_twin(now, text)[1], raw=True, metadata=dict(told))

        return renew

    def close(self) -> None:
        """Let go of the views and of the browser; the views live on."""
        if self._closed:
            return
        self._closed = True
        for view in self._views.values():
            view.unobserve(self._from_view, names=view.keys)
        while self._leave:
            self._leave.pop()()
        super().close()

    def __repr__(self) -> str:
        return f"<Host of {', '.join(self._views)}>"
