"""Names a source of events: unique per process, and free of user data.

A process id comes back after a while, so a random part keeps two processes with the same id apart; readers and the hub
tell events apart by (source, sequence).
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket

SOURCE_PATTERN = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")
"""What a source may look like; it becomes a part of a file name."""


def new_source() -> str:
    """`h<6 hex of the hashed host name>-<pid>-<6 random hex>`, e.g. `h3fa29c-4711-9c2e1d`."""
    host = hashlib.sha256(socket.gethostname().encode("utf-8", "surrogateescape")).hexdigest()[:6]
    return f"h{host}-{os.getpid()}-{secrets.token_hex(3)}"
