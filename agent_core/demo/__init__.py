"""The sample project of the demo (`sample/`, plain data) and what is done with a copy of it."""
