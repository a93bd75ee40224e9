"""The pieces of the tests' vocabulary (ids 256 and up; below are the bytes) and the grammar they are read with."""

PIECES = ["true", "false", "null", '{"', '":', '",', ', "', "], [", "12", "00", '"}', "}}", "name", "na", "é", "日本"]
EOS = len(PIECES) + 256

GRAMMAR = r"""root ::= value
value ::= object | array | "true" | "false" | "null" | number | string
object ::= "{" (pair ("," " "? pair)*)? "}"
pair ::= string ":" value
array ::= "[" (value ("," " "? value)*)? "]"
number ::= "0" | [1-9] [0-9]*
string ::= "\"" [^"\\]* "\""
"""
