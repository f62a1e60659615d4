"""`python -m perfarray` is the command line."""

from perfarray.cli.app import main

if __name__ == "__main__":
    main()
