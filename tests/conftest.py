"""What holds for all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A measured speed fails no test: how long an example may take is bounded by the test's own time limit.
settings.register_profile("loopline", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("loopline")
