"""Can the data be trusted: normality."""
