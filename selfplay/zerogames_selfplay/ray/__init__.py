"""Players, learner and rater as Ray actors.

- `connection`: joins a cluster or starts a local Ray (`local_cluster`), which listens on loopback
  only (`processes`) and ends with the command (`guard`);
- `supervised_actor`: the restart policy of all actors;
- `players`, `learner`, `rater`: the actors, and their owners in the driver's process;
- `backend`: all of them together.
"""
