"""The demo model's own tokenizer: byte-level BPE trained on the dialogues, with the chat's control tokens.

Byte-level means that every text has a spelling: the 256 bytes are always in the vocabulary.
Read on: `train.py`, which saves it beside the weights.
"""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from experiments.demo_model.dialogues import ASSISTANT, END, SPECIAL_TOKENS, USER, Dialogue

__all__ = ["CHAT_TEMPLATE", "train_tokenizer"]

# Jinja, as `transformers` reads it: the same text as `Dialogue.prompt` for a single user's turn.
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'user' %}" + USER + "{% elif message['role'] == 'assistant' %}" + ASSISTANT + "{% else %}"
    "{{ raise_exception('the demo model knows the roles user and assistant, not ' + message['role']) }}"
    "{% endif %}{{ message['content'] }}" + END + "{% endfor %}"
    "{% if add_generation_prompt %}" + ASSISTANT + "{% endif %}"
)


def train_tokenizer(corpus: Iterable[Dialogue], vocabulary: int) -> Tokenizer:
    """A `tokenizers.Tokenizer` of `vocabulary` ids; the control tokens come first (`<|pad|>` is 0)."""
    tokenizer = Tokenizer(models.BPE())
    # Digits stand alone, so that a number is copied digit by digit and never has to be in the vocabulary.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[AddedToken(token, special=True, normalized=False) for token in SPECIAL_TOKENS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((f"{d.request}\n{d.answer}" for d in corpus), trainer)
    if tokenizer.get_vocab_size() != vocabulary:
        raise ValueError(f"the corpus yields {tokenizer.get_vocab_size()} tokens, fewer than {vocabulary}")
    return tokenizer
