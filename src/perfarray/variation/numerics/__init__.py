"""Components of variance and allocation of repetitions, on arrays."""
