"""`python -m workbench check | mask | explain`: what they print, their JSON and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from workbench.cli import app, checking

ROOT = Path(__file__).resolve().parents[2]
SMALL = str(ROOT / "experiments" / "demo_model" / "weights")
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "mode": {"enum": ["fast", "slow"]}},
    "required": ["name", "mode"],
    "additionalProperties": False,
}


@pytest.fixture
def schema(tmp_path: Path) -> str:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA, indent=1))
    return str(file)


def invoke(*words: str, given: str | bytes | None = None) -> Result:
    """A command, which may not end in a traceback."""
    result = CliRunner().invoke(app, words, input=given)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def run(*words: str, given: str | bytes | None = None) -> Result:
    """A command with the small tokenizer of the demo model."""
    tokenizer = () if "-t" in words else ("-t", SMALL)
    result = invoke(words[0], *tokenizer, *words[1:], given=given)
    assert max((len(line) for line in result.stdout.split("\n")), default=0) <= 100 or "--json" in words
    return result


def data(result: Result) -> dict[str, Any]:
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


# -- check ------------------------------------------------------------------------------------------------------------


def test_check_a_grammar(schema: str) -> None:
    result = run("check", schema)
    assert result.exit_code == 0
    assert "a grammar: JSON Schema (" in result.stdout


def test_check_does_not_write_all_rules_of_a_schema() -> None:
    address = '{"type": "string", "format": "uri", "minLength": 1, "maxLength": 2083}'  # too many to be written
    assert run("check", address).exit_code == 0
    assert data(run("check", address, "--json", '"http://a.b"'))["ok"]
    assert "a grammar: EBNF, 1 rule (" in run("check", 'root ::= "a"').stdout


@pytest.mark.report(
    "dottxt-ai/outlines-core#186", "A keyword that is misspelt, `oneof` for `oneOf`, is told by `check`."
)
def test_check_warns(tmp_path: Path) -> None:
    misspelt = '{"type": "object", "additionalProperites": false}'
    result = run("check", misspelt)
    assert result.exit_code == 0
    assert "warning: line 1, column 20 (#/additionalProperites)" in result.stdout
    (warned,) = data(run("check", misspelt, "--json", "{}"))["warnings"]
    assert warned["cure"] == "did you mean `additionalProperties`?"
    assert "`oneOf`?" in run("check", '{"properties": {"v": {"oneof": [true]}}}').stdout
    rules = run("check", 'root ::= [digit]\ndigit ::= "1"\n')
    assert "warning: line 1, column 10: [digit] is one of these characters" in rules.stdout
    assert "warning: line 2, column 1: nothing calls the rule digit" in rules.stdout
    assert "warning" not in run("check", '{"type": "object"}').stdout


def test_check_names_no_cure_that_no_command_has() -> None:
    result = run("check", '{"type": "array", "items": {"type": "string"}, "not": {"uniqueItems": true}}')
    assert result.exit_code == 1
    assert "uniqueItems" in result.stderr
    assert "lenient" not in result.stderr


def test_check_texts(schema: str, tmp_path: Path) -> None:
    good, bad, cut = (tmp_path / name for name in ("good.json", "bad.json", "cut.json"))
    good.write_text('{"name": "Lund", "mode": "fast"}\n')
    bad.write_text('{"name": "Lund",\n "mode": "fest"}\n')
    cut.write_text('{"name": "Lund"')
    result = run("check", schema, "-f", str(good))
    assert result.exit_code == 0
    assert "conforms, 32 bytes" in result.stdout
    result = run("check", schema, "-f", str(good), "-f", str(bad), "-f", str(cut), "--json")
    assert result.exit_code == 1
    first, second, third = data(result)["texts"]
    assert first["ok"]
    assert first["complete"]
    assert (second["line"], second["column"], second["read"]) == (2, 12, 28)
    assert second["possible"] == ["a"]
    assert second["forbidden_by"][0]["keyword"] == "enum"
    assert second["forbidden_by"][0]["pointer"] == "#/properties/mode/enum"
    assert second["forced"] == 'ast"'
    assert not third["ok"]
    assert "not complete" in third["message"]
    assert third["shortest_end"].startswith(',"mode":"')
    shown = run("check", schema, "-f", str(bad), "-f", str(cut)).stdout
    assert "line 2, column 12, byte 28" in shown
    assert "forbidden by: `mode` is one of" in shown
    assert "shortest end (15 bytes):" in shown
    assert run("check", schema, "-f", str(cut), "--prefix").exit_code == 0


def test_check_a_line_end_counts_where_it_is_asked_to(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("aa\n")
    assert run("check", 'root ::= "a"+', "-f", str(file)).exit_code == 0
    assert run("check", 'root ::= "a"+', "-f", str(file), "--exact").exit_code == 1


def test_check_standard_input() -> None:
    assert run("check", 'root ::= "a"+', "-", given="aaa").exit_code == 0
    assert run("check", "-", "aa", given='root ::= "a"+').exit_code == 0
    twice = run("check", "-", "-", given='root ::= "a"+')
    assert twice.exit_code == 2
    assert "read once" in twice.stderr


def test_mistakes_have_a_place(tmp_path: Path) -> None:
    file = tmp_path / "broken.json"
    file.write_text('{"type": "object",\n "properties": {,}}')
    result = run("check", str(file))
    assert result.exit_code == 1
    assert "line 2, column 17" in result.stderr
    assert "Traceback" not in result.output
    found = data(run("check", str(file), "--json"))
    assert found["mistakes"][0]["line"] == 2
    result = run("check", 'root ::= "a" | oops')
    assert result.exit_code == 1
    assert "line 1, column 16" in result.stderr
    assert "oops" in result.stderr
    result = run("check", json.dumps({"type": "string", "minLength": "x"}))
    assert result.exit_code == 1
    assert "#" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "nowhere.json"], "no file 'nowhere.json'"),
        *((["check", name], "say -l regex") for name in ("order_schema", "orderschema.jsn", "schemas/order", "~/x")),
        (["check", "."], "'.' is a folder; name a file in it, or say -l regex"),
        (["check", "root ::= [a-z]", "-f", "nowhere.txt"], "No such file"),
        (["check", "root ::= [a-z]", "README.md"], "by --text-file README.md, or write it first if it is SOURCE"),
        (["check", "root ::= [a-z]", "-t", "nonesuch"], "'nonesuch' is neither"),
        (["check", "root ::= [a-z]", "-l", "latin"], "no language 'latin'"),
        (["mask", "root ::= [a-z]", "a", "--text-file", "b"], "not both"),
        (["mask", "root ::= [a-z]", "--text-file", "nowhere"], "No such file"),
        (["explain", "root ::= [a-z]"], "--next WHAT, or --token ID"),
        (["explain", "root ::= [a-z]", "--next", "a", "--token", "3"], "--next WHAT, or --token ID"),
        (["explain", "root ::= [a-z]", "--token", "-3"], "no token -3"),
        (["explain", "root ::= [a-z]", "--token", "99999999"], "no token 99999999"),
    ],
)
def test_wrong_use_is_said(words: list[str], said: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert said in data(run(*words, "--json"))["error"]


@pytest.mark.parametrize(
    ("before", "coming"), [("{", '"days"'), ('{"city": "a", "days": 1', ".0"), ('{"city": "a"', " ,")]
)
def test_mask_and_explain_ask_as_a_model_writes(tmp_path: Path, before: str, coming: str) -> None:
    file = tmp_path / "schema.json"
    members = {"city": {"type": "string"}, "days": {"type": "integer"}}
    required = ["city", "days"]
    file.write_text(
        json.dumps({"type": "object", "properties": members, "required": required, "additionalProperties": False})
    )
    free = run("explain", str(file), before, "--next", coming)
    written = run("explain", str(file), before, "--next", coming, "--as-generated")
    assert (free.exit_code, written.exit_code) == (0, 1)
    assert "every spelling" in free.stdout
    assert "as generate and the server write: members" in written.stdout
    counts = [data(run("mask", str(file), before, "--json", *more))["allowed"] for more in ((), ("--as-generated",))]
    assert (counts[0] > counts[1]) == (before != "{")  # where every name begins with the same quote
    assert "--as-generated" in run("mask", str(file), before).stdout
    assert "generate" not in run("mask", "yes|no", "y").stdout


def test_a_guessed_language_is_said(schema: str) -> None:
    """And a word is a pattern where one says so; so is what no file is named."""
    assert "schema.json is read as JSON Schema" in run("check", schema).stderr
    assert "SOURCE is read as regex: one line" in run("mask", "yes|no", "y").stderr
    assert "is read as" not in run("check", "yes", "yes", "-l", "regex").stderr
    assert "is read as" not in run("check", "yes|no", "yes", "--json").output
    for pattern in ("a.b|c", r"\d/\d", "[a-z]+", "1.5", "two words", "x*"):
        assert run("check", pattern).exit_code == 0, pattern
    assert '"::="' in run("check", 'root := "a"').stderr


def test_files_as_other_programs_write_them(tmp_path: Path) -> None:
    names = ("schema.json", "schema.jsonc", "schema.yaml", "answer.json")
    marked, commented, other, text = (tmp_path / name for name in names)
    marked.write_text('{"enum": [1]}', encoding="utf-8-sig")
    text.write_text("1\n", encoding="utf-8-sig")
    assert run("check", str(marked), "-f", str(text)).exit_code == 0
    commented.write_text('{"enum": [1] // one\n}')
    assert run("check", str(commented), "-f", str(text)).exit_code == 0
    told = run("check", '{"enum": [1] // one\n}')
    assert "line 1, column 14: JSON has no comments" in told.stderr
    assert "a file whose name ends in .jsonc may have them" in told.stderr.replace("\n", " ")
    other.write_text('{"enum": [1]}')  # which is YAML, too
    assert run("check", str(other), "-f", str(text)).exit_code == 0
    other.write_text("enum: [1]\n")
    result = run("check", str(other))
    assert (result.exit_code, "ends in .yaml is not read: a schema is written in JSON" in result.stderr) == (2, True)


def test_the_version_is_an_option_and_a_command() -> None:
    assert invoke("--version").stdout == invoke("version").stdout != ""


def test_a_source_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "grammar.ebnf"
    file.write_bytes(b'root ::= "\xff"')
    result = run("check", str(file))
    assert result.exit_code == 2
    assert "not UTF-8 at byte 10" in result.stderr


# -- mask -------------------------------------------------------------------------------------------------------------


def test_mask_by_meaning(schema: str) -> None:
    result = run("mask", schema, '{"name": "x", ')
    assert result.exit_code == 0
    assert "mode" in result.stdout
    assert "tokens allowed" in result.stdout
    assert "still required: mode; may not close now" in result.stdout
    found = data(run("mask", schema, '{"name": "x", ', "--json", "--tokens", "5"))
    assert not found["may_end"]
    assert found["allowed"] > 0
    assert any(row["what"] == '"mode"' or row["text"] == '"mode"' for row in found["next"])
    assert len(found["tokens"]) == min(5, found["allowed"])
    ended = data(run("mask", 'root ::= "a"+', "a", "--json"))
    assert ended["may_end"]


def test_mask_lists_what_is_refused() -> None:
    result = run("mask", 'root ::= "abc"', "--refused", "--tokens", "9")
    assert result.exit_code == 0
    assert ":a" in result.stdout
    assert data(run("mask", 'root ::= "abc"', "--refused", "--json"))["refused"]


@pytest.mark.parametrize("command", [("mask",), ("explain", "--next", "b"), ("check",)])
def test_no_picture_is_made_beside_json(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(*_given: object) -> None:
        raise AssertionError("a picture was made")

    for name in ("_place_line", "_check_picture"):
        monkeypatch.setattr(checking, name, drawn)
    words = [command[0], 'root ::= "abc"', *command[1:], "a"]
    assert data(run(*words, "--json"))
    with pytest.raises(AssertionError, match="a picture was made"):
        raise CliRunner().invoke(app, [words[0], "-t", SMALL, *words[1:]]).exception or ValueError


@pytest.mark.parametrize("command", [("mask",), ("explain", "--next", "y")])
def test_a_text_that_dies_before_the_place(command: tuple[str, ...]) -> None:
    words = [command[0], 'root ::= "abc"', *command[1:], "abx"]
    result = run(*words)
    assert result.exit_code == 1
    assert "x cannot come at byte 2" in result.stderr
    found = data(run(*words, "--json"))
    assert found["died_at"] == 2


# -- explain ----------------------------------------------------------------------------------------------------------


def test_explain_why_not(schema: str) -> None:
    result = run("explain", schema, "{", "--next", '"nmae"')
    assert result.exit_code == 1
    assert ": cannot come" in result.stdout
    assert 'the schema has no member "nmae"' in result.stdout
    assert "m cannot come at byte" in result.stdout
    assert "forbidden by:" in result.stdout
    assert "must follow: ame" in result.stdout
    assert 'did you mean: "name"' in result.stdout
    found = data(run("explain", schema, "{", "--next", '"nmae"', "--json"))
    assert {one["keyword"] for one in found["forbidden_by"]} & {"required", "additionalProperties"}
    assert found["died_at"] == 3


def test_explain_what_may_come(schema: str) -> None:
    result = run("explain", schema, "{", "--next", '"name"')
    assert result.exit_code == 0
    assert "may come" in result.stdout
    assert data(run("explain", schema, "{", "--next", '"name"', "--json"))["ok"]


def test_explain_a_token(schema: str) -> None:
    from workbench.tokenizers import load_tokenizer

    tokenizer = load_tokenizer(SMALL)
    (brace,) = tokenizer.encode("{")
    assert run("explain", schema, "--token", str(brace)).exit_code == 0
    stop = tokenizer.info.stop_token_ids[0]
    result = run("explain", schema, "--token", str(stop))
    assert result.exit_code == 1
    assert "the stop token, not text" in result.stdout


def test_help_has_examples() -> None:
    for command in ("check", "mask", "explain", "compare", "hunt", "generate", "serve-notebook"):
        result = invoke(command, "--help")
        assert result.exit_code == 0
        assert "Example" in result.stdout
        assert "--json" in result.stdout


def test_another_rule_begins_a_text(tmp_path: Path) -> None:
    grammar = tmp_path / "sums.lark"
    grammar.write_text('total: INT ("+" INT)*\n%import common.INT\n', encoding="utf-8")
    refused = run("check", str(grammar), "1+2")
    assert refused.exit_code == 1
    assert "pass --start total; name it by --start, or call a rule so" in refused.stderr
    assert run("check", str(grammar), "1+2", "--start", "total").exit_code == 0
    assert run("check", 'sum ::= "1"', "1", "--start", "sum").exit_code == 0
    other = run("check", "true", "1", "--start", "sum")
    assert (other.exit_code, "--start is for EBNF and Lark, and SOURCE is read as JSON Schema" in other.stderr) == (
        2,
        True,
    )
