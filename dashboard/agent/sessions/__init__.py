"""The way to sessions: which there are, how one is opened, what the person typed in them before."""
