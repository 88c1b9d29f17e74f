"""Loopline's agent, its Responses service, its telemetry and its command line."""

__version__ = "0.1.0"
