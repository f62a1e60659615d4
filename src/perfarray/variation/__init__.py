"""Where the variation comes from, and how many repetitions it takes."""
