"""Players, learner and rater as Ray actors."""
