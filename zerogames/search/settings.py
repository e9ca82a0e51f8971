"""Every setting of a search and of the games played with it, with unit and meaning.

The native core reads these dataclasses field by field (`zerogames/search_settings.hpp`).
"""

import dataclasses
from dataclasses import dataclass
from typing import Literal

from zerogames.errors import unknown_name


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """How one position is searched and its move chosen. Values are in [-1, 1]."""

    algorithm: Literal["puct", "gumbel"] = "puct"
    """PUCT as in AlphaZero, or the Gumbel root with sequential halving."""
    simulations: int = 800
    """Visits of the root's children per search; per full search with `full_share` below 1."""
    fast_simulations: int = 100
    """Visits of a fast search (playout-cap randomisation)."""
    full_share: float = 1.0
    """Probability of a full search in self-play; the others are fast, without exploration, and not
    learnt from. 1: all are full."""
    reuse_tree: bool = True
    """Keep the subtree of the played move. Gumbel searches and full searches among fast ones start
    afresh."""
    count_reused: bool = True
    """Visits inherited from the last search count towards `simulations`."""
    max_nodes: int = 4_000_000
    """A search ends when its tree has this many nodes (about 300 bytes each in chess)."""

    cpuct: float = 1.25
    """Exploration constant c of PUCT."""
    cpuct_base: float = 19652.0
    """Visits at which the growth of c sets in: c + factor * ln((visits + base) / base)."""
    cpuct_factor: float = 1.0
    """Growth of c; 0 keeps it constant."""
    cpuct_stdev_scale: float = 0.0
    """KataGo's dynamic c: how far c follows the spread of the values below a node; 0: off."""
    puct_visits: Literal["alphazero", "lc0", "katago"] = "alphazero"
    """Which visits enter the formula: the node's own evaluation counts in all terms (alphazero),
    only inside the logarithm (lc0), or not at all (katago)."""
    fpu: Literal["absolute", "reduction"] = "reduction"
    """Value of an unvisited move: `fpu_value` itself, or the parent's value less
    `fpu_value * sqrt(policy mass visited)`."""
    fpu_value: float = 0.2
    """See `fpu`."""
    root_fpu: Literal["absolute", "reduction"] = "reduction"
    """The same at the root."""
    root_fpu_value: float = 0.0
    """See `root_fpu`."""
    fpu_blend: bool = False
    """Reduction starts from a mix of the parent's mean and its net value (KataGo)."""
    draw_score: float = 0.0
    """Value of a draw for the side to move where the search was set up."""
    moves_left_effect: float = 0.0
    """Most that a shorter win or longer loss adds to a value (lc0: 0.0345); 0: off."""
    moves_left_slope: float = 0.0027
    """Added per ply of difference."""
    moves_left_threshold: float = 0.8
    """Only where the value is larger than this in either direction."""
    policy_temperature: float = 1.0
    """Softmax temperature of the net's policy at every node."""

    root_policy_temperature: float = 1.0
    """Flattens the root's policy before noise is added; in exploring searches only."""
    noise: Literal["none", "dirichlet", "shaped"] = "dirichlet"
    """Noise on the root's policy in exploring searches; `shaped` gives likely moves more of it."""
    noise_share: float = 0.25
    """Share of the noise in the root's policy."""
    noise_alpha_total: float = 10.83
    """Dirichlet alpha shared by all legal moves; per move kept within 0.03 and 1.5."""
    noise_alpha: float = 0.0
    """Dirichlet alpha per move, instead of a share of the total (chess 0.3, Go 0.03); 0: unused."""
    forced_playouts: float = 0.0
    """k of KataGo's forced playouts at the root, sqrt(k * prior * visits) each; 2, or 0: off."""
    prune_policy_target: bool = False
    """Take visits that only noise and forced playouts caused out of the policy target."""

    solver: bool = True
    """Back up proven wins, draws and losses; a proven root ends the search."""
    two_fold_draws: bool = False
    """Count a repetition inside the search as a draw, if the game tells repetitions."""
    early_stop: bool = False
    """Stop when the best move cannot change any more; biases the visits that are learnt from."""
    virtual_loss: float = 1.0
    """Lost visits pretended per descent in flight when one position is searched in batches."""
    collision_share: float = 0.25
    """Stop filling a batch after this share of its size in descents that met a waiting leaf."""

    temperature_schedule: Literal["step", "linear", "half-life"] = "step"
    """Of the played move. step: `temperature` for `temperature_plies`, then `temperature_final`.
    linear: from there down to zero over `temperature_decay_plies`, never below the final one.
    half-life: from first to final, halving the distance every `temperature_decay_plies`."""
    temperature: float = 1.0
    """At the first ply; moves are drawn in proportion to visits^(1/temperature). Gumbel search
    scales its noise by it instead."""
    temperature_final: float = 0.0
    """In the end; 0 plays the best move."""
    temperature_plies: int = 30
    """Plies at the first temperature (step, linear)."""
    temperature_decay_plies: float = 30.0
    """Length of the linear decay, or the half-life, in plies."""
    temperature_value_cutoff: float = 2.0
    """Moves whose value is lower than the best one's by more are never drawn."""
    lcb: bool = False
    """Choose by the lower confidence bound of the value instead of visits alone (KataGo)."""
    lcb_stdevs: float = 5.0
    """Standard deviations below the mean."""
    lcb_min_share: float = 0.15
    """Only moves with this share of the most visits may be raised."""

    gumbel_considered: int = 16
    """Most root actions that take part in sequential halving."""
    gumbel_scale: float = 1.0
    """Scale of the Gumbel noise in exploring searches, times the ply's temperature; 0: none."""
    gumbel_visit_offset: float = 50.0
    """c_visit of the paper."""
    gumbel_value_scale: float = 0.1
    """c_scale of the paper, for values rescaled to [0, 1]."""
    gumbel_rescale: bool = True
    """Rescale the completed values of a node to [0, 1]."""

    cache_mebibytes: int = 64
    """Memory of the evaluation cache, per search or pool; 0: off."""


@dataclass(frozen=True, kw_only=True)
class PoolSettings:
    """How self-play games are begun and ended."""

    parallel_games: int = 64
    """Games in step; the largest batch of leaves."""
    max_plies: int = 0
    """Games are adjudicated after this many plies; 0: no limit."""
    adjudicate_by_value: bool = False
    """At the limit the side that its last search saw ahead by more than 0.5 wins; else a draw."""
    random_plies_min: int = 0
    """Fewest random moves at the start."""
    random_plies_max: int = 0
    """Most random moves at the start; the number is drawn evenly."""
    policy_plies_mean: float = 0.0
    """Mean number of moves then drawn from the net's policy without search (exponential)."""
    policy_plies_temperature: float = 1.0
    """Temperature of those moves."""
    resign_value: float = -1.0
    """Resign when the search sees this value or less; -1: never."""
    resign_turns: int = 3
    """In so many own turns in a row."""
    resign_min_plies: int = 0
    """Not before this ply."""
    never_resign_share: float = 0.1
    """Share of games played to the end, which tell how often resigning would have been wrong."""


def _alphazero() -> SearchSettings:
    return SearchSettings()


def _gumbel() -> SearchSettings:
    return SearchSettings(algorithm="gumbel", simulations=32, noise="none", reuse_tree=False)


def _katago() -> SearchSettings:
    return SearchSettings(
        simulations=600,
        fast_simulations=100,
        full_share=0.25,
        cpuct=1.1,
        cpuct_base=500.0,
        cpuct_factor=0.0,
        puct_visits="katago",
        fpu_blend=True,
        root_policy_temperature=1.1,
        noise="shaped",
        forced_playouts=2.0,
        prune_policy_target=True,
        temperature_schedule="half-life",
        temperature=0.75,
        temperature_final=0.15,
        temperature_decay_plies=19.0,
        lcb=False,
    )


def _engine() -> SearchSettings:
    return SearchSettings(
        cpuct=1.745,
        cpuct_base=38739.0,
        cpuct_factor=3.894,
        puct_visits="lc0",
        fpu_value=0.33,
        root_fpu_value=0.33,  # lc0's root is like all nodes: not every move is worth a visit
        policy_temperature=1.359,
        noise="none",
        two_fold_draws=True,
        early_stop=True,
        temperature=0.0,
        cache_mebibytes=256,
    )


_PRESETS = {
    "alphazero": _alphazero,
    "gumbel": _gumbel,
    "katago": _katago,
    "engine": _engine,
}
SearchPreset = Literal["alphazero", "gumbel", "katago", "engine"]
"""Three ways to learn, and one to play: `engine` has lc0's constants and no exploration."""


def search_preset(name: str, **changes: object) -> SearchSettings:
    """The settings called `alphazero`, `gumbel`, `katago` or `engine`, with some fields changed."""
    if name not in _PRESETS:
        raise unknown_name("search preset", name, _PRESETS)
    known = [field.name for field in dataclasses.fields(SearchSettings)]
    for key in changes:
        if key not in known:
            raise unknown_name("search setting", key, known)
    return dataclasses.replace(_PRESETS[name](), **changes)  # type: ignore[arg-type]
