"""What answers look like to people: a declaration for each kind of result, its table, its picture and its curves; words and units."""
