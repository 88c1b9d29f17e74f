"""The screens: the main one, and what is laid over it."""
