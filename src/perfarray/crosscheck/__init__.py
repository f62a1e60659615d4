"""The same comparison under every method of the package."""
