"""Puts the project on the import path."""
