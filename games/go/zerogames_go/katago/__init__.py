"""KataGo's nets: their files, their blocks and heads, and their names here."""
