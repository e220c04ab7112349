"""`python -m graphmem`: the command `graphmem` of this Python."""

from graphmem.cli.main import main

if __name__ == "__main__":
    main()
