import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zerogames_go.paper_nets import NAMED, parse_paper_name

from zerogames import UserError, game_names, get_game
from zerogames.game import Game
from zerogames.nets.head_kinds import serves_any_board
from zerogames.nets.names import check_patterns, net_patterns, parse_net_name
from zerogames.nets.spec import KernelStage, NetSpec

OTHELLO = get_game("othello")


def only_stage(spec: NetSpec) -> KernelStage:
    [stage] = spec.stages
    assert isinstance(stage, KernelStage)
    return stage


def paper(name: str, game: Game = OTHELLO) -> NetSpec:
    """The papers' grammar serves any game on points; `ones` stands for the colour plane."""
    return parse_paper_name(name, game, first_player_planes={"stones": 2})


@pytest.mark.parametrize("block", ["res", "mob", "cnx"])
@pytest.mark.parametrize("kernel", ["3x3", "5x5", "rng"])
def test_every_game_reads_the_general_names(block: str, kernel: str) -> None:
    spec = OTHELLO.parse_net(f"{block}_{kernel}_3x24")
    stage = only_stage(spec)
    assert (stage.block, stage.kernel, stage.blocks, stage.channels) == (block, kernel, 3, 24)
    assert stage.expanded == {"res": 24, "mob": 144, "cnx": 96}[block]
    assert (spec.policy, spec.value, spec.moves_left) == ("dense", "wdl", False)
    assert spec.game == "othello"
    assert spec.encoding == "stones"


def test_options_change_heads_and_sizes() -> None:
    spec = OTHELLO.parse_net("mob_3x3_opti2_2x16+conv+scalar+mlh+se4+x3+seed7+val2+gap+nopass")
    assert (spec.policy, spec.value, spec.value_head) == ("conv", "scalar", "gap")
    stage = only_stage(spec)
    assert (stage.form, stage.se_ratio, stage.expanded) == ("opti2", 4, 48)
    assert (stage.pattern_seed, spec.value_weight, spec.value_loss) == (7, 2.0, "mse")
    assert spec.moves_left
    assert not spec.pass_logit
    assert serves_any_board(spec, OTHELLO)


def test_the_default_net_of_every_game_is_a_net_of_it() -> None:
    for name in game_names():
        game = get_game(name)
        assert game.parse_net(game.default_net).game == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rez_3x3_6x64", "unknown block 'rez'; did you mean 'res'"),
        ("mob_3x4_6x64", "unknown kernel of othello '3x4'; did you mean '3x3'"),
        ("mob_rng1_6x64", "unknown kernel of othello 'rng1'; did you mean 'rng'"),
        ("mob_rng26_6x64", "unknown kernel of othello 'rng26'; did you mean 'rng'"),
        ("mob_krb_6x64", "unknown kernel of othello 'krb'"),
        ("mob_3x3_opti3_6x64", "unknown kernel form 'opti3'; did you mean 'opti"),
        ("res_3x3_opti1_6x64", "only depthwise kernels"),
        ("res_3x3", "is not a net name; write <block>_<kernel>_<blocks>x<channels>"),
        ("", "is not a net name"),
        ("res__6x64", "is not a net name"),
        ("res_3x3_6", "'6' is not <blocks>x<channels>"),
        ("res_3x3_6x-4", "is not <blocks>x<channels>"),
        ("res_3x3_6x²", "is not <blocks>x<channels>"),
        ("res_3x3_0x64", "blocks must be 1 to 256, not 0"),
        ("res_3x3_6x0", "channels must be 1 to 4096, not 0"),
        ("res_3x3_6x99999", "channels must be 1 to 4096, not 99999"),
        ("res_3x3_256x4096", "more than 1,000,000,000 parameters"),
        ("res_3x3_2x8+cnv", "unknown net option 'cnv'; did you mean 'conv'"),
        ("res_3x3_2x8+", "unknown net option ''"),
        ("res_3x3_2x8+x4", "only mob and cnx blocks expand"),
        ("mob_3x3_2x8+x0", "inner channels must be 1"),
        ("res_3x3_2x8+se9", "squeeze ratio of 9"),
    ],
)
def test_a_malformed_name_is_told_what_is_wrong(name: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        OTHELLO.parse_net(name)
    assert message in str(error.value)


def test_a_kernel_that_reaches_beyond_the_board_is_refused() -> None:
    spec = OTHELLO.parse_net("mob_5x5_1x8")
    [patterns] = net_patterns(spec, OTHELLO)
    with pytest.raises(UserError, match="beyond a 2x2 board"):
        check_patterns(spec, spec.stages[0], patterns, (2, 2))


def test_a_game_without_policy_planes_has_no_conv_policy() -> None:
    with pytest.raises(UserError, match="unknown net option 'conv'"):
        get_game("connect4").parse_net("res_3x3_2x8+conv")


@given(st.text(alphabet="resmobcnx_35krbg0126+.al-", max_size=24))
def test_any_text_parses_or_is_a_user_error(text: str) -> None:
    for parse in (lambda name: parse_net_name(name, OTHELLO), paper):
        try:
            spec = parse(text)
        except UserError:
            continue
        assert all(stage.blocks >= 1 for stage in spec.stages)


def test_paper_names_say_their_sizes() -> None:
    spec = paper("mobile.conv.avg.bin.40.128.512.val4")
    stage = only_stage(spec)
    assert (stage.blocks, stage.channels, stage.expanded) == (40, 128, 512)
    assert (spec.policy, spec.value_head, spec.value_loss) == ("points", "gap", "binary")
    assert (spec.value_weight, spec.l2, spec.pass_logit) == (4.0, 1e-4, False)
    big = paper("a0.20.256")
    assert (big.stages[0].blocks, big.channels, big.policy, big.value_head) == (20, 256, "az", "az")
    assert paper("mobile.avg.10.64.200").value_loss == "mse"
    assert paper("a0.small+pass").pass_logit
    for name in NAMED:
        assert paper(name).name == name
        assert paper(f"{name}.val4").value_weight == 4


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a0.smal", "did you mean 'a0.small'"),
        ("a0.20", "has 1 sizes; write a0.<n>.<f>"),
        ("mobile.avg.1.2", "has 2 sizes; write mobile.avg.<n>.<t>.<f>"),
        ("mobile.20.64", "unknown net 'mobile.20.64'"),
        ("a0.20.0", "channels must be 1 to 4096"),
        ("20.a0.256", "unknown net"),
        ("a0.small+wdl", "predict who wins"),
        ("a0.small.val", "unknown net"),
    ],
)
def test_a_malformed_paper_name_is_told_what_is_wrong(name: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        paper(name)
    assert message in str(error.value)


def test_names_need_no_torch() -> None:
    script = (
        "import sys, zerogames; zerogames.get_game('othello').parse_net('mob_rng_6x96'); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
