"""Ratings: the numbers are those of fastchess's test suite and of independent computation."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from zerogames.arena import (
    Outcome,
    Pentanomial,
    Sprt,
    Tally,
    Wdl,
    elo_of_score,
    estimate_elo,
    estimate_ratings,
    fit_bradley_terry,
    fit_davidson,
    score_of_elo,
    tally,
    win_rate,
)
from zerogames.arena.bradley_terry import direct_ratings
from zerogames.arena.plot import plot_ratings
from zerogames.arena.report import make_report
from zerogames.arena.results import Distribution
from zerogames.arena.sprt import SCALES, Scale
from zerogames.errors import UserError

PAIRS = Pentanomial(ll=10, ld=60, wl=100, dd=30, wd=80, ww=20)
THREE = [
    Tally("A", "B", Wdl(30, 20, 50)),
    Tally("A", "C", Wdl(10, 30, 60)),
    Tally("B", "C", Wdl(25, 40, 35)),
]
counts = st.integers(0, 200)
pentanomials = st.builds(Pentanomial, counts, counts, counts, counts, counts, counts)
wdls = st.builds(Wdl, counts, counts, counts)


def test_elo_of_pairs() -> None:
    estimate = estimate_elo(PAIRS)
    assert estimate.score == pytest.approx(0.533333, abs=1e-6)
    assert estimate.variance == pytest.approx(0.0530556, abs=1e-7)
    assert f"{estimate.elo:.2f} {estimate.elo_error:.2f}" == "23.20 18.21"
    assert f"{estimate.normalised:.2f} {estimate.normalised_error:.2f}" == "35.55 27.80"
    assert f"{100 * estimate.los:.2f}" == "99.39"


def test_elo_of_the_same_games_one_by_one() -> None:
    assert PAIRS.wdl == Wdl(220, 200, 180)
    estimate = estimate_elo(PAIRS.wdl)
    assert estimate.variance == pytest.approx(0.1655556, abs=1e-7)
    assert f"{estimate.elo:.2f} {estimate.elo_error:.2f}" == "23.20 22.76"
    assert f"{estimate.normalised:.2f} {estimate.normalised_error:.2f}" == "28.46 27.80"
    assert f"{100 * estimate.los:.2f}" == "97.76"


@pytest.mark.parametrize(
    ("results", "scale", "elo0", "elo1", "llr"),
    [
        (PAIRS, "logistic", 0, 10, "2.1012"),
        (PAIRS, "normalized", 0, 10, "1.5052"),
        (PAIRS.wdl, "logistic", 0, 10, "1.3550"),
        (PAIRS.wdl, "normalized", 0, 10, "1.1617"),
        (Pentanomial(365, 16618, 36029, 200, 16974, 390), "normalized", 0, 2, "2.25"),
        (Pentanomial(223, 9863, 20279, 1000, 10037, 246), "logistic", 0.5, 2.5, "-3.07"),
        (Wdl(21404, 40708, 21184), "logistic", 0.5, 2.5, "-1.57"),
    ],
)
def test_log_likelihood_ratio(
    results: Distribution, scale: Scale, elo0: float, elo1: float, llr: str
) -> None:
    digits = len(llr.partition(".")[2])
    assert f"{Sprt(elo0=elo0, elo1=elo1, scale=scale).llr(results):.{digits}f}" == llr


def test_the_ratio_is_near_its_normal_approximation() -> None:
    estimate, s0, s1 = estimate_elo(PAIRS), score_of_elo(0), score_of_elo(10)
    near = 300 * (s1 - s0) * (2 * estimate.score - s0 - s1) / (2 * estimate.variance)
    assert f"{near:.4f}" == "2.1265"
    assert Sprt(elo0=0, elo1=10, scale="logistic").llr(PAIRS) == pytest.approx(near, rel=0.02)


def test_bayesian_ratio_tests_the_score_its_model_expects() -> None:
    # drawelo of 220-200-180 by hand; then a bayesian test is a logistic one of the same scores.
    loss, win = 180 / 600, 220 / 600
    draw_elo = 200 * math.log10((1 - loss) / loss * (1 - win) / win)

    def elo_of_bayes(b: float) -> float:
        wins = 1 / (1 + 10 ** ((draw_elo - b) / 400))
        losses = 1 / (1 + 10 ** ((draw_elo + b) / 400))
        return elo_of_score(wins + (1 - wins - losses) / 2)

    logistic = Sprt(elo0=elo_of_bayes(0), elo1=elo_of_bayes(10), scale="logistic")
    bayesian = Sprt(elo0=0, elo1=10, scale="bayesian")
    assert bayesian.llr(PAIRS.wdl) == pytest.approx(logistic.llr(PAIRS.wdl))
    with pytest.raises(UserError, match="not pairs"):
        bayesian.llr(PAIRS)


def test_sprt_bounds_and_verdict() -> None:
    sprt = Sprt(elo0=0, elo1=10)
    assert [f"{bound:.3f}" for bound in sprt.bounds] == ["-2.944", "2.944"]
    assert sprt.verdict(PAIRS) is None
    assert sprt.verdict(PAIRS + PAIRS) == "H1"
    assert sprt.verdict(PAIRS.swapped + PAIRS.swapped) == "H0"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("elo0=5,elo1=0", "must be below"),
        ("elo0=0", "needs both"),
        ("elo0=0,elo1=x", "not a number"),
        ("elo0=0,elo1=5,alfa=0.1", "did you mean 'alpha'"),
        ("elo0=0,elo1=5,scale=normal", "did you mean 'normalized'"),
        ("elo0=0,elo1=5,alpha=0.6,beta=0.6", "less than 1"),
    ],
)
def test_mistakes_in_an_sprt_are_named(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Sprt.parse(text)


def test_sprt_is_read_from_text() -> None:
    assert Sprt.parse("elo0=-3, elo1=1, alpha=0.1, scale=logistic") == Sprt(
        elo0=-3, elo1=1, alpha=0.1, scale="logistic"
    )


def test_bradley_terry_of_three_players() -> None:
    fit = fit_bradley_terry(THREE, anchors={"A": 0}, prior_draws=0)
    assert [f"{elo:.2f}" for elo in fit.elo] == ["0.00", "97.47", "158.33"]
    assert [f"{v:.1f}" for v in np.sqrt(np.diag(fit.naive_covariance))] == ["0.0", "29.7", "30.6"]
    assert [f"{v:.1f}" for v in np.sqrt(np.diag(fit.covariance))] == ["0.0", "25.7", "24.0"]


def test_davidson() -> None:
    fit = fit_davidson(THREE, "A")
    assert [f"{elo:.1f}" for elo in fit.elo] == ["0.0", "145.0", "235.5"]
    assert [f"{error:.1f}" for error in fit.standard_error] == ["0.0", "36.8", "38.8"]
    assert f"{fit.nu:.4f}" == "0.9564"
    two = fit_davidson([Tally("X", "Y", PAIRS.wdl)], "Y")
    assert f"{two.elo[0]:.2f} {1.959964 * two.standard_error[0]:.2f}" == "34.86 34.22"
    assert f"{two.nu:.5f}" == "1.00504"
    assert two.elo[0] == pytest.approx(400 * math.log10(220 / 180))


def test_newton_agrees_with_the_plain_minorise_maximise_iteration() -> None:
    strength = np.ones(3)
    for _ in range(5000):
        wins, pull = np.zeros(3), np.zeros(3)
        for one in THREE:
            i, j = "ABC".index(one.a), "ABC".index(one.b)
            wins[[i, j]] += one.wdl.points, one.wdl.swapped.points
            pull[[i, j]] += one.wdl.games / (strength[i] + strength[j])
        strength = wins / pull
    elo = 400 * np.log10(strength / strength[0])
    fit = fit_bradley_terry(THREE, anchors={"A": 0}, prior_draws=0)
    np.testing.assert_allclose(fit.elo, elo, atol=1e-6)


def test_two_players_are_rated_as_by_elo() -> None:
    fit = fit_bradley_terry([Tally("X", "Y", PAIRS.wdl, PAIRS)], anchors={"Y": 0}, prior_draws=0)
    difference, error = fit.difference("X", "Y")
    estimate = estimate_elo(PAIRS)
    assert difference == pytest.approx(estimate.elo)
    # The sandwich is the delta method, the interval of two players the exact curve.
    assert 1.959964 * error == pytest.approx(estimate.elo_error, rel=1e-3)


def test_sandwich_errors_hold_in_simulation() -> None:
    rng = np.random.default_rng(1)
    true = {"A": 0.0, "B": 60.0, "C": -40.0}
    inside = trials = 0
    for _ in range(150):
        games = []
        for a, b in (("A", "B"), ("A", "C"), ("B", "C")):
            draw = 0.5
            win = score_of_elo(true[a] - true[b]) - draw / 2
            for _ in range(60):
                x = rng.random()
                games.append(Outcome(a, b, 1.0 if x < win else 0.0 if x < win + draw else -1.0))
        for rating in estimate_ratings(games, anchors={"A": 0}):
            if not rating.anchored:
                inside += abs(rating.elo - true[rating.name]) <= rating.error
                trials += 1
    assert 0.91 <= inside / trials <= 0.985


@given(wdls, wdls, wdls)
def test_ratings_are_finite_and_do_not_depend_on_who_is_named_first(a: Wdl, b: Wdl, c: Wdl) -> None:
    tallies = [Tally("A", "B", a), Tally("B", "C", b), Tally("A", "C", c)]
    fit = fit_bradley_terry(tallies)
    swapped = fit_bradley_terry([one.swapped for one in tallies])
    order = [swapped.names.index(name) for name in fit.names]
    assert np.isfinite(fit.elo).all()
    assert np.isfinite(fit.covariance).all()
    np.testing.assert_allclose(fit.elo, swapped.elo[order], atol=1e-5)
    assert abs(fit.elo.sum()) < 1e-6


def test_a_player_who_won_all_games_is_rated_with_a_wide_interval() -> None:
    ratings = estimate_ratings([Outcome("A", "B", 1.0)] * 10, anchors={"B": 1000})
    assert [rating.name for rating in ratings] == ["A", "B"]
    assert 1400 < ratings[0].elo < 1800
    assert ratings[0].error > 300
    assert ratings[1].elo == 1000
    assert ratings[1].error == 0


@pytest.mark.parametrize("scale", SCALES)
@given(data=st.data())
def test_swapping_players_negates(scale: Scale, data: st.DataObject) -> None:
    results = data.draw(wdls if scale == "bayesian" else st.one_of(wdls, pentanomials))
    one, other = estimate_elo(results), estimate_elo(results.swapped)
    for a, b in ((one.elo, other.elo), (one.normalised, other.normalised)):
        assert a == pytest.approx(-b, nan_ok=True, abs=1e-9)
    assert one.los == pytest.approx(1 - other.los, abs=1e-9)
    assert one.elo_error == pytest.approx(other.elo_error)
    llr = Sprt(elo0=-3, elo1=11, scale=scale).llr(results)
    mirrored = Sprt(elo0=-11, elo1=3, scale=scale).llr(results.swapped)
    assert llr == pytest.approx(-mirrored, abs=1e-6, rel=1e-6)
    assert math.isfinite(llr)


DEGENERATE: list[Distribution] = [
    Wdl(),
    Wdl(1, 0, 0),
    Wdl(0, 1, 0),
    Wdl(0, 0, 1),
    Wdl(50, 0, 0),
    Wdl(0, 50, 0),
    Wdl(0, 0, 50),
    Pentanomial(),
    Pentanomial(ww=1),
    Pentanomial(ll=20),
    Pentanomial(dd=20),
    Pentanomial(wl=20),
]


@pytest.mark.parametrize("results", DEGENERATE)
def test_degenerate_counts_do_not_raise(results: Distribution) -> None:
    estimate = estimate_elo(results)
    assert estimate.elo_error == math.inf
    assert 0 <= estimate.los <= 1
    for scale in SCALES:
        if scale != "bayesian" or isinstance(results, Wdl):
            for elos in ((0, 10), (-10, 0), (-600, 600)):
                sprt = Sprt(elo0=elos[0], elo1=elos[1], scale=scale)
                assert math.isfinite(sprt.llr(results))


@given(st.floats(-2000, 2000))
def test_elo_and_score_are_inverse(elo: float) -> None:
    assert elo_of_score(score_of_elo(elo)) == pytest.approx(elo, abs=1e-3)


def test_games_are_counted_by_pairing_and_pair() -> None:
    games = [
        Outcome("A", "B", 1.0, pair=0),
        Outcome("B", "A", 1.0, pair=0),
        Outcome("A", "B", 0.0, pair=1),
        Outcome("C", "A", -1.0, pair=0),
        Outcome("B", "A", -1.0, pair=1),
        Outcome("A", "B", -1.0, pair=2),
        Outcome("B", "A", 0.0),
    ]
    ab, ca = tally(games)
    assert (ab.a, ab.b, ab.wdl) == ("A", "B", Wdl(2, 2, 2))
    assert ab.pairs == Pentanomial(wl=1, wd=1)
    assert ab.single == Wdl(0, 1, 1)
    assert (ca.a, ca.b, ca.wdl, ca.pairs.pairs) == ("C", "A", Wdl(0, 0, 1), 0)
    assert ab.swapped.wdl == Wdl(2, 2, 2)


@given(st.lists(st.tuples(st.sampled_from([1.0, 0.0, -1.0]), st.sampled_from([1.0, 0.0, -1.0]))))
def test_pairs_count_the_same_games(results: list[tuple[float, float]]) -> None:
    games = []
    for pair, (first, second) in enumerate(results):
        games += [Outcome("A", "B", first, pair), Outcome("B", "A", second, pair)]
    for one in tally(games):
        assert one.pairs.pairs == len(results)
        assert one.pairs.wdl == one.wdl
        assert one.single.games == 0
        halves = [1 + (first - second) / 2 for first, second in results]
        assert one.pairs.counts == tuple(halves.count(points / 2) for points in range(5))


def test_win_rate_with_sigma() -> None:
    assert str(win_rate(Tally("A", "B", Wdl(73, 0, 27)))) == "73.00 % (4.44 %)"
    assert math.isnan(win_rate(Tally("A", "B")).sigma)


def test_direct_ratings_use_games_against_the_reference_only() -> None:
    ratings = {rating.name: rating for rating in direct_ratings(THREE, "A", 2000)}
    assert ratings["B"].elo == pytest.approx(2000 + elo_of_score(0.6))
    assert ratings["C"].elo == pytest.approx(2000 + elo_of_score(0.75))
    assert ratings["A"].elo == 2000
    with pytest.raises(UserError, match="unknown reference player 'D'"):
        direct_ratings(THREE, "D")


def test_report_in_every_form(tmp_path: Path) -> None:
    games = []
    for one in THREE:
        for result, count in ((1.0, one.wdl.wins), (0.0, one.wdl.draws), (-1.0, one.wdl.losses)):
            games += [Outcome(one.a, one.b, result)] * int(count)
    games += [Outcome("D|x", "A", -1.0)] * 3
    report = dataclasses.replace(
        make_report(games, title="Four players", anchors={"A": 1500}),
        conditions={"nodes": "100"},
        faults={"D|x": {"time forfeit": 2}},
        sprt=Sprt(elo0=0, elo1=10),
    )
    markdown = report.markdown()
    assert "| C | 1 | +16" in markdown
    assert "D\\|x" in markdown
    assert "2 x time forfeit" in markdown
    assert "50/100" not in markdown
    assert "40/100" in markdown  # A's points against B
    data = json.loads(report.json())
    assert [rating["name"] for rating in data["ratings"]] == ["C", "B", "A", "D|x"]
    assert data["pairings"][-1]["elo"]["elo_error"] is None
    assert data["sprt"]["llr"] < -0.5
    assert data["sprt"]["verdict"] is None
    console = Console(width=160, record=True, quiet=True)
    report.print(console)
    plot_ratings(report.ratings, tmp_path / "ratings.png", title=report.title, scale=report.scale)
    assert (tmp_path / "ratings.png").read_bytes().startswith(b"\x89PNG")


def test_a_report_without_games_is_possible(tmp_path: Path) -> None:
    report = make_report([], title="nothing yet")
    json.loads(report.json())
    assert report.markdown()
    plot_ratings(report.ratings, tmp_path / "ratings.png", title=report.title)


def test_pairings_are_seen_by_the_player_named_first() -> None:
    games = [Outcome("B", "A", 1.0), Outcome("C", "A", -1.0), Outcome("B", "C", 1.0)]
    report = make_report(games, title="", order=["A", "B", "C"])
    assert [(one.a, one.b, str(one.wdl)) for one in report.tallies] == [
        ("A", "B", "0-0-1"),
        ("A", "C", "1-0-0"),
        ("B", "C", "1-0-0"),
    ]
