"""Swapping two files in one step, where the system can (Linux's renameat2)."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
from typing import Any

_RENAME_EXCHANGE = 2
_UNABLE = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM})


def exchange(folder: int, one: str, two: str) -> bool:
    """Swap two names in an open folder. False if system or file system can't; OSError if a name is gone."""
    rename = _renameat2()
    if rename is None:
        return False
    if rename(folder, os.fsencode(one), folder, os.fsencode(two), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNABLE:
        return False
    raise OSError(number, os.strerror(number))


@functools.cache
def _renameat2() -> Any:
    try:
        found = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    found.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return found
