"""`transformers`' own loop with `LogitsProcessor`, on a tiny model made here."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.compat.running import run  # noqa: E402
from tests.generation.conftest import tiny_folder  # noqa: E402, F401  (a fixture)


@pytest.fixture(scope="module")
def names(tiny_folder: Path) -> dict[str, Any]:  # noqa: F811
    model = transformers.AutoModelForCausalLM.from_pretrained(tiny_folder)
    return {"MODEL": model, "TOKENIZER": transformers.AutoTokenizer.from_pretrained(tiny_folder)}


def test_what_is_generated_follows_the_grammars(names: dict[str, Any]) -> None:
    *batches, one = run("hugging_face", "workbench.compat.xgrammar", **names)
    assert len(batches) == 6
    for word, digits, flags in batches:
        assert re.fullmatch(r"<[a-z]{1,5}>", word)
        assert re.fullmatch(r"\d{2,4}", digits)
        values = json.loads(flags)
        assert set(values) <= {True, False}
        assert len(values) <= 3
    assert one.startswith("fox")
    assert len({word for word, _, _ in batches}) > 1


def test_it_generates_what_xgrammar_lets_through(names: dict[str, Any]) -> None:
    pytest.importorskip("xgrammar")
    assert run("hugging_face", "workbench.compat.xgrammar", **names) == run("hugging_face", "xgrammar", **names)


def test_one_object_serves_beams_and_several_texts(names: dict[str, Any]) -> None:
    import workbench.compat.xgrammar as xgr

    model, tokenizer = names["MODEL"], names["TOKENIZER"]
    info = xgr.TokenizerInfo.from_huggingface(tokenizer, vocab_size=model.config.vocab_size)
    processor = xgr.contrib.hf.LogitsProcessor(xgr.GrammarCompiler(info).compile_grammar("root ::= [0-9]{2,4}"))
    prompt = tokenizer("fox", return_tensors="pt", return_token_type_ids=False)
    start = prompt["input_ids"].shape[1]
    for options in ({"num_beams": 3}, {"do_sample": True, "num_return_sequences": 3}, {"do_sample": False}):
        rows = model.generate(**prompt, logits_processor=[processor], max_new_tokens=20, **options)[:, start:]
        for text in tokenizer.batch_decode(rows, skip_special_tokens=True):
            assert re.fullmatch(r"\d{2,4}", text)


def test_scores_are_changed_in_place_and_returned() -> None:
    import workbench.compat.xgrammar as xgr

    info = xgr.TokenizerInfo(["a", "b", "</s>"])
    compiled = xgr.GrammarCompiler(info).compile_grammar('root ::= "a" "b"')
    scores = torch.zeros(2, 5)
    processor = xgr.contrib.hf.LogitsProcessor(compiled)
    assert isinstance(processor, transformers.LogitsProcessor)
    assert processor(torch.zeros(2, 1, dtype=torch.long), scores) is scores
    assert torch.isfinite(scores).tolist() == [[True, False, False, False, False]] * 2
    with pytest.raises(RuntimeError, match="divide"):
        xgr.contrib.hf.LogitsProcessor([compiled, compiled])(torch.zeros(3, 1, dtype=torch.long), torch.zeros(3, 3))
    with pytest.raises(ValueError, match="CompiledGrammar"):
        xgr.contrib.hf.LogitsProcessor("grammar")
