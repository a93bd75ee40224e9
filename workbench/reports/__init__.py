"""What a run leaves behind, drawn: `record` (what every run can do), `cockpit` (generations), `caches`, `token_strip`,
and `displays`, which registers them."""
