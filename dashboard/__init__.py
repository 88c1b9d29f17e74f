"""The terminal and web dashboards that will read the telemetry journal."""
