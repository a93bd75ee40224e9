"""What may be said: every input language becomes one `Grammar`, whose rules are the plain data of `ir.py`.

In reading order: `ir` (the nodes), `charset` and `nodes` (their normal form), `ebnf` with `lexer`, `escapes`, `macros`,
`substring`, `attributes` and `names`, `regex`, `analysis`, `printer`, `rulebook`, `grammar`; then the packages
`regular`, `lark`, `json_schema`, `structural_tag` and `templates`.
"""

from .grammar import Grammar

__all__ = ["Grammar"]
