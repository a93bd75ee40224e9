"""The source editor in a browser test.

Read on: `tests/browser/test_source.py`.
"""

from __future__ import annotations

from playwright.sync_api import Locator, expect

__all__ = ["expect_source", "source_text", "write_source"]

TEXT = """node => "value" in node ? node.value
  : [...node.querySelectorAll(".cm-line")].map((line) => line.textContent).join("\\n")"""
PASTE = """(node, text) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  node.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""


def source_text(editor: Locator) -> str:
    """The text in the editor, which must be short enough to be seen whole."""
    found: str = editor.evaluate(TEXT)
    return found


def write_source(editor: Locator, text: str) -> None:
    """Replace the text in the editor by pasting."""
    editor.click()
    editor.press("Control+a")
    editor.evaluate(PASTE, text)
    expect_source(editor, text)


def expect_source(editor: Locator, text: str) -> None:
    """Wait until the editor holds `text`."""
    handle = editor.element_handle()
    editor.page.wait_for_function(f"([node, text]) => ({TEXT})(node) === text", arg=[handle, text])
    expect(editor).to_be_visible()
