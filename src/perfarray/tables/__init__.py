"""From long tables to labelled arrays and back."""
