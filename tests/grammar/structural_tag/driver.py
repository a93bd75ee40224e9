"""Formats as short Python calls, and whether a text is one of a format's."""

from __future__ import annotations

from typing import Any

from kernels_core import Grammar, GrammarCompiler, GrammarMatcher, TokenizerInfo

Format = dict[str, Any]

# Ids 0..3 are text, 4..7 control tokens, 8 is the stop token, 9 has the text of 2.
VOCABULARY = [b"a", b"b", b"<", b"ab", b"<think>", b"</think>", b"<call>", b"</call>", b"<stop>", b"<"]
INFO = TokenizerInfo(VOCABULARY, stop_token_ids=[8], special_token_ids=[4, 5, 6, 7, 8])
ANY: Format = {"type": "any_text"}


def const(value: str) -> Format:
    return {"type": "const_string", "value": value}


def tag(begin: Any, content: Format, end: Any) -> Format:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def seq(*elements: Format) -> Format:
    return {"type": "sequence", "elements": list(elements)}


def token(name: int | str) -> Format:
    return {"type": "token", "token": name}


def whole(form: Format) -> Format:
    return {"type": "structural_tag", "format": form}


class Judge:
    """Answers for one format; texts are given as bytes, or as a list of token ids."""

    def __init__(self, form: Format) -> None:
        self.matcher = GrammarMatcher(GrammarCompiler(INFO).compile_structural_tag(whole(form)))

    def accepts(self, text: str | list[int]) -> bool:
        return self.reaches(text) and self.matcher.is_completed()

    def reaches(self, text: str | list[int]) -> bool:
        """Is it the beginning of a text?"""
        self.matcher.reset()
        if isinstance(text, str):
            return bool(self.matcher.accept_string(text))
        return all(self.matcher.accept_token(number) for number in text)


def check(form: Format, accepts: list[Any], rejects: list[Any]) -> None:
    judge = Judge(form)
    assert [text for text in accepts if not judge.accepts(text)] == []
    assert [text for text in rejects if judge.accepts(text)] == []
    # Printed as EBNF and read again it is the same grammar.
    grammar = Grammar.from_structural_tag(whole(form), tokenizer_info=INFO)
    assert Grammar.from_ebnf(str(grammar)) == grammar
