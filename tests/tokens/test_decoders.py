"""The bytes of every token are those that the library's own decoder writes, in vocabularies of every kind.

Read on: `kernels_core/tokens/tokenizers_json.py`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernels_core.errors import TokenizerError
from kernels_core.tokens import TokenizerInfo
from workbench.tokenizers import load_tokenizer

TEXTS = [
    "The quick brown fox, naïve café, Straße",
    "Быстрая лиса; γρήγορη αλεπού; სწრაფი მელა",
    "日本語のテキスト 汉字 한국어",
    "العربية עברית فارسی",
    "हिन्दी தமிழ் ภาษาไทย አማርኛ",
    "👩‍👩‍👧 🇸🇪 é e\u0301 😀😀",
    'def f(x):\n\tif x > 0:\n        return {"a": [1, 2.5e-3, None]}\r\n',
    "a  b   c    d" + 31 * " " + "e\n\n\n\t\t\tf",
    "▁▁ <0x0A> <|x|> </s> <s>",
]
WRITTEN = ["▁▁", "▁▁▁", "<0x0A>", "▁a▁", "<b>日"]  # added tokens


def added(tokenizer: Any) -> Any:
    """The tokenizer with added tokens whose spellings a decoder might read in another way."""
    lib = pytest.importorskip("tokenizers")
    copy = type(tokenizer).from_str(tokenizer.to_str())
    copy.add_tokens([lib.AddedToken(text, normalized=False) for text in WRITTEN])
    return copy


def check(info: TokenizerInfo, decode: Callable[[list[int]], str], encode: Callable[[str], list[int]]) -> None:
    """Each token between two others, random runs of tokens, and texts as the library cuts them."""
    pick = random.Random(5)
    anchor = encode("a")[-1]
    spellable = [i for i, text in enumerate(info.decoded_vocab) if text and whole(text)]
    runs = [[i] for i in spellable] + [pick.choices(spellable, k=9) for _ in range(200)] + [encode(t) for t in TEXTS]
    for run in runs:
        run = [anchor, *run, anchor]
        joined = b"".join(info.decoded_vocab[i] for i in run)
        if whole(joined):
            assert decode(run).lstrip(" ") == joined.decode().lstrip(" "), [info.decoded_vocab[i] for i in run]


def whole(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def check_tokenizers(tokenizer: Any) -> TokenizerInfo:
    info = TokenizerInfo.from_huggingface(tokenizer)
    check(
        info,
        lambda ids: str(tokenizer.decode(ids, skip_special_tokens=False)),
        lambda text: list(tokenizer.encode(text, add_special_tokens=False).ids),
    )
    return info


@pytest.mark.report(
    "ggml-org/llama.cpp#8228, google-ai-edge/LiteRT-LM#3510",
    "An added token of several U+2581 stands for the blanks that the decoder writes.",
)
@pytest.mark.parametrize("kind", ["byte_fallback", "unigram", "byte_level"])
def test_added_tokens_are_what_the_decoder_writes(request: pytest.FixtureRequest, kind: str) -> None:
    tokenizer = added(request.getfixturevalue(kind))
    info = check_tokenizers(tokenizer)
    blanks = "▁▁".encode() if kind == "byte_level" else b"  "
    assert info.decoded_vocab[tokenizer.token_to_id("▁▁")] == blanks
    again = load_tokenizer(tokenizer)
    for text in ["alpha  beta"] if kind == "unigram" else TEXTS:  # unigram lacks letters of the others
        assert again.decode(again.encode(text)) == text


def test_an_added_token_of_a_byte_level_vocabulary_is_its_text(byte_level: Any) -> None:
    """The library's decoder takes é for the byte E9 and writes half a character; its encoder reads é as this token."""
    tokenizer = type(byte_level).from_str(byte_level.to_str())
    tokenizer.add_tokens(["<é>"])
    info = TokenizerInfo.from_huggingface(tokenizer)
    assert info.decoded_vocab[tokenizer.token_to_id("<é>")] == "<é>".encode()


@pytest.mark.parametrize("left_out", ["Replace", "ByteFallback"])
def test_a_decoder_without_a_step_leaves_its_spelling(byte_fallback: Any, left_out: str) -> None:
    document = json.loads(added(byte_fallback).to_str())
    document["decoder"]["decoders"] = [d for d in document["decoder"]["decoders"] if d["type"] != left_out]
    document["model"]["byte_fallback"] = left_out != "ByteFallback"
    tokenizer = type(byte_fallback).from_str(json.dumps(document))
    info = check_tokenizers(tokenizer)
    assert (info.decoded_vocab[tokenizer.token_to_id("▁▁")] == "▁▁".encode()) == (left_out == "Replace")
    assert (info.decoded_vocab[tokenizer.token_to_id("<0x0A>")] == b"<0x0A>") == (left_out == "ByteFallback")


@pytest.mark.parametrize(
    ("order", "reason"),
    [([0, 1, 3], "Strip"), ([0, 1, 3, 2], "Strip"), ([0, 2, 1], "ByteFallback"), ([2, 1, 0, 3], "ByteFallback")],
)
def test_a_step_on_the_wrong_side_of_fuse_is_refused(byte_fallback: Any, order: list[int], reason: str) -> None:
    document = json.loads(byte_fallback.to_str())
    document["decoder"]["decoders"] = [document["decoder"]["decoders"][at] for at in order]
    with pytest.raises(TokenizerError, match=f"decoder {reason} "):
        TokenizerInfo.from_huggingface(type(byte_fallback).from_str(json.dumps(document)))


@pytest.mark.parametrize("kind", ["byte_fallback", "byte_level"])
def test_added_tokens_of_transformers(request: pytest.FixtureRequest, kind: str) -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = added(request.getfixturevalue(kind))
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    assert TokenizerInfo.from_huggingface(fast).decoded_vocab == TokenizerInfo.from_huggingface(tokenizer).decoded_vocab


@pytest.mark.data
def test_every_token_of_real_vocabularies(data_dir: Path) -> None:
    lib = pytest.importorskip("tokenizers")
    folder = data_dir / "tokenizers"
    files = [*folder.glob("*.tiktoken"), *folder.glob("**/tokenizer.json")]
    if not files:
        pytest.skip(f"no vocabulary in {folder}")
    for file in files:
        if file.suffix == ".json":
            check_tokenizers(lib.Tokenizer.from_file(str(file)))
        else:
            tokenizer = load_tokenizer(file)
            library: Any = tokenizer.library_object
            check(tokenizer.info, library.decode, lambda text: list(library.encode(text, disallowed_special=())))  # noqa: B023


def test_every_token_of_the_sentencepiece_models_of_mistral() -> None:
    lib = pytest.importorskip("sentencepiece")
    mistral = pytest.importorskip("mistral_common")
    files = sorted((Path(mistral.__file__).parent / "data").glob("*.model*"))
    if not files:
        pytest.skip("this version of mistral-common holds no sentencepiece model")
    processor = lib.SentencePieceProcessor(model_file=str(files[-1]))
    info = TokenizerInfo.from_huggingface(processor)
    plain = set(range(info.vocab_size)) - set(info.special_token_ids)
    kept = TokenizerInfo(
        [text if i in plain else b"" for i, text in enumerate(info.decoded_vocab)], stop_token_ids=info.stop_token_ids
    )
    check(kept, processor.decode, processor.encode)
