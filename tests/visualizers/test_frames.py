"""Each output in a page of its own, as VS Code and Colab have them: the widget's own script, and nothing to borrow.

The frame is sandboxed: it has no origin, reaches nothing of the page around it, and may load nothing.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

import workbench as wb
from tests.visualizers.bridge import until
from visualizers import assets
from visualizers.host import Host
from visualizers.standalone import POLICY

pytestmark = pytest.mark.browser

# What the page around a frame passes on: messages of the widget to the kernel, and what comes back.
OUTER = """([source, frames]) => {
  for (let number = 0; number < frames; number++) {
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-scripts";
    frame.style = "width: 1240px; height: 760px";
    frame.srcdoc = source;
    document.body.append(frame);
  }
  addEventListener("message", async ({ data, source: frame }) => {
    if (data.sent) frame.postMessage(await window.python(data.sent), "*");
  });
}"""
INNER = f"""<!doctype html><meta http-equiv="Content-Security-Policy" content="{POLICY}">
"""
INNER += """<div id="out"></div><script type="module">
const buffer = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
const values = STATE, handlers = {};
const fire = (event, ...rest) => (handlers[event] || []).slice().forEach((handler) => handler(...rest));
const model = {
  get: (name) => values[name],
  set(name, value) { if (values[name] !== value) { values[name] = value; fire(`change:${name}`); } },
  on(event, handler) { (handlers[event] ||= []).push(handler); },
  off(event, handler) { handlers[event] = (handlers[event] || []).filter((kept) => kept !== handler); },
  save_changes() {},
  send(content) { parent.postMessage({ sent: content }, "*"); },
};
addEventListener("message", ({ data }) => {
  for (const [name, value] of Object.entries(data.traits)) model.set(name, value);
  for (const [content, buffers] of data.messages) fire("msg:custom", content, buffers.map(buffer));
});
const widget = await import(URL.createObjectURL(new Blob([values._esm], { type: "text/javascript" })));
await widget.default.render({ model, el: document.getElementById("out") });
</script>"""


def framed(page: Page, host: Host, frames: int = 1) -> Callable[[], list[Any]]:
    """Show `host` in frames of their own; returns what they have sent."""
    heard: list[Any] = []
    replies: list[Any] = []

    def send(content: Any, buffers: Any = None) -> None:
        replies.append([content, [base64.b64encode(one).decode() for one in buffers or ()]])

    host.send = send
    names = [name for name in host.keys if name not in ("layout", "tabbable", "tooltip") and name[:2] != "_v"]

    def state() -> dict[str, Any]:
        return {name: getattr(host, name) for name in names if name not in ("_model_name",)}

    def python(content: Any) -> dict[str, Any]:
        heard.append(content)
        host._received(host, content, [])
        messages, replies[:] = list(replies), []
        return {"traits": state(), "messages": messages}

    page.expose_function("python", python)
    page.set_content("<!doctype html><body></body>")
    packed = base64.b64encode(json.dumps(state()).encode()).decode()
    decode = f"JSON.parse(new TextDecoder().decode(Uint8Array.from(atob('{packed}'), (c) => c.charCodeAt(0))))"
    page.evaluate(OUTER, [INNER.replace("STATE", decode), frames])
    return lambda: heard


def test_a_widget_in_a_frame_of_its_own_asks_for_its_code_and_is_live(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    session = wb.Session({"type": "object", "properties": {"city": {"type": "string"}}}, "tekken").seek('{"ci')
    with wb.explore(session) as explorer:
        heard = framed(page, explorer.widget)
        frame = page.frame_locator("iframe")
        frame.locator(".ms-host[data-ready]").wait_for()
        assert heard()[0] == {"library": assets.version()}
        box = frame.get_by_test_id("text")
        box.focus()
        box.press("End")
        box.type('ty": ')
        assert until(page, lambda: session.text == b'{"city": ')
        explorer.under_the_hood()
        frame.locator(".cm-content").first.wait_for()  # the editor came with it
        assert explorer.desk.troubles == {}


def test_graphviz_draws_in_such_a_frame(page: Page) -> None:
    session = wb.Session('root ::= "a" root | "b"', "tekken")
    with wb.explore(session).under_the_hood() as explorer:
        framed(page, explorer.widget)
        page.frame_locator("iframe").locator(".ms-stage > svg .state.active").first.wait_for()
