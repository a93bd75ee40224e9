"""What may come next, by meaning: continuations, refusals and their reasons.

`continuations` explores the parser, `rejections` says where each refused token dies; `next_tokens`, `refusals` and
`why` put them together for a person: they are what `session.inspect.next()`, `.refusals()` and `.why(what)` return.
`tooltip` is a quick `why` for the pointer.
"""
