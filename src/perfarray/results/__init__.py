"""How results are shown to people: one declaration for each kind, its table, picture, curves and sentences; words and units."""
