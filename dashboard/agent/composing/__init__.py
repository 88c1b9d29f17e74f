"""What goes on in the composer: chips, completions, commands. Pure."""
