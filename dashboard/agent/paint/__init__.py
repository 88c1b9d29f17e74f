"""Blocks to lines of spans: pure functions of a block, a width and whether it is open."""
