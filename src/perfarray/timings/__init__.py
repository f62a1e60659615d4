"""What a timings object is: metric and nest, marks, pairs, units, notes, options, chance."""
