"""A live view, or a host of many, in a browser without Jupyter: it stays in Python, its ES module runs in a page.

The page's model passes what the view does (`save_changes`, `send`) to the widget and takes back what that changed,
through one function that Playwright exposes.  So a test sees the whole round trip in a second.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page

from visualizers.assets import script
from visualizers.host import Host
from visualizers.live_base import LiveView

PAGE = """<!doctype html><html class="ms-page"><head><meta charset="utf-8"></head>
<body><div id="one"></div><div id="two"></div></body></html>"""
MODEL = """async ([state, name]) => {
  const modules = {};  // as in a notebook, a part is loaded when a view needs it
  const load = (name) => modules[name] ||= window.python("part", name).then((source) =>
    import(URL.createObjectURL(new Blob([source], { type: "text/javascript" }))));
  const values = state, handlers = {}, dirty = {};
  const fire = (event, ...rest) => (handlers[event] || []).slice().forEach((handler) => handler(...rest));
  const take = (answer) => {
    for (const [name, value] of Object.entries(answer.traits)) model.set(name, value, true);
    for (const message of answer.messages) fire("msg:custom", message, []);
  };
  const model = {
    get: (name) => values[name],
    set(name, value, quiet) {
      if (values[name] === value) return;
      values[name] = value;
      if (!quiet) dirty[name] = value;
      fire(`change:${name}`);
    },
    on(event, handler) { (handlers[event] ||= []).push(handler); },
    off(event, handler) { handlers[event] = (handlers[event] || []).filter((kept) => kept !== handler); },
    save_changes() {
      const changed = { ...dirty };
      for (const name of Object.keys(dirty)) delete dirty[name];
      window.python("set", changed).then(take);
    },
    send(content) { window.sent = (window.sent || 0) + 1; window.python("message", content).then(take); },
  };
  const main = await load("main"), sheet = document.createElement("style");
  sheet.textContent = main.sheet;
  document.head.append(sheet);
  main.lend(load);
  const show = (el) => name ? main.views[name].render({ model, el }) : main.render({ model, el, load });
  window.bridge = { model, take, handlers, show: (id) => show(document.getElementById(id)) };
  window.clean = await window.bridge.show("one");
}"""


def until(page: Page, done: Callable[[], bool]) -> bool:
    """Whether `done` comes true while the page goes on for half a minute: what a view does arrives by message."""
    for _ in range(1500):
        if done():
            return True
        page.wait_for_timeout(20)
    return False


class Bridge:
    """One widget and the page that shows it."""

    def __init__(self, page: Page, widget: LiveView[Any] | Host) -> None:
        self.page = page
        self.widget = widget
        self.requests: list[dict[str, Any]] = []
        self.mute = False
        self._replies: list[Any] = []
        self._known: dict[str, str] = {}
        widget.send = lambda content, buffers=None: self._replies.append(content)
        name = "" if isinstance(widget, Host) else widget._module
        page.set_content(PAGE)
        page.expose_function("python", self._called)
        page.evaluate(MODEL, [self._changes(), name])
        self.drawn()

    def push(self) -> None:
        """Give the page what has changed in Python since the last exchange, as `show` does through the kernel."""
        # The page's own timer: what a view puts off for a frame, or for less than 30 ms, is done before it.
        self.page.evaluate(
            "(answer) => { window.bridge.take(answer);"
            " return new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30))); }",
            {"traits": self._changes(), "messages": []},
        )
        self.drawn()

    def drawn(self) -> None:
        """Wait until no graph is being laid out."""
        self.page.wait_for_function("() => !document.querySelector('[data-drawing]')")

    def soon(self, name: str, *expected: Any) -> bool:
        """Whether trait `name` becomes one of `expected`."""
        return until(self.page, lambda: getattr(self.widget, name) in expected)

    def asked(self, count: int) -> list[dict[str, Any]]:
        """What the view asked of Python, once that is `count` requests."""
        until(self.page, lambda: len(self.requests) >= count)
        return self.requests

    def _called(self, kind: str, content: Any) -> Any:
        if kind == "part":
            return script(content)
        if kind == "set":
            self._known.update({name: json.dumps(value) for name, value in content.items()})
            for name, value in content.items():
                setattr(self.widget, name, value)
        else:
            self.requests.append(content)
            if self.mute:
                return {"traits": {}, "messages": []}
            receive = self.widget._handle_custom_msg if isinstance(self.widget, Host) else self.widget.receive
            receive(content, [])
        messages, self._replies[:] = list(self._replies), []
        return {"traits": self._changes(), "messages": messages}

    def _changes(self) -> dict[str, Any]:
        state = self._traits()
        texts = {name: json.dumps(value) for name, value in state.items()}
        changed = {name: state[name] for name, text in texts.items() if self._known.get(name) != text}
        self._known.update(texts)
        return changed

    def _traits(self) -> dict[str, Any]:
        names = [
            name
            for name in self.widget.keys
            if not name.startswith("_") and name not in ("layout", "tabbable", "tooltip")
        ]
        return {name: getattr(self.widget, name) for name in names}
