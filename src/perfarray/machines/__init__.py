"""Which hardware explains it: tables of machines, regressions, principal components."""
