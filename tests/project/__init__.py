"""Tests of the project itself: its map, its hygiene, its chores."""
