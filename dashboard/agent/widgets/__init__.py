"""Textual parts of the conversation."""
