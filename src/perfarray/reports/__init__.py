"""One page about an archive: what was measured, what changed, how sure that is, and the code that says so."""
