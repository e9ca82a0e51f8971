"""The page in the browser: play, analyse, runs (`zerogames web`)."""
