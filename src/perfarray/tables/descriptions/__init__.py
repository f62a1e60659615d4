"""Hardware and software texts to numbers and names."""
