"""The referee of `wb.hunt`: what it judges, and what it must not do or say."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from workbench.comparing.hunting import _referee
from workbench.comparing.referee import Referee, Unjudged
from workbench.languages import Source

SLOW = r"^(a|a|a)*$"
LONG = "a" * 40 + "!"


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str]]]:
    """A server's address, and the paths that it is asked for."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"type": "string"}')

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", paths
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_nothing_is_fetched(asked: tuple[str, list[str]]) -> None:
    address, paths = asked
    with pytest.raises(Unjudged, match="secret"):
        Referee({"$ref": f"{address}/secret.json"}).complaint("1")
    assert paths == []


def test_references_lead_to_the_resources_at_hand() -> None:
    resources = {"https://a.test/n.json": {"pattern": r"^\d$"}, "m.json": '{"$ref": "https://a.test/n.json"}'}
    source = Source("json_schema", json.dumps({"$ref": "m.json"}), {"resources": resources})
    referee, reason = _referee(json.loads(source.text), source)
    assert referee is not None, reason
    assert referee.complaint('"1"') is None
    assert referee.complaint('"\u0663"') is not None


@pytest.mark.parametrize(
    ("pattern", "text", "valid"),
    [
        (r"^[\s\S]*$", "\x85\x1c", True),
        (r"^[\d\D]$", "\U0010ffff", True),
        (r"^[^\S]$", "\ufeff", True),
        (r"^\S$", "\x85", True),
        (r"^\D$", "\u0663", True),
        (r"^[^]x]$", "ax]", True),
        (r"^[]a]$", "a", False),
        (r"^[\w-z]+$", "a-b", True),
        (r"^[+-\d]+$", "5-", True),
        (r"^[+-\d]+$", ",", False),
        (r"^[\d-a-z]+$", "-", True),
        (r"^[\d-a-z]+$", "b", False),
        (r"^[\x41-\x43]$", "B", True),
        (r"^[a^-]+$", "^-", True),
        (r"^[[&&a]$", "&", True),
    ],
)
def test_classes_are_those_of_ecma_262(pattern: str, text: str, valid: bool) -> None:
    referee = Referee({"$schema": "https://json-schema.org/draft/2020-12/schema", "pattern": pattern})
    assert (referee.complaint(json.dumps(text)) is None) is valid


@pytest.mark.parametrize(("pattern", "text"), [("^(?<n>a)$", '"a"'), (r"^[\w-.]+$", '"a-."')])
def test_patterns_that_python_does_not_read_need_no_draft_named(pattern: str, text: str) -> None:
    assert Referee({"pattern": pattern}).complaint(text) is None
    assert Referee({"pattern": pattern}).complaint('"+"') is not None


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}'])
def test_python_constants_are_not_json(text: str) -> None:
    assert "not JSON" in str(Referee(True).complaint(text))


def test_patterns_that_python_spells_alike_all_count() -> None:
    referee = Referee({"patternProperties": {r"^\d": {"type": "string"}, "^[0-9]": {"minLength": 2}}})
    assert referee.complaint('{"1": 5}') is not None
    assert referee.complaint('{"1": "a"}') is not None
    assert referee.complaint('{"1": "ab"}') is None


@pytest.mark.parametrize("name", ["email", "idn-email", "regex", "phone"])
def test_a_format_that_nobody_checks_is_not_judged(name: str) -> None:
    referee = Referee({"format": name})
    with pytest.raises(Unjudged, match=name):
        referee.complaint('"@"')
    assert referee.complaint("1") is None


def test_plain_addresses_are_judged() -> None:
    referee = Referee({"format": "email"})
    assert referee.complaint('"joe.bloggs@example.com"') is None
    assert referee.complaint('"joe"') is not None
    for text in ('"a..b@c"', '"a@-"', '"a@b@c"'):
        with pytest.raises(Unjudged):
            referee.complaint(text)


def test_a_text_that_is_nested_too_deeply_is_not_judged() -> None:
    for text in ("[" * 100_000, "[" * 100_000 + "]" * 100_000):
        with pytest.raises(Unjudged, match="nested"):
            Referee(True).complaint(text)


@pytest.mark.parametrize("reference", ["#", "https://a.test/n.json"])
def test_numbers_are_exact_behind_a_reference_to_a_named_draft(reference: str) -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "properties": {"a": {"$ref": reference}, "n": {"type": "integer"}},
    }
    referee = Referee(schema, {"https://a.test/n.json": schema | {"$id": "https://a.test/n.json"}})
    assert referee.complaint('{"a": {"n": 1.0}}') is None
    assert referee.complaint('{"a": {"n": 1.5}}') is not None


@pytest.mark.parametrize("pattern", ["a++", "a{2}+", "a*{3}", "(?i)a", "(?>a)", "(?#a)", r"(a)\1"])
def test_patterns_that_ecma_262_does_not_have_are_not_judged(pattern: str) -> None:
    with pytest.raises(Unjudged):
        Referee({"pattern": pattern})


@pytest.mark.parametrize(
    ("pattern", "text", "valid"),
    [
        ("^a{,3}$", "aa", False),
        ("^a{,3}$", "a{,3}", True),
        (r"^\ud83d\ude00$", "\U0001f600", True),
        (r"^[\ud83d\ude00-\ud83d\ude4f]$", "\U0001f610", True),
        (r"^[\ud83d\ude00-\ud83d\ude4f]$", "\U0001f650", False),
        (r"^a\b.\b$", "a\u00e9", False),
        (r"^(?<n>a+?)(?:b{2,}|c*)(?=$)(?<!x)$", "abb", True),
    ],
)
def test_patterns_are_those_of_ecma_262(pattern: str, text: str, valid: bool) -> None:
    assert (Referee({"pattern": pattern}).complaint(json.dumps(text)) is None) is valid


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"pattern": SLOW}, json.dumps(LONG)),
        ({"patternProperties": {SLOW: True}}, json.dumps({LONG: 1})),
        ({"additionalProperties": False, "patternProperties": {SLOW: True}}, json.dumps({LONG: 1})),
        ({"unevaluatedProperties": False, "patternProperties": {SLOW: True}}, json.dumps({LONG: 1})),
        ({"unevaluatedProperties": False, "$ref": "a.json"}, json.dumps({LONG: 1})),
    ],
)
def test_a_pattern_is_not_searched_for_ever(schema: dict[str, object], text: str) -> None:
    referee = Referee(schema, {"a.json": {"patternProperties": {SLOW: True}}})
    with pytest.raises(Unjudged, match="search"):
        referee.complaint(text)


def test_members_that_no_pattern_names_are_judged() -> None:
    referee = Referee(
        {"properties": {"a": {}}, "patternProperties": {"^b": {}}, "additionalProperties": {"type": "null"}}
    )
    assert referee.complaint('{"a": 1, "bc": 2, "c": null}') is None
    assert "$.c: 3" in str(referee.complaint('{"a": 1, "bc": 2, "c": 3}'))


def test_a_schema_that_is_nested_too_deeply_is_not_judged() -> None:
    schema: dict[str, object] = {}
    for _ in range(5_000):
        schema = {"items": schema}
    for named in (schema, schema | {"$schema": "https://json-schema.org/draft/2020-12/schema"}):
        with pytest.raises(Unjudged, match="nested"):
            Referee(named)


def test_subschemas_of_another_draft_are_not_judged() -> None:
    other = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "integer"}
    with pytest.raises(Unjudged, match=r"a\.json"):
        Referee({"$ref": "a.json"}, {"a.json": other}).complaint("5")
    with pytest.raises(Unjudged, match="draft"):
        Referee({"$schema": "https://json-schema.org/draft/2020-12/schema", "items": other | {"$id": "b"}})
    assert Referee({"properties": {"$schema": {"type": "string"}}}).complaint('{"$schema": "a"}') is None


def test_what_nothing_refers_to_leaves_a_schema_judged() -> None:
    """Documents of other drafts, and patterns of names where no name is left to search."""
    older = {"a.json": {"$schema": "http://json-schema.org/draft-07/schema#"}}
    assert Referee({"type": "integer"}, older).complaint('"5"') is not None
    with pytest.raises(Unjudged):
        Referee({"$ref": "a.json"}, older).complaint("5")
    patterns = Referee({"patternProperties": {"^a": {}}, "unevaluatedProperties": False})
    assert patterns.complaint("5") is None
    with pytest.raises(Unjudged):
        patterns.complaint('{"b": 1}')
