"""Pictures of suites."""
