"""A command whose processes resist: for tests of cancelling."""

from __future__ import annotations

from pathlib import Path

TREE = """
import os, signal, sys, time

def live(name):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with open(sys.argv[1] + "." + name, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(600)

if os.fork() == 0:
    live("child")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.close(0)
        live("twice forked, in a session of its own")
    os._exit(0)
if os.fork() == 0:
    os.setpgid(0, 0)
    live("in a group of its own")
live("first")
"""
"""A command that ignores SIGTERM, as do a child, one in another group, and one that forked twice into a session of its
own."""

MEMBERS = 4


def pids(folder: Path) -> list[int]:
    return [int(text) for path in folder.glob("pid.*") if (text := path.read_text())]
