r"""Lark, in the dialect of constrained decoding: rules over terminals, terminals over characters.

What a grammar means here:

- Names in lower case are **rules** (context-free, any recursion), in upper case **terminals**: regular languages, which
  may be combined with `&` (both) and `~` (all texts but these), and may not call themselves.  A string, a range or a
  regular expression inside a rule is a terminal without a name.
- There is no lexer, but for lazy rules: where one may begin, no other terminal holds its end (`competing.py`).
  A terminal matches every text of its regular language, and the whole is the set of texts that the rules derive;
  nothing is cut greedily, and no terminal wins over another.  So `/[a-z]+/ "b"` matches `ab`, which a
  longest-match lexer loses.  Where shortest or longest match is wanted, it is written: `name[lazy]: /.*;/` holds the
  texts of the pattern of which no proper beginning is one, `name[suffix=";"]: /.*/` is the same, and
  `WORD: /[a-z]+/ & ~KEYWORD` excludes keywords.  `name[max_chars=80]: ...` bounds the characters.
- `%ignore X` allows texts of X between any two terminals, also of different rules; never in front of the first (unless
  `%llguidance {"allow_initial_skip": true}` says so), and behind the last only with `trailing_skip`.  It says nothing
  about the inside of terminals, so two names side by side may touch.
- Regular expressions are those of `regular/reader.py` (`\d` and `\w` are ASCII), matched as a whole, with flags i, m
  and s.  Assertions see the whole terminal and nothing around it.  `~` is the complement among all texts of characters,
  line ends included.
- `<[12]>`, `<[1-5,9]>`, `<[^7]>`, `<[*]>` are tokens by id, `<name>` and `<|name|>` any token with that text
  (where some of several are control tokens, one of those).  Free text in front of one, or beside it, does not hold
  that token's text (`competing.py`).

Also: `| ( ) [ ] ? * + {m,n} ~n ~m..n`, `-> alias` (which says nothing about texts), `"text"i`, `"a".."z"`,
`%import common.X`, `%json {schema}`, `%regex {"substring_words": "..."}` (or `_chars`, `_chunks`), `%lark { ... }` with
rules of its own, `@name` for another grammar, the notes `name[capture, temperature=0.5]`, and `stop="text"`, which is
a `suffix` that captures of rules around it leave out, too, with `stop_capture="name"`.

Templates (`sep{x, s}: x (s x)*`), imports from texts of the caller's, `%extend`, `%override`, and `%declare` of what
the caller supplies as a grammar.  Priorities are read, remarked on, and refused where a lexer would keep texts out of
another terminal by them (`priorities.py`).

Parametric rules (`name::_: ... %if bit_clear(0)`) are written out for the numbers that the start rule reaches
(`parametric.py`).

Refused by name: declared names that are not supplied, and other options of `%llguidance` (also written
`%grammar_options`).

In reading order: `syntax` (the tree), `lexer` and `parser` (text to tree), `modules`, `templates` and `parametric`
(many texts to one tree), `lower` with `terminals`, `beyond`, `priorities`, `places`, `competing`, `common` and
`skipping` (tree to IR).
"""

from .lower import parse_lark

__all__ = ["parse_lark"]
