"""What the data is: the committed schema and the facts behind it."""
