"""The loop of training: self-play, rounds of training, gate matches and ratings.

- `driver`: the loop itself, in turns or all at once;
- `run_state`: a run as the driver sees it; `status` and `display` show it, `metrics` logs it;
- `learner`: the interface `Learner`; `local_learner` is the one of this process;
- `rater`: the interface `Rater` and the one of this process; `rating` says who meets whom and what
  the results mean, `rating_matches` plays;
- `backend`: learner, rater and players of one process.
"""
