"""`serve`: its options as typed, and who may use it."""
