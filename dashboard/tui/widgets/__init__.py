"""The few widgets: lines that stay, lines that scroll, one prompt. They show pages and know no telemetry."""
