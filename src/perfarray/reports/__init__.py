"""One report about timings: what was measured, what changed, how sure that is, and the code that computes it."""
