"""One report about timings, and the code that computes it."""
