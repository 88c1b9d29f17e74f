"""What the panels say, as lines of spans: pure functions of the state, the width and the instant. No Textual here."""
