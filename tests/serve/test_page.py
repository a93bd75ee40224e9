"""The page in a browser: the list, a request as it is written, texts as data."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.serve.conftest import Client
from workbench.generation import LanguageModel
from workbench.serving import Limits, Service, make_app

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

uvicorn = pytest.importorskip("uvicorn")

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def served(demo: LanguageModel) -> Iterator[tuple[Client, str]]:
    service = Service(demo, Limits(rows=2, max_tokens=400), pause=0.03)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(make_app(service), port=port, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield Client(service), f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that fails the test when anything is logged or thrown in it, or asked of another host."""
    context = browser.new_context(viewport={"width": 1200, "height": 760})
    page = context.new_page()
    page.set_default_timeout(60_000)
    trouble: list[str] = []
    page.on("console", lambda message: trouble.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("dialog", lambda dialog: trouble.append(dialog.message))
    page.on("request", lambda request: None if "127.0.0.1" in request.url else trouble.append(request.url))
    yield page
    assert not trouble
    context.close()


def test_a_running_request_on_the_page(served: tuple[Client, str], page: Page, tmp_path_factory: Any) -> None:
    client, address = served
    page.goto(address)
    page.get_by_text("Nothing is chosen").wait_for()
    hostile = "<img src=x onerror=alert(1)> weather in Lund"
    pattern = "<script>alert\\(2\\)</script>[ab]{120}"
    asking = threading.Thread(
        target=lambda: client.chat(hostile, seed=3, response_format={"type": "regex", "pattern": pattern})
    )
    asking.start()
    page.get_by_test_id("shown-allowed").wait_for()
    page.wait_for_function("() => document.querySelectorAll('[data-testid=frontier-item]').length > 0")
    assert page.get_by_test_id("shown-state").inner_text() == "running"
    assert "<img src=x" in page.get_by_test_id("shown-prompt").inner_text()
    before = len(page.get_by_test_id("shown-text").inner_text())
    page.wait_for_function(f"() => document.querySelector('[data-testid=shown-text]').textContent.length > {before}")
    assert "token" in page.get_by_test_id("shown-mask").inner_text()
    assert page.locator(".ms-frontier .dot").count() > 0
    page.screenshot(path=tmp_path_factory.mktemp("page") / "running.png")
    asking.join()
    page.wait_for_function("() => document.querySelector('[data-testid=shown-state]').textContent === 'stop'")
    assert page.get_by_test_id("shown-text").inner_text().startswith("<script>alert(2)</script>")
    assert page.locator("script").count() == 1
    assert page.locator("img").count() == 0


def test_another_request_is_chosen(served: tuple[Client, str], page: Page) -> None:
    client, address = served
    for content in ("first", "second"):
        # In a thread of its own: the browser's library runs an event loop in this one.
        asking = threading.Thread(target=client.chat, args=(content,), kwargs={"seed": 1, "max_tokens": 4})
        asking.start()
        asking.join()
    page.goto(address)
    page.get_by_test_id("request").filter(has_text="first").click()
    page.wait_for_function("() => document.querySelector('[data-testid=shown-prompt]').textContent === 'user: first'")
    page.get_by_test_id("request").filter(has_text="second").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('[data-testid=shown-prompt]').textContent === 'user: second'")
    assert "free text" in page.get_by_test_id("shown-trouble").inner_text()


def test_the_page_asks_the_model_itself(served: tuple[Client, str], page: Page, tmp_path_factory: Any) -> None:
    page.goto(served[1])
    page.get_by_text("ask the model").click()
    page.get_by_test_id("ask-prompt").fill("is it so?")
    page.get_by_test_id("ask-schema").fill("{")
    page.get_by_test_id("ask-send").click()
    page.wait_for_function(
        "() => document.querySelector('[data-testid=ask-said]').textContent.startsWith('a JSON Schema, is wanted: ')"
    )
    page.get_by_test_id("ask-schema").fill(
        '{"type": "array", "items": {"type": "boolean"}, "minItems": 9, "maxItems": 9}'
    )
    page.get_by_test_id("ask-send").click()
    page.get_by_text("tokens per second").wait_for()
    assert page.get_by_test_id("ask-said").inner_text().startswith("stop: ")
    page.wait_for_function("() => document.querySelector('[data-testid=shown-text]').textContent.endsWith(']')")
    page.get_by_test_id("ask-open").click()
    code = page.get_by_test_id("ask-code").inner_text()
    opened: dict[str, Any] = {}
    exec(code.replace('}")', '}", "demo")'), opened)
    session = opened["explorer"].session
    assert session.text.decode() == page.get_by_test_id("shown-text").inner_text()
    page.screenshot(path=tmp_path_factory.mktemp("page") / "asked.png")

    page.get_by_test_id("ask-schema").fill("")
    page.get_by_test_id("ask-tools").fill(
        '[{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]'
    )
    page.get_by_test_id("ask-most").fill("40")
    page.get_by_test_id("ask-send").click()
    page.wait_for_function(
        "() => /^(length|tool_calls): /.test(document.querySelector('[data-testid=ask-said]').textContent)"
    )
