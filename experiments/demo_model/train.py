"""Train the demo model: `python -m experiments.demo_model.train` (twenty minutes on one core, no GPU, no network).

Writes a folder that `transformers` and `workbench.generation.load_model` read like any other model: `config.json`,
`model.safetensors` (half precision), `tokenizer.json`, the chat template, and `recipe.json` with the fingerprint.
Without `--output` the folder is `weights/` beside this file, the one that ships with the project.
The data and the tokenizer are the same on every machine; the weights are the same for the same PyTorch build and
number of threads.  Read on: `recipe.py` (all numbers).
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from random import Random

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch.nn.utils.rnn import pad_sequence
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from experiments.demo_model import WEIGHTS_FOLDER
from experiments.demo_model.dialogues import ASSISTANT, END, PAD, SPECIAL_TOKENS, USER, Dialogue
from experiments.demo_model.recipe import Recipe

IGNORED = -100  # the label that cross entropy skips


# Jinja, as `transformers` reads it: the same text as `Dialogue.prompt` for a single user's turn.
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'user' %}" + USER + "{% elif message['role'] == 'assistant' %}" + ASSISTANT + "{% else %}"
    "{{ raise_exception('the demo model knows the roles user and assistant, not ' + message['role']) }}"
    "{% endif %}{{ message['content'] }}" + END + "{% endfor %}"
    "{% if add_generation_prompt %}" + ASSISTANT + "{% endif %}"
)


def train_tokenizer(corpus: Iterable[Dialogue], vocabulary: int) -> Tokenizer:
    """Byte-level BPE of `vocabulary` ids, so that every text has a spelling; the control tokens come first."""
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


def model_config(recipe: Recipe, tokenizer: Tokenizer) -> LlamaConfig:
    """The Llama configuration of the demo model."""
    return LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=recipe.hidden,
        intermediate_size=recipe.intermediate,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        num_key_value_heads=recipe.key_value_heads,
        max_position_embeddings=recipe.context,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.token_to_id(END),
        pad_token_id=tokenizer.token_to_id(PAD),
    )


def train(recipe: Recipe, output: Path) -> float:
    """Train by `recipe`, write the model to the folder `output`, and return the last steps' mean loss in nats."""
    console = Console()
    torch.set_num_threads(recipe.threads)
    torch.manual_seed(recipe.training_seed)
    corpus = recipe.corpus()
    tokenizer = train_tokenizer(corpus, recipe.vocabulary)
    examples = [_example(tokenizer, dialogue) for dialogue in corpus]
    model = LlamaForCausalLM(model_config(recipe, tokenizer))
    console.print(
        f"{len(corpus):,} dialogues, {sum(len(ids) for ids, _ in examples):,} tokens; "
        f"{model.num_parameters():,} parameters, {recipe.steps} steps"
    )
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=recipe.learning_rate, betas=(0.9, 0.98), weight_decay=recipe.weight_decay
    )
    columns = (
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.3f}"),
        TimeRemainingColumn(),
    )
    began, mean = time.perf_counter(), math.nan
    model.train()
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("training", total=recipe.steps, loss=math.nan)
        for step, (ids, labels) in zip(range(recipe.steps), _batches(examples, recipe), strict=False):
            for group in optimizer.param_groups:
                group["lr"] = recipe.learning_rate * _schedule(step, recipe)
            loss = model(input_ids=ids, labels=labels).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip_norm)
            optimizer.step()
            mean = loss.item() if math.isnan(mean) else 0.9 * mean + 0.1 * loss.item()
            progress.update(task, advance=1, loss=mean)
    seconds = time.perf_counter() - began
    _save(model, tokenizer, recipe, output)
    size = (output / "model.safetensors").stat().st_size
    console.print(
        f"loss {mean:.3f} nats a token after {seconds:.0f} s; wrote {output} ({size / 1e6:.1f} MB of weights)"
    )
    return mean


def _example(tokenizer: Tokenizer, dialogue: Dialogue) -> tuple[list[int], int]:
    """Token ids of the whole exchange, and the length of the prompt, which is read but not learnt."""
    prompt = tokenizer.encode(dialogue.prompt).ids
    return prompt + tokenizer.encode(dialogue.answer + END).ids, len(prompt)


def _batches(examples: list[tuple[list[int], int]], recipe: Recipe) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Endless batches (ids, labels), int64, shape (batch, longest).

    Examples of like length share a batch, so that little is padding; padding stands to the right, where causal
    attention never looks.
    """
    random = Random(recipe.training_seed)
    while True:
        order = sorted(range(len(examples)), key=lambda i: (len(examples[i][0]), random.random()))
        chunks = [order[i : i + recipe.batch] for i in range(0, len(order), recipe.batch)]
        random.shuffle(chunks)
        for chunk in chunks:
            chosen = [examples[i] for i in chunk]
            ids = [torch.tensor(tokens) for tokens, _ in chosen]
            labels = [torch.tensor([IGNORED] * prompt + tokens[prompt:]) for tokens, prompt in chosen]
            yield pad_sequence(ids, batch_first=True), pad_sequence(labels, batch_first=True, padding_value=IGNORED)


def _schedule(step: int, recipe: Recipe) -> float:
    """Share of the peak learning rate at `step`: linear warm-up, then half a cosine down to 2 %."""
    if step < recipe.warmup:
        return (step + 1) / recipe.warmup
    done = (step - recipe.warmup) / max(1, recipe.steps - recipe.warmup)
    return 0.02 + 0.98 * (1 + math.cos(math.pi * done)) / 2


def _save(model: LlamaForCausalLM, tokenizer: Tokenizer, recipe: Recipe, output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    end, pad = tokenizer.token_to_id(END), tokenizer.token_to_id(PAD)
    model.generation_config = GenerationConfig(do_sample=True, eos_token_id=end, pad_token_id=pad)
    model.half().save_pretrained(output)
    document = tokenizer.to_str(pretty=True)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        model_max_length=recipe.context,
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
    ).save_pretrained(output)
    # As trained: transformers adds an empty post-processor of its own.
    (output / "tokenizer.json").write_text(document, encoding="utf-8")
    _name_portable_class(output / "tokenizer_config.json")
    (output / "model.safetensors").chmod(0o644)  # safetensors writes it for its owner alone
    note = {"fingerprint": recipe.fingerprint(), "recipe": asdict(recipe)}
    (output / "recipe.json").write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")


def _name_portable_class(file: Path) -> None:
    """Name the tokenizer class that transformers 4 and 5 both know, whatever the version at hand wrote."""
    settings = json.loads(file.read_text(encoding="utf-8"))
    settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    file.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.demo_model.train", description="Train the demo model.")
    parser.add_argument("--output", type=Path, default=WEIGHTS_FOLDER, help="folder to write (default: %(default)s)")
    parser.add_argument("--steps", type=int, help="optimiser steps, in place of the recipe's")
    options = parser.parse_args(arguments)
    if options.steps is not None and options.steps < 1:
        parser.error("--steps must be at least 1")
    recipe = Recipe() if options.steps is None else replace(Recipe(), steps=options.steps)
    train(recipe, options.output)


if __name__ == "__main__":
    main()
