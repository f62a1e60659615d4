"""Files of SPEC CPU."""
