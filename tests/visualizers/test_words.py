"""The words that a person reads are those of docs/concepts/words.md."""

from __future__ import annotations

import re

import pytest

from tests.project.tree import ROOT
from visualizers.caches import KINDS, NAMES
from visualizers.glyphs import STOP_TOKEN, size
from visualizers.next import STATES

PAGE = (ROOT / "docs" / "concepts" / "words.md").read_text()
ENGINE = re.compile(
    r"\b(mask hits?|token-set hits?|pool hits?|partial hits?|found in time|# \(the whole\)|may not come)"
)
VIEWS = ("why", "next", "stack", "caches", "triggers")


@pytest.mark.parametrize("name", VIEWS)
def test_views_speak_the_words_of_the_page(name: str) -> None:
    for file in (ROOT / "visualizers" / "esm" / f"{name}.js",):
        wrong = [f"{name}: {match[0]}" for match in ENGINE.finditer(file.read_text())]
        assert not wrong


def test_every_word_for_a_mask_is_on_the_page() -> None:
    for kind, (word, _) in NAMES.items():
        assert f"**{word}**" in PAGE
        assert kind in PAGE
        assert not ENGINE.search(KINDS[kind])


def test_members_go_by_the_same_words_in_the_browser() -> None:
    script = (ROOT / "visualizers" / "esm" / "next.js").read_text()
    for state, said in STATES.items():
        assert f'["{state}", "{said}"]' in script


def test_sizes_are_written_in_one_place_and_in_one_unit() -> None:
    assert [size(count) for count in (0, 1023, 1024, 1_500_000, 2**31)] == [
        "0 B",
        "1,023 B",
        "1.0 KiB",
        "1.4 MiB",
        "2048.0 MiB",
    ]
    files = [file for folder in ("visualizers", "workbench") for file in (ROOT / folder).rglob("*.*")]
    files = [file for file in files if file.suffix in (".py", ".js")]
    units = {file.name for file in files if re.search(r"(?<!\w)\d*[kM]B\b|[}\]] [KM]iB", file.read_text())}
    assert units == {"glyphs.py", "common.js"}


def test_the_token_that_ends_the_text_has_one_name() -> None:
    assert f"**{STOP_TOKEN}**" in PAGE
    for folder in ("visualizers", "workbench"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            assert not re.search(r"""["'](?:the )?end of text""", file.read_text()), file


def test_tokens_are_allowed_or_refused_and_texts_may_or_cannot_come() -> None:
    from visualizers.why import verdict

    words = [verdict({"subject": {"token": token}, "ok": ok}) for token in (None, 5) for ok in (True, False)]
    assert words == ["may come", "cannot come", "allowed", "refused"]
    assert all(f"**{word}**" in PAGE for word in words)
