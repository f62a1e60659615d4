"""`python -m perfarray` is the command line."""

from perfarray.cli import main

if __name__ == "__main__":
    main()
