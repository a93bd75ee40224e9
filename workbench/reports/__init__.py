"""What a run leaves behind, drawn: `cockpit` (generations), `caches`, `blame` (what took the probability), and
`displays`, which registers them.  `workbench/record.py` is what every run can do."""
