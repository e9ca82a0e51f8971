"""A training run as one HTML page: curves and games (`zerogames report RUN`)."""
