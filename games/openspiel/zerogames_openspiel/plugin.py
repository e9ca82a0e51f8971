"""OpenSpiel's games as a plugin: one entry for all of them."""

from collections.abc import Mapping

from zerogames.errors import UserError
from zerogames.game import Game, GamePlugin
from zerogames.identity import format_identity
from zerogames_openspiel.options import OpenSpielOptions


def _create(options: OpenSpielOptions) -> Game:
    try:
        from zerogames_openspiel.bridged_game import BridgedGame
    except ModuleNotFoundError:
        raise UserError("OpenSpiel is missing: pip install 'zerogames[openspiel]'") from None
    return BridgedGame.load(options.game)


def _members() -> Mapping[str, str]:
    from zerogames_openspiel.loading import list_games

    return {
        format_identity("openspiel", OpenSpielOptions(game=name)): parameters
        for name, parameters in list_games().items()
    }


game = GamePlugin(
    name="openspiel",
    title="OpenSpiel",
    options=OpenSpielOptions,
    create=_create,
    needs="pyspiel",
    members=_members,
)
