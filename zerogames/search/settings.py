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
    """The search: PUCT as in AlphaZero, or Gumbel AlphaZero with sequential halving at the root."""
    simulations: int = 800
    """Visits of the root's children in a search; in a full search where `full_share` is below 1."""
    fast_simulations: int = 100
    """Visits of the root's children in a fast search (playout cap randomisation)."""
    full_share: float = 1.0
    """Probability from 0 to 1 that a self-play search is full. The others are fast, without
    exploration, and their policy is not learnt. At 1 all are full."""
    reuse_tree: bool = True
    """Whether the subtree of the played move is kept for the next search. Gumbel searches, and full
    searches where `full_share` is below 1, begin with an empty tree."""
    count_reused: bool = True
    """Whether visits kept from the last search count towards `simulations`."""
    max_nodes: int = 4_000_000
    """Nodes at which a search ends; a node takes about 300 bytes in chess."""

    cpuct: float = 1.25
    """The exploration constant c of PUCT."""
    cpuct_base: float = 19652.0
    """Visits at which c begins to grow: c + cpuct_factor * ln((visits + cpuct_base) /
    cpuct_base)."""
    cpuct_factor: float = 1.0
    """How fast c grows with the visits; 0 keeps it constant."""
    cpuct_stdev_scale: float = 0.0
    """KataGo's dynamic cpuct: how far c follows the standard deviation of the values below a node;
    0 turns it off."""
    puct_visits: Literal["alphazero", "lc0", "katago"] = "alphazero"
    """Which visits enter the formula: the node's own evaluation counts in all terms (alphazero),
    only inside the logarithm (lc0), or not at all (katago)."""
    fpu: Literal["absolute", "reduction"] = "reduction"
    """First-play urgency, the value of an unvisited move: `fpu_value` itself (absolute), or the
    parent's value less `fpu_value * sqrt(policy mass visited)` (reduction)."""
    fpu_value: float = 0.2
    """The value or the reduction of first-play urgency, see `fpu`."""
    root_fpu: Literal["absolute", "reduction"] = "reduction"
    """First-play urgency at the root, see `fpu`."""
    root_fpu_value: float = 0.0
    """The value or the reduction of first-play urgency at the root."""
    fpu_blend: bool = False
    """Whether the reduction starts from a mix of the parent's mean and its net value (KataGo)."""
    draw_score: float = 0.0
    """Value of a draw for the side to move where the search was set up, from -1 to 1."""
    moves_left_effect: float = 0.0
    """The most that a shorter win or a longer loss adds to a value (lc0 has 0.0345); 0 turns it
    off."""
    moves_left_slope: float = 0.0027
    """What each ply of difference adds, up to `moves_left_effect`."""
    moves_left_threshold: float = 0.8
    """The moves left count only where the value is beyond this in either direction."""
    policy_temperature: float = 1.0
    """Softmax temperature of the net's policy at every node; above 1 the policy is flatter."""

    root_policy_temperature: float = 1.0
    """Temperature of the root's policy before noise is added, in exploring searches only."""
    noise: Literal["none", "dirichlet", "shaped"] = "dirichlet"
    """Noise on the root's priors in exploring searches: none, Dirichlet noise, or Dirichlet noise
    of which likely moves get more (shaped, as KataGo)."""
    noise_share: float = 0.25
    """Share of the noise in the root's priors, from 0 to 1."""
    noise_alpha_total: float = 10.83
    """Sum of the Dirichlet alphas of all legal moves; the alpha of a move stays between 0.03 and
    1.5."""
    noise_alpha: float = 0.0
    """Dirichlet alpha of each move (chess 0.3, Go 0.03) instead of a share of `noise_alpha_total`;
    0 leaves it unused."""
    forced_playouts: float = 0.0
    """k of KataGo's forced playouts: each visited root move gets at least sqrt(k * prior * visits).
    KataGo has 2; 0 turns them off."""
    prune_policy_target: bool = False
    """Policy-target pruning (KataGo): visits that only noise and forced playouts caused do not
    count in the policy target."""

    solver: bool = True
    """Whether proven wins, draws and losses are backed up; a proven root ends the search."""
    two_fold_draws: bool = False
    """Whether a repetition inside the search is a draw, if the game counts repetitions."""
    early_stop: bool = False
    """Whether a search ends when the best move cannot change any more. This biases the visits, so
    self-play that is learnt from leaves it off."""
    virtual_loss: float = 1.0
    """Virtual loss: lost visits added per simulation that waits for the net, where one position is
    searched in batches."""
    collision_share: float = 0.25
    """A batch is filled until this share of its size in simulations have reached a leaf that
    already waits (collisions)."""

    temperature_schedule: Literal["step", "linear", "half-life"] = "step"
    """How the temperature of the played move changes. step: `temperature` for `temperature_plies`,
    then `temperature_final`. linear: from there down to zero over `temperature_decay_plies`, never
    below the final one. half-life: from the first to the final one, halving the distance every
    `temperature_decay_plies`."""
    temperature: float = 1.0
    """Temperature at the first ply; moves are drawn in proportion to visits^(1/temperature). A
    Gumbel search scales its noise by it instead."""
    temperature_final: float = 0.0
    """Temperature at the end of the schedule; 0 plays the best move."""
    temperature_plies: int = 30
    """Plies at the first temperature (step, linear)."""
    temperature_decay_plies: float = 30.0
    """Length of the linear decay, or the half-life, in plies."""
    temperature_value_cutoff: float = 2.0
    """Moves whose value is lower than the best move's by more than this are never drawn."""
    lcb: bool = False
    """Whether the move is chosen by the lower confidence bound of its value instead of visits alone
    (KataGo)."""
    lcb_stdevs: float = 5.0
    """Standard deviations from the mean down to the lower confidence bound."""
    lcb_min_share: float = 0.15
    """Visits that a move needs to be chosen by its bound, as a share of the most visited move's."""

    gumbel_considered: int = 16
    """The most root actions that take part in sequential halving."""
    gumbel_scale: float = 1.0
    """Scale of the Gumbel noise in exploring searches, times the temperature of the ply; 0 turns it
    off."""
    gumbel_visit_offset: float = 50.0
    """c_visit of the Gumbel paper."""
    gumbel_value_scale: float = 0.1
    """c_scale of the Gumbel paper, for values rescaled to [0, 1]."""
    gumbel_rescale: bool = True
    """Whether the completed values of a node are rescaled to [0, 1]."""

    cache_mebibytes: int = 64
    """The memory that the evaluation cache fills over time, in MiB for each search or, in
    self-play, each lane; 0 turns it off."""


@dataclass(frozen=True, kw_only=True)
class PoolSettings:
    """How self-play games are begun and ended."""

    parallel_games: int = 64
    """Games that are played in step, and so the largest batch of leaves."""
    max_plies: int = 0
    """Plies after which a game is adjudicated; 0 sets no limit."""
    adjudicate_by_value: bool = False
    """Whether the side that the last search saw ahead by more than 0.5 wins at the limit; otherwise
    the game is drawn."""
    random_plies_min: int = 0
    """The fewest random moves at the start of a game."""
    random_plies_max: int = 0
    """The most random moves at the start of a game; the number is drawn evenly."""
    policy_plies_mean: float = 0.0
    """Mean number of moves after these that are drawn from the net's policy without a search
    (exponential distribution)."""
    policy_plies_temperature: float = 1.0
    """Temperature of the moves drawn from the policy."""
    resign_value: float = -1.0
    """Value of the root and of the best move at or below which a player counts a turn towards
    resigning; -1 never resigns."""
    resign_turns: int = 3
    """Consecutive own turns at or below `resign_value` before resigning."""
    resign_min_plies: int = 0
    """Plies before which no player resigns."""
    never_resign_share: float = 0.1
    """Share of games that are always played to the end, to measure how often resigning would have
    been wrong."""


_PRESETS = {
    "alphazero": SearchSettings(),
    "gumbel": SearchSettings(algorithm="gumbel", simulations=32, noise="none", reuse_tree=False),
    "katago": SearchSettings(
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
    ),
    "engine": SearchSettings(
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
    ),
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
    return dataclasses.replace(_PRESETS[name], **changes)  # type: ignore[arg-type]
