"""Players: threads that play games against themselves and write the records."""
