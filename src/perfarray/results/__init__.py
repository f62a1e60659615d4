"""How results are shown to people: declarations, tables, curves, sentences, words."""
