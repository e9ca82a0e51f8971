"""What every long command shares: run folders, locks, metrics logs, the live display, signals.

- `folder`: a run's folder, `run.json`, session numbers, and the paths of what a run writes;
- `lock`: one command at a time writes into a folder;
- `metrics_log`: lines of JSON and TensorBoard's events;
- `journal`: a file to which entries are appended durably;
- `game_files`: the finished games of a run, in shards and journals;
- `display`: the live display on a terminal, occasional lines elsewhere;
- `signals`: Ctrl-C and SIGTERM end a run in good order;
- `disk`: errors of the file system, a full disk above all, as one line for the user;
- `net_source`: from the text that names a net to the net.
"""
