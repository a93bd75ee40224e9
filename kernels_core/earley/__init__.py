"""Follow the text: `machine` is the Earley parser as a lazily built machine of interned items, frames and sets."""
