"""Texts that a source must take and texts that it must not: kept with a session, judged while one edits.

    session.examples = [("[1]", True), ("[1", False)]
    [judged.ok for judged in session.inspect.examples()]

Read on: `workbench/session/inspector.py` (who judges), `workbench/panels/examples.py` (the screen).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from workbench.languages import Source
from workbench.session.result import Reading

MAX_EXAMPLES: Final = 200


@dataclass(frozen=True, slots=True)
class Example:
    """A whole text, and whether it must be taken."""

    text: str
    must: bool = True


@dataclass(frozen=True, slots=True)
class Judged:
    """An example, and what the grammar makes of it: `reading` is its fate, None where that is over the budget."""

    example: Example
    reading: Reading | None

    @property
    def taken(self) -> bool:
        """Whether the grammar takes the whole text, and lets it end."""
        return self.reading is not None and self.reading.ok and self.reading.completed

    @property
    def ok(self) -> bool:
        """Whether it is as it must be."""
        return self.reading is not None and self.taken == self.example.must

    @property
    def farthest(self) -> int:
        """How many bytes of the text the grammar takes."""
        return 0 if self.reading is None else self.reading.read

    @property
    def told(self) -> str:
        """Why, in a sentence."""
        if self.reading is None:
            return "over the budget: nothing is known"
        if self.taken:
            return "taken"
        return self.reading.verdict if not self.reading.ok else f"it may not end yet; {self.reading.message}"


def as_test(source: Source, examples: tuple[Example, ...]) -> str:
    """A module for pytest that holds `source` to the examples."""
    given = "".join(f"    ({one.text!r}, {one.must}),\n" for one in examples)
    return (
        "import pytest\n\nimport workbench as wb\n\n"
        f"SOURCE = wb.Source({source.language!r}, {source.text!r}, {dict(source.options)!r})\n"
        f"EXAMPLES = [\n{given}]\n\n\n"
        '@pytest.mark.parametrize(("text", "taken"), EXAMPLES)\n'
        "def test_examples(text: str, taken: bool) -> None:\n"
        "    session = wb.Session(SOURCE)\n"
        "    session.examples = [(text, taken)]\n"
        "    (judged,) = session.inspect.examples()\n"
        "    assert judged.ok, judged.told\n"
    )
