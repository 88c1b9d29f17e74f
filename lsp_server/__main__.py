"""`python -m lsp_server` is `loopline lsp`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from agent_core.errors import LooplineError
from lsp_server.command import lsp_command


def main() -> int:
    parser = argparse.ArgumentParser(prog="loopline lsp")
    parser.add_argument("--stdio", action="store_true")
    parser.add_argument("--tcp", metavar="HOST:PORT")
    parser.add_argument("--ws", metavar="HOST:PORT")
    parser.add_argument("--ready-file", type=Path, metavar="F")
    options = parser.parse_args()
    try:
        return lsp_command(stdio=options.stdio, tcp=options.tcp, ws=options.ws, ready_file=options.ready_file)
    except LooplineError as error:
        sys.stderr.write(f"loopline: {error.message}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
