"""A page for one view, and the bridge between the two: what the browser tests of this folder begin with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.visualizers.bridge import Bridge
from visualizers.host import Host
from visualizers.live_base import LiveView

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

VIEWPORT = {"width": 900, "height": 700}


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page that fails the test when anything is logged, thrown, asked or fetched in it.

    It has the size that the test's file calls `VIEWPORT`, or that of this file.
    """
    size: Any = getattr(request.module, "VIEWPORT", VIEWPORT)
    context = browser.new_context(viewport=size)
    page = context.new_page()
    page.set_default_timeout(60_000)
    trouble: list[str] = []
    page.on("console", lambda message: trouble.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("dialog", lambda dialog: trouble.append(dialog.message))
    page.on("request", lambda request: trouble.append(request.url) if request.url.startswith("http") else None)
    yield page
    assert not trouble
    context.close()


@pytest.fixture
def bridged(page: Page) -> Callable[[LiveView[Any] | Host], Bridge]:
    """Shows a widget in the page."""
    return lambda widget: Bridge(page, widget)
