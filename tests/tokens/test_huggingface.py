"""Hugging Face files, folders and objects."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kernels_core.errors import TokenizerError
from kernels_core.tokens import TokenizerInfo, VocabType
from workbench.tokenizers import load_tokenizer

from .conftest import CONTROL

ADDED = "<tool call é>"


def test_control_tokens_are_special_and_added_tokens_are_text(byte_level: Any) -> None:
    info = TokenizerInfo.from_huggingface(byte_level)
    control, added = byte_level.token_to_id(CONTROL), byte_level.token_to_id(ADDED)
    assert info.special_token_ids == [control]
    assert info.stop_token_ids == [control]
    assert info.decoded_vocab[control] == CONTROL.encode()
    assert info.decoded_vocab[added] == ADDED.encode()  # not read through the byte-level alphabet
    assert info.vocab_size == byte_level.get_vocab_size()


def test_control_tokens_in_text_are_text(byte_level: Any) -> None:
    tokenizer = load_tokenizer(byte_level)
    control = byte_level.token_to_id(CONTROL)
    assert control in byte_level.encode(CONTROL).ids
    assert control not in tokenizer.encode(CONTROL)
    assert tokenizer.encode_prompt("a" + CONTROL)[-1] == control
    assert tokenizer.encode("a" + ADDED)[-1] == byte_level.token_to_id(ADDED)
    assert not byte_level.encode_special_tokens  # the caller's object is untouched


def test_byte_fallback_reads_bytes_only_where_the_model_has_them(byte_fallback: Any) -> None:
    newline = byte_fallback.token_to_id("<0x0A>")
    assert TokenizerInfo.from_huggingface(byte_fallback).decoded_vocab[newline] == b"\n"
    document = json.loads(byte_fallback.to_str())
    document["model"]["byte_fallback"] = False
    document["decoder"]["decoders"] = [d for d in document["decoder"]["decoders"] if d["type"] != "ByteFallback"]
    without = type(byte_fallback).from_str(json.dumps(document))
    assert TokenizerInfo.from_huggingface(without).decoded_vocab[newline] == b"<0x0A>"


def test_unigram_without_bytes_says_what_it_cannot_spell(unigram: Any) -> None:
    tokenizer = load_tokenizer(unigram)
    assert tokenizer.decode(tokenizer.encode("alpha  beta")) == "alpha  beta"
    with pytest.raises(TokenizerError, match="past byte 6"):
        tokenizer.encode("alpha 語")


def test_wordpiece_is_refused(wordpiece: Any) -> None:
    with pytest.raises(TokenizerError, match="WordPiece tokenizer cannot be read as bytes: it drops the blanks"):
        TokenizerInfo.from_huggingface(wordpiece)
    with pytest.raises(TokenizerError, match="WordPiece"):
        load_tokenizer(wordpiece)


def test_what_loses_blanks_is_refused() -> None:
    lib = pytest.importorskip("tokenizers")
    words = lib.Tokenizer(lib.models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    words.pre_tokenizer = lib.pre_tokenizers.Whitespace()
    with pytest.raises(TokenizerError, match=r"pre-tokenizer Whitespace .*drops the characters between words"):
        TokenizerInfo.from_huggingface(words)
    suffixed = lib.Tokenizer(lib.models.BPE({"a</w>": 0}, [], end_of_word_suffix="</w>"))
    with pytest.raises(TokenizerError, match="end_of_word_suffix '</w>'"):
        TokenizerInfo.from_huggingface(suffixed)
    ctc = lib.Tokenizer(lib.models.BPE({"a": 0}, []))
    ctc.decoder = lib.decoders.CTC()
    with pytest.raises(TokenizerError, match="decoder CTC"):
        TokenizerInfo.from_huggingface(ctc)


def test_plain_bpe_is_raw() -> None:
    lib = pytest.importorskip("tokenizers")
    plain = lib.Tokenizer(lib.models.BPE({"a": 0, " ": 1, "a ": 2}, [("a", " ")]))
    tokenizer = load_tokenizer(plain)
    assert tokenizer.info.vocab_type is VocabType.RAW
    assert tokenizer.encode("a a") == [2, 0]


def test_unused_ids_are_special() -> None:
    lib = pytest.importorskip("tokenizers")
    info = TokenizerInfo.from_huggingface(lib.Tokenizer(lib.models.BPE({"a": 0, "b": 5}, [])))
    assert info.decoded_vocab == [b"a", b"", b"", b"", b"", b"b"]
    assert info.special_token_ids == [1, 2, 3, 4]


def test_model_size_pads_or_cuts(byte_level: Any) -> None:
    size = byte_level.get_vocab_size()
    wide = TokenizerInfo.from_huggingface(byte_level, vocab_size=size + 9)
    assert wide.vocab_size == size + 9
    assert wide.special_token_ids[-9:] == list(range(size, size + 9))
    narrow = TokenizerInfo.from_huggingface(byte_level, vocab_size=size - 1)
    assert narrow.decoded_vocab == wide.decoded_vocab[: size - 1]
    cut = load_tokenizer(byte_level, vocab_size=size - 1)  # the added token is gone, its text is not
    assert cut.decode(cut.encode(ADDED)) == ADDED


def test_stop_tokens_can_be_given(byte_level: Any) -> None:
    assert TokenizerInfo.from_huggingface(byte_level, stop_token_ids=[5]).stop_token_ids == [5]
    with pytest.raises(TokenizerError, match="stop_token_ids is empty"):
        TokenizerInfo.from_huggingface(byte_level, stop_token_ids=[])


def test_transformers_objects(byte_level: Any, byte_fallback: Any) -> None:
    transformers = pytest.importorskip("transformers")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=byte_level, eos_token=CONTROL, pad_token="<pad>")
    info = TokenizerInfo.from_huggingface(fast)
    assert info.stop_token_ids == [fast.eos_token_id]
    assert info.special_token_ids == sorted({fast.eos_token_id, fast.pad_token_id})
    assert info.vocab_size == len(fast)
    tokenizer = load_tokenizer(fast)
    assert tokenizer.encode("alpha beta") == fast.encode("alpha beta")
    processor = SimpleNamespace(tokenizer=fast, image_processor=object())
    assert load_tokenizer(processor).encode("alpha beta") == fast.encode("alpha beta")
    assert TokenizerInfo.from_huggingface(processor).decoded_vocab == info.decoded_vocab
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=byte_fallback, eos_token="</s>", bos_token="<s>")
    info = TokenizerInfo.from_huggingface(fast)
    assert {info.decoded_vocab[i] for i in info.special_token_ids} == {b"<unk>", b"<s>", b"</s>"}


def test_transformers_around_sentencepiece(sentencepiece_model: bytes, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    backend = getattr(transformers, "SentencePieceBackend", None)
    if backend is None:
        pytest.skip("this version of transformers has no SentencePieceBackend")
    (tmp_path / "tokenizer.model").write_bytes(sentencepiece_model)
    slow = backend(vocab_file=str(tmp_path / "tokenizer.model"), eos_token="</s>", unk_token="<unk>")
    tokenizer = load_tokenizer(slow)
    assert tokenizer.info.stop_token_ids == [slow.eos_token_id]
    assert tokenizer.decode(tokenizer.encode(" alpha  ﬁ")) == " alpha  ﬁ"


def test_unknown_objects_are_refused() -> None:
    with pytest.raises(TokenizerError, match=r"builtins\.object cannot be read as bytes"):
        TokenizerInfo.from_huggingface(object())


def test_model_folder(byte_level: Any, tmp_path: Path) -> None:
    folder = tmp_path / "my-model"
    folder.mkdir()
    byte_level.save(str(folder / "tokenizer.json"))
    other = byte_level.token_to_id("alpha")
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": {"content": CONTROL}, "bos_token": None}))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [other]}))
    tokenizer = load_tokenizer(folder)
    assert tokenizer.name == "my-model"
    assert tokenizer.info.stop_token_ids == sorted([byte_level.token_to_id(CONTROL), other])
    assert load_tokenizer(str(folder / "tokenizer.json")).info.stop_token_ids == [byte_level.token_to_id(CONTROL)]


def test_name_in_the_local_cache(byte_level: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    repository = tmp_path / "models--someone--model"
    snapshot = repository / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0" * 40)
    byte_level.save(str(snapshot / "tokenizer.json"))
    tokenizer = load_tokenizer("someone/model")
    assert tokenizer.name == "someone/model"
    assert tokenizer.info == TokenizerInfo.from_huggingface(byte_level)
    with pytest.raises(TokenizerError, match="Nothing is downloaded"):
        load_tokenizer("someone/other")


def test_folder_of_transformers_without_tokenizer_json(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
    (tmp_path / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\n[PAD]\n[MASK]\na\n##b\n")
    with pytest.raises(TokenizerError, match="WordPiece"):
        load_tokenizer(tmp_path)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    broken = tmp_path / "tokenizer.json"
    broken.write_text("{")
    with pytest.raises(TokenizerError, match=r"tokenizer\.json is not JSON"):
        load_tokenizer(broken)
    broken.write_text("{}")
    with pytest.raises(TokenizerError, match=r"not a tokenizer\.json"):
        load_tokenizer(broken)
    broken.write_text('{"model": {"vocab": {"a": 0}}}')
    with pytest.raises(TokenizerError, match=r"not a tokenizer\.json"):
        load_tokenizer(broken)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ([], "no JSON object"),
        ({"model": {"vocab": {"a": "0"}}}, "token 'a' of the vocabulary has the id '0'"),
        ({"model": {"vocab": {"a": -1}}}, "has the id -1"),
        ({"model": {"vocab": {"a": 10**9}}}, "names id 1,000,000,000"),
        ({"model": {"vocab": 7}}, "neither an object nor a list"),
        ({"model": {"vocab": ["a"]}}, "entry 0 is 'a'"),
        # The library panics at a merge whose whole is no token, which is no Exception.
        ({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]}}, "is not a tokenizer.json: "),
        ({"added_tokens": [{"id": 1}]}, r"added_tokens\[0\] is"),
        ({"added_tokens": [{"content": "x"}]}, r"added_tokens\[0\] has the id None"),
        ({"added_tokens": [{"id": 10**9, "content": "x"}]}, "names id 1,000,000,000"),
        ({"added_tokens": {"a": 1}}, "added_tokens is"),
        ({"decoder": "ByteLevel"}, "a step of its decoder is 'ByteLevel'"),
        ({"decoder": {"type": "Sequence", "decoders": 3}}, "decoders is 3"),
    ],
)
def test_what_is_no_tokenizer_json_is_said(change: Any, reason: str, tmp_path: Path) -> None:
    document = {"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "added_tokens": [], "decoder": None}
    broken = tmp_path / "tokenizer.json"
    broken.write_text(json.dumps(change if isinstance(change, list) else {**document, **change}))
    with pytest.raises(TokenizerError, match=reason):
        load_tokenizer(broken)


def test_a_folder_without_its_vocabulary_is_refused(tmp_path: Path) -> None:
    """As a download that broke off leaves it: transformers makes an empty tokenizer of it."""
    pytest.importorskip("transformers")
    for kind in ("Qwen2Tokenizer", "LlamaTokenizer"):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind}))
        with pytest.raises(TokenizerError, match="no vocabulary; is the download complete"):
            load_tokenizer(tmp_path)
