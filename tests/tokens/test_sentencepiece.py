"""SentencePiece models."""

from pathlib import Path
from typing import Any

import pytest

from kernels_core.errors import TokenizerError
from kernels_core.tokens import TokenizerInfo
from workbench.tokenizers import load_tokenizer


def test_kinds_of_pieces(sentencepiece: Any) -> None:
    info = TokenizerInfo.from_huggingface(sentencepiece)
    named = {sentencepiece.id_to_piece(i) for i in info.special_token_ids}
    assert named == {"<unk>", "<s>", "</s>", "<ctl>"}
    assert info.stop_token_ids == [sentencepiece.eos_id()]
    assert info.decoded_vocab[sentencepiece.piece_to_id("<tool>")] == b"<tool>"
    assert info.decoded_vocab[sentencepiece.piece_to_id("<0x0A>")] == b"\n"


def test_exact_where_the_library_normalises(sentencepiece: Any) -> None:
    tokenizer = load_tokenizer(sentencepiece)
    text = "  alpha  ﬁ\n"
    assert sentencepiece.decode(sentencepiece.encode(text)) != text
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.encode_prompt("alpha") == [sentencepiece.bos_id(), *sentencepiece.encode("alpha")]


def test_model_file(sentencepiece_model: bytes, sentencepiece: Any, tmp_path: Path) -> None:
    path = tmp_path / "small.model"
    path.write_bytes(sentencepiece_model)
    tokenizer = load_tokenizer(path)
    assert tokenizer.info == TokenizerInfo.from_huggingface(sentencepiece)
    assert tokenizer.name == "small.model"
    (tmp_path / "tokenizer.model").write_bytes(sentencepiece_model)
    assert load_tokenizer(tmp_path).info == tokenizer.info


def test_damaged_model(tmp_path: Path) -> None:
    path = tmp_path / "broken.model"
    path.write_bytes(b"\x00\x01 nothing of the kind")
    with pytest.raises(TokenizerError, match=r"broken\.model is not a SentencePiece model"):
        load_tokenizer(path)


def test_empty_processor() -> None:
    library = pytest.importorskip("sentencepiece")
    with pytest.raises(TokenizerError, match="no model"):
        load_tokenizer(library.SentencePieceProcessor())


def test_pieces_that_look_like_bytes_are_text(corpus: list[str]) -> None:
    library = pytest.importorskip("sentencepiece")
    import io

    model = io.BytesIO()
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus),
        model_writer=model,
        vocab_size=90,
        model_type="bpe",
        user_defined_symbols=["<0x41>"],
        minloglevel=2,
    )
    processor = library.SentencePieceProcessor(model_proto=model.getvalue())
    info = TokenizerInfo.from_huggingface(processor)
    assert info.decoded_vocab[processor.piece_to_id("<0x41>")] == b"<0x41>"
