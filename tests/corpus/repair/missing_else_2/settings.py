"""Settings from text with defaults."""

DEFAULTS = {"color": "auto", "width": "80", "debug": "off"}


def parse(text):
    """`key = value` lines; comments start with #."""
    values = dict(DEFAULTS)
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if not line:
            continue
        key, _, value = line.partition("=")
        values[key.strip()] = value.strip()


def as_bool(text):
    lowered = text.lower()
    if lowered in ("on", "yes", "true", "1"):
        return True
    if lowered in ("off", "no", "false", "0"):
        return False
    raise ValueError(f"not a truth value: {text}")
