"""What a run leaves behind, drawn: `record` (what every run can do), `cockpit` (generations), `caches`, and `displays`,
which registers them."""
