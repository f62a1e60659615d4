"""The command line."""

from perfarray.cli.app import main as main
