"""Players: threads that play games against themselves and write the records.

- `players`: the interface `Players`, and the job that players get;
- `worker`: players in this process; its `lane`s are threads with games and an evaluator each;
- `game_store`: keeps finished games on disk, journal first, shards after; a `game_chunk` is some of
  them on their way there, through an `outbox` if the disk is that of another process;
- `counts`: what was played; `seeds`: a seed for each part of a run.
"""
