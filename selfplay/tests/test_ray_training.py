"""On a cluster players, learner and rater work at once."""

from pathlib import Path

import pytest
from small_runs import check_sums, tiny, train
from zerogames_selfplay.loop.settings import GateSettings, RatingSettings

from zerogames.runs.metrics_log import read_lines

ray = pytest.importorskip("ray")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.xdist_group("ray")
def test_players_learner_and_rater_work_at_once_and_the_sums_add_up(tmp_path: Path) -> None:
    ray.shutdown()
    ray.init(
        "local", num_cpus=3, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
    )
    try:
        settings = tiny(
            tmp_path,
            workers=1,
            ray_address="auto",
            generations=2,
            gate=GateSettings(pairs=1, visits=2, score=0.0),
            rating=RatingSettings(share=0.5, visits=2, pairs=1, anchors=("random",), perfect=False),
        )
        printed = train(settings)
    finally:
        ray.shutdown()
    assert "generation 2" in printed
    assert "plays from now on" in printed
    check_sums(tmp_path, settings)
    assert read_lines(tmp_path / "ratings.jsonl")
