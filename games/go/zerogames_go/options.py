"""Sizes, komi and rules of a game of Go."""

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from zerogames.errors import UserError
from zerogames_go import _native

KoRule = Literal["positional", "situational", "simple"]
RulesName = Literal["tromp-taylor", "chinese", "japanese", "aga", "new-zealand"]


class RuleSet(NamedTuple):
    """The part of a named rule set that matters here; all of them are scored by area."""

    ko: KoRule
    suicide: bool


RULE_SETS: dict[RulesName, RuleSet] = {
    "tromp-taylor": RuleSet("positional", suicide=True),
    "chinese": RuleSet("positional", suicide=False),
    "japanese": RuleSet("simple", suicide=False),
    "aga": RuleSet("situational", suicide=False),
    "new-zealand": RuleSet("situational", suicide=True),
}

FRIENDLY_PASS: frozenset[RulesName] = frozenset({"chinese", "aga", "new-zealand"})
"""Rules by which players agree on dead stones after they passed, or play on."""


@dataclass(frozen=True, kw_only=True)
class GoOptions:
    """The options of a game of Go."""

    size: Annotated[int, Field(ge=2, le=25)] = 19
    """Rows and columns of the board."""
    komi: Annotated[float, Field(ge=-1000, le=1000, allow_inf_nan=False)] = 7.5
    """The points that White gets for moving second."""
    rules: RulesName = "tromp-taylor"
    """A rule set: the rules of ko and suicide. The score is always the area as it stands."""
    ko: KoRule | None = None
    """The board that a move must not repeat: any board (positional), any board with the same side
    to move (situational), the board before a single stone was captured (simple). By default as in
    the rules."""
    suicide: bool | None = None
    """Whether a move may take its own last liberty; by default as in the rules."""
    handicap: Annotated[int, Field(ge=0, le=9)] = 0
    """Black stones on the fixed points of the Go Text Protocol; White begins."""
    max_plies: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """A game of that length is scored as it stands; 0 is 2 * size * size + 100."""

    def __post_init__(self) -> None:
        if self.handicap == 1:
            raise UserError("handicap is 0 or 2 to 9")
        rules = RULE_SETS[self.rules]
        # What the rule set says anyway is no option of its own: one game has one identity.
        if self.ko == rules.ko:
            object.__setattr__(self, "ko", None)
        if self.suicide == rules.suicide:
            object.__setattr__(self, "suicide", None)

    @property
    def rule_set(self) -> RuleSet:
        """The rules in force."""
        ko, suicide = RULE_SETS[self.rules]
        return RuleSet(
            ko if self.ko is None else self.ko, suicide if self.suicide is None else self.suicide
        )


def named_rules(ko: KoRule, suicide: bool) -> tuple[RulesName, KoRule | None, bool | None]:
    """`rules`, `ko` and `suicide` of the options for these two rules, by a known name if any."""
    for name, rule_set in RULE_SETS.items():
        if rule_set == (ko, suicide):
            return name, None, None
    return "tromp-taylor", ko, suicide


def native_rules(options: GoOptions) -> _native.Rules:
    """The rules as the compiled code knows them."""
    ko, suicide = options.rule_set
    return _native.Rules(
        komi=options.komi,
        ko=ko,
        suicide=suicide,
        friendly_pass=options.rules in FRIENDLY_PASS,
        max_plies=options.max_plies,
    )
