"""`python -m agent_core` is `loopline`."""

from agent_core.cli import main

if __name__ == "__main__":
    main()
