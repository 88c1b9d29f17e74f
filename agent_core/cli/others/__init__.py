"""What the command line does for agents of others: their set-up, and their logs."""
