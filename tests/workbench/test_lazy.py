"""Names that are loaded when they are asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.lazy import MissingExtraError


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package of names, some of which cannot be loaded; `lazily.any` names no extras, so any may be missing."""
    folder = tmp_path / "lazily"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "from workbench.lazy import lazy_names\n"
        "if TYPE_CHECKING:\n"
        "    from lazily.light import LIGHT\n"
        "    from lazily.heavy import HEAVY\n"
        "    from .broken import BROKEN\n"
        '__all__ = ["LIGHT", "HEAVY", "BROKEN", "light"]\n'
        "__getattr__, __dir__ = lazy_names(__name__,\n"
        '    extras={"no_such_library"}, modules={"light": "lazily.light"}, cure="pip install it")\n'
    )
    (folder / "any.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "from workbench.lazy import lazy_names\n"
        "if TYPE_CHECKING:\n"
        "    from lazily.heavy import HEAVY\n"
        "    from lazily.ours import OURS\n"
        "__all__ = []\n"
        '__getattr__, __dir__ = lazy_names(__name__, cure="install it")\n'
    )
    (folder / "ours.py").write_text("import lazily.absent\n")
    (folder / "light.py").write_text("LIGHT = object()\n")
    (folder / "heavy.py").write_text("import no_such_library\n")
    (folder / "broken.py").write_text("import no_such_module_of_ours\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "lazily"
    for name in [name for name in sys.modules if name.partition(".")[0] == "lazily"]:
        del sys.modules[name]


def test_a_name_is_loaded_once_and_when_asked_for(package: str) -> None:
    module = __import__(package)
    assert "lazily.light" not in sys.modules
    assert {"LIGHT", "HEAVY"} <= set(dir(module))
    assert "lazily.light" not in sys.modules
    assert module.LIGHT is sys.modules["lazily.light"].LIGHT
    assert vars(module)["LIGHT"] is module.LIGHT


def test_a_name_may_be_a_module(package: str) -> None:
    module = __import__(package)
    assert "lazily.light" not in sys.modules
    assert module.light is sys.modules["lazily.light"]


def test_a_module_of_our_own_is_no_extra(package: str) -> None:
    module = importlib.import_module(f"{package}.any")
    with pytest.raises(MissingExtraError, match="HEAVY needs no_such_library: install it"):
        _ = module.HEAVY
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'lazily\.absent'") as caught:
        _ = module.OURS
    assert not isinstance(caught.value, MissingExtraError)


def test_what_cannot_be_loaded_says_why(package: str) -> None:
    module = __import__(package)
    with pytest.raises(AttributeError, match="module 'lazily' has no attribute 'other'"):
        _ = module.other
    with pytest.raises(ImportError, match="HEAVY needs no_such_library: pip install it"):
        _ = module.HEAVY
    with pytest.raises(ModuleNotFoundError, match="no_such_module_of_ours"):
        _ = module.BROKEN
