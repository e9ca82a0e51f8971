"""Workers that play games against themselves, in one process or as Ray actors."""
