"""Loading, prompts, and the key-value cache."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from workbench.generation import LanguageModel, ModelError, load_model  # noqa: E402
from workbench.generation.model import cache_name  # noqa: E402


def test_the_vocabulary_is_as_wide_as_the_logits(tiny: LanguageModel) -> None:
    known = len(tiny.hf_tokenizer)
    assert tiny.vocab_size > known
    assert tiny.tokenizer.info.vocab_size == tiny.vocab_size
    assert set(range(known, tiny.vocab_size)) <= set(tiny.tokenizer.info.special_token_ids)
    assert tiny.start().advance([5, 6]).shape == (tiny.vocab_size,)


def test_reading_in_pieces_equals_reading_at_once(tiny: LanguageModel) -> None:
    ids = tiny.tokenizer.encode("the lazy dog")
    with torch.no_grad():
        whole = tiny.model(torch.tensor([ids])).logits[0, -1]
    run = tiny.start()
    for token in ids:
        logits = run.advance([token])
    assert run.length == len(ids)
    assert run.wait() > 0
    torch.testing.assert_close(logits, whole, atol=1e-4, rtol=1e-4)


def test_runs_do_not_disturb_each_other(tiny: LanguageModel) -> None:
    first, second = tiny.start(), tiny.start()
    first.advance([7])
    second.advance([9, 10])
    alone = tiny.start()
    alone.advance([7])
    assert torch.equal(first.advance([8]), alone.advance([8]))


def test_prompt_as_text_ids_and_chat(tiny: LanguageModel, demo: LanguageModel) -> None:
    ids = tiny.tokenizer.encode("fox")
    assert tiny.encode_prompt("fox") == ids
    assert tiny.encode_prompt(ids) == ids
    assert tiny.encode_prompt(np.array(ids)) == ids  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="no chat template"):
        tiny.encode_prompt("fox", chat=True)

    chat = demo.encode_prompt("weather in Lund")
    assert demo.encode_prompt([{"role": "user", "content": "weather in Lund"}]) == chat
    assert demo.tokenizer.decode(chat, skip_special=False) == "<|user|>weather in Lund<|end|><|assistant|>"
    assert demo.encode_prompt("weather in Lund", chat=False) == demo.tokenizer.encode("weather in Lund")
    with pytest.raises(ModelError, match="not system"):
        demo.encode_prompt([{"role": "system", "content": "be brief"}])


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ([], "no tokens"),
        ([10**6], "not a token id"),
        ([-1], "not a token id"),
        ([1.5], "a list of token ids"),
        ([5] * 256, "holds 256"),
    ],
)
def test_bad_prompts_are_refused(tiny: LanguageModel, prompt: list[int], reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        tiny.encode_prompt(prompt)


def test_what_cannot_be_loaded_says_why(tmp_path: Path, tiny_folder: Path) -> None:
    with pytest.raises(ModelError, match="no such folder"):
        load_model(tmp_path / "nothing")
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"model\.gguf is a file; a model is the folder of its config\.json"):
        load_model(tmp_path / "model.gguf")
    with pytest.raises(ModelError, match="no model 'smolllm2' on this machine: did you mean 'smollm2'"):
        load_model("smolllm2")
    with pytest.raises(ModelError, match="one of demo, smollm2") as unknown:
        load_model("nothing")
    assert "hf download" not in str(unknown.value)
    with pytest.raises(ModelError, match="hf download nobody/nothing-at-all"):
        load_model("nobody/nothing-at-all")
    with pytest.raises(ModelError, match="cannot load"):
        load_model(tmp_path)
    with pytest.raises(ModelError, match="no device"):
        load_model(tiny_folder, device="abacus")
    with pytest.raises(ModelError, match="floating type"):
        load_model(tiny_folder, device="cpu", dtype="int8")
    if not torch.cuda.is_available():
        with pytest.raises(ModelError, match="no CUDA GPU"):
            load_model(tiny_folder, device="cuda")


def test_dtype_device_and_repr(tiny_folder: Path) -> None:
    model = load_model(str(tiny_folder), device="cpu", dtype="bfloat16")
    assert model.dtype is torch.bfloat16
    assert model.device.type == "cpu"
    assert model.start().advance([5]).dtype is torch.float32
    assert "LlamaForCausalLM" in repr(model)
    assert "bfloat16 on cpu" in repr(model)
    assert tiny_folder.name in repr(model)


def test_a_missing_library_is_named() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "try:\n    from workbench.generation import generate\n"
        "except ImportError as error:\n    print(error)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'maskscope[generate]'" in result.stdout


def test_a_model_is_loaded_and_run_without_a_warning(tiny_folder: Path) -> None:
    """In a notebook whatever a library writes to stderr is a red box."""
    code = (
        "import sys\n"
        "from workbench.generation import Engine, generate, load_model\n"
        "model = load_model(sys.argv[1], device='cpu')\n"
        "generate(model, 'fox', 'root ::= [a-z]{3}', seed=1)\n"
        "Engine(model.model, model.tokenizer.info, rows=2)\n"
        "print('done')\n"
    )
    command = [sys.executable, "-W", "always", "-c", code, str(tiny_folder)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (result.stdout, result.stderr) == ("done\n", "")


def test_models_that_call_their_cache_by_its_earlier_name(tiny: LanguageModel) -> None:
    newer = cache_name(tiny.model)

    class Earlier(type(tiny.model)):  # type: ignore[misc]
        """Takes and returns `past_key_values`, as all models of earlier versions do."""

        def forward(self, input_ids: Any, past_key_values: Any = None, **options: Any) -> Any:
            out = super().forward(input_ids=input_ids, **{newer: past_key_values}, **options)
            return SimpleNamespace(logits=out.logits, past_key_values=getattr(out, newer))

    earlier = Earlier(tiny.model.config)
    earlier.load_state_dict(tiny.model.state_dict())
    assert cache_name(earlier) == "past_key_values"
    model, ids = LanguageModel(earlier, tiny.hf_tokenizer, name="earlier"), tiny.tokenizer.encode("the lazy dog")
    one, other = model.start(), tiny.start()
    for token in ids:
        torch.testing.assert_close(one.advance([token]), other.advance([token]), atol=1e-4, rtol=1e-4)
    assert one.length == len(ids)


def test_a_line_tells_that_a_model_is_loaded_and_goes_away(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", terminal)
    load_model(tiny_folder, device="cpu")
    told = terminal.getvalue().split("\r")
    assert told == ["", f"loading the model {tiny_folder} ...\x1b[K", "\x1b[K"]
    terminal.truncate(0)
    with pytest.raises(ModelError, match="no such folder"):
        load_model(tiny_folder / "nothing")
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_small_models_run_on_one_thread_and_large_ones_on_torchs_own(
    tiny: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from workbench.generation import model as module

    tiny.start()
    assert torch.get_num_threads() == 1
    monkeypatch.setattr(module, "SMALL", 0)
    monkeypatch.setattr(module, "_THREADS", 2)
    tiny.start()
    assert torch.get_num_threads() == 2
    torch.set_num_threads(3)
    tiny.start()
    assert torch.get_num_threads() == 3, "a number set by hand is left alone"
    monkeypatch.undo()
    tiny.start()
    assert torch.get_num_threads() == 1
