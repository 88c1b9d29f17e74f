"""What the command line does with sessions that are kept."""
