"""A session as a file that opens it again, as a picture, and its whole panel as a page."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from kernels_core import Options
from tests.visualizers.test_live import packed
from tests.workbench.vocabulary import GRAMMAR
from workbench.explorer import explore
from workbench.session import Session
from workbench.session.file import KeptError
from workbench.tokenizers import Tokenizer


def test_a_session_opens_again_where_it_stood(session: Session, tokenizer: Tokenizer, tmp_path: Path) -> None:
    session.read('{"name":12}')
    session.back()
    session.back("byte")
    file = session.save(tmp_path / "s.json")
    again = wb.Session.load(file, tokenizer)
    assert (again.text, again.place, again.steps) == (session.text, session.place, session.steps)
    assert (again.document.language, again.document.text) == (session.document.language, session.document.text)
    assert again.inspect.frontier().active_states() == session.inspect.frontier().active_states()
    assert again.to_json() == session.to_json() == json.loads(file.read_text())


def test_a_stop_token_and_a_draft_are_kept_too(session: Session, tokenizer: Tokenizer) -> None:
    session.read("true")
    (stop,) = [one.token_id for one in session.inspect.allowed_tokens() if one.stop][:1]
    session.step(stop)
    session.edits.source('root ::= "a')
    again = Session.load(session.to_json(), tokenizer)
    assert again.inspect.is_terminated
    assert again.document.text == GRAMMAR
    assert again.edits.draft is not None
    assert again.edits.draft.source.text == 'root ::= "a'


def test_limits_of_a_file_are_held_to_the_defaults(session: Session, tokenizer: Tokenizer) -> None:
    data = session.to_json()
    data["options"] = {**data["options"], "max_fill_ms": 0, "max_states": 1 << 40, "max_compile_ms": 7}
    with pytest.warns(UserWarning, match=r"larger limits \(max_fill_ms, max_states\)"):
        again = Session.load(data, tokenizer)
    kept = again.to_json()["options"]
    assert (kept["max_fill_ms"], kept["max_states"], kept["max_compile_ms"]) == (1_000, 200_000, 7)
    chosen = Session.load(data, tokenizer, options=Options(max_fill_ms=0))
    assert chosen.to_json()["options"]["max_fill_ms"] == 0
    data["options"] = {**data["options"], "max_fill_ms": "long"}
    with pytest.raises(KeptError, match="options of this session"):
        Session.load(data, tokenizer)


def test_a_tokenizer_is_found_by_its_name() -> None:
    session = Session('root ::= "a"+', "tekken")
    session.step("aa")
    again = Session.load(session.to_json())
    assert again.text == b"aa"
    assert again.tokenizer.info.fingerprint == session.tokenizer.info.fingerprint


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "pickle"}, "does not say format"),
        ({"version": 2}, "has version 2"),
        ({"grammar": {"language": "ebnf", "text": 3, "options": {}}}, "'text' is 3"),
        ({"grammar": {"language": "cobol", "text": "", "options": {}}}, "no language 'cobol'"),
        ({"tokenizer": {"source": None, "name": "mine", "fingerprint": ""}}, "pass it as `tokenizer`"),
        ({"tokenizer": {"source": "tekken", "name": "x", "fingerprint": "0"}}, "fingerprints differ"),
        ({"options": {"colour": "red"}}, "option 'colour'"),
        ({"options": {"parser": "magic"}}, "options of this session"),
        ({"steps": [7]}, "step 1 of this session is int"),
        ({"steps": [{"bytes": "not base64!"}]}, "not base64"),
        ({"place": {"index": 99, "offset": 0}}, "step 99 is outside"),
        ({"place": {"index": True, "offset": 0}}, "'index' is True"),
    ],
)
def test_what_is_no_session_is_refused(change: dict[str, Any], said: str) -> None:
    data = Session('root ::= "a"+', "tekken").to_json()
    with pytest.raises(KeptError, match=said):
        Session.load({**copy.deepcopy(data), **change})


def test_files_that_are_no_session(session: Session, tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text("{")
    with pytest.raises(KeptError, match="is not JSON"):
        Session.load(file)
    with pytest.raises(ValueError, match=r"'\.png': use \.json or \.html"):
        session.save(tmp_path / "s.png")


@pytest.mark.usefixtures("dot")
def test_the_picture_lights_the_active_states(session: Session) -> None:
    session.step("[")
    svg = session.inspect.to_svg()
    assert svg.startswith("<svg")
    assert svg.count('class="node state') > 0
    assert " active" in svg
    assert session.inspect.to_pdf().startswith(b"%PDF")


def test_a_page_holds_every_place_and_disturbs_nobody(session: Session, tmp_path: Path) -> None:
    session.read("[true,12]")
    session.goto(2)
    moves: list[str] = []
    session.on_change(moves.append)
    with explore(session).under_the_hood() as opened:
        opened.bring("mask")
        page = opened.save(tmp_path / "x.html").read_text()
        names = set(opened.views)
    carried = packed(page)
    assert {part["name"] for part in carried["parts"]} == names
    assert next(part for part in carried["parts"] if part["name"] == "screen")["state"]["pane"] == "mask"
    assert len(carried["places"]) == len(session.steps) + 1
    shown = [place["screen"]["values"][0][1]["place"] for place in carried["places"].values()]
    assert sorted(shown) == list(range(len(session.steps) + 1))
    assert moves == []
    assert session.index == 2
