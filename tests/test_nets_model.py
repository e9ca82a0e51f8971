import math
from collections.abc import Iterator, Mapping

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from zerogames_classics.othello import Othello, OthelloOptions
from zerogames_go.paper_nets import parse_paper_name
from zerogames_kernels import Pattern
from zerogames_kernels.modules import BoardDepthwise

from zerogames import get_game
from zerogames.nets import build_model, win_draw_loss
from zerogames.nets.blocks.mob import MobileBlock
from zerogames.nets.folding import fold_norms
from zerogames.nets.head_kinds import serves_any_board
from zerogames.nets.layers import BatchNorm, MaskedConv2d
from zerogames.nets.model import Model
from zerogames.nets.spec import NO_PASS_LOGIT, NetSpec


class LetteredOthello(Othello):
    """Othello with patterns of its own, as any game may have."""

    @property
    def patterns(self) -> Mapping[str, Pattern]:
        return {
            "k": Pattern.from_mask("knight", "01010 10001 00100 10001 01010"),
            "r": Pattern.from_mask("rook", "00100 00100 11111 00100 00100"),
            "b": Pattern.from_mask("bishop", "10001 01010 00100 01010 10001"),
        }

    def parse_net(self, name: str) -> NetSpec:
        if name.startswith(("a0", "mobile")):
            return parse_paper_name(name, self, first_player_planes={"stones": 2})
        return super().parse_net(name)


SMALL = LetteredOthello(OthelloOptions(size=4))
LARGE = LetteredOthello(OthelloOptions(size=8))


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Nets this small only lose by waiting for a second thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def make(name: str, game: LetteredOthello = SMALL, seed: int = 0) -> Model:
    return build_model(game.parse_net(name), game, seed=seed)


def positions(count: int, size: int = 4) -> Tensor:
    generator = torch.Generator().manual_seed(5)
    planes = torch.randint(0, 2, (count, 3, size, size), generator=generator).float()
    planes[:, 2] = (torch.arange(count) % 2 == 0).float()[:, None, None]
    return planes


@pytest.mark.parametrize("heads", ["", "+conv+scalar+mlh", "+points+gap+mlh+nopass"])
@pytest.mark.parametrize("kernel", ["3x3", "5x5", "rng", "rng13", "krb", "rb", "rbk"])
@pytest.mark.parametrize("block", ["res", "mob", "cnx"])
def test_every_combination_has_shapes_and_gradients(block: str, kernel: str, heads: str) -> None:
    model = make(f"{block}_{kernel}_2x8{heads}").train()
    output = model(positions(6))
    assert output.policy_logits.shape == (6, 17)
    assert output.value_logits.shape == (6, 3 if model.spec.value == "wdl" else 1)
    assert (output.moves_left is not None) == model.spec.moves_left
    total = output.policy_logits.logsumexp(1).sum() + output.value_logits.square().sum()
    if output.moves_left is not None:
        # A ReLU that happens to be shut passes no gradient; look before it.
        assert model.moves_left is not None
        total = total + model.moves_left(model.blocks(model.stem(positions(6)))).sum()
        assert output.moves_left.shape == (6,)
        assert bool((output.moves_left >= 0).all())
    total.backward()
    silent = [
        name
        for name, parameter in model.named_parameters()
        if parameter.grad is None or not bool((parameter.grad != 0).any())
    ]
    assert silent == []


@pytest.mark.parametrize("name", ["a0.2.8", "mobile.avg.2.8.20", "mobile.conv.avg.bin.2.8.20"])
@pytest.mark.parametrize("option", ["", "+pass"])
def test_paper_nets_have_shapes_and_gradients(name: str, option: str) -> None:
    model = make(name + option).train()
    output = model(positions(6))
    assert output.policy_logits.shape == (6, 17)
    assert output.value_logits.shape == (6, 1)
    (output.policy_logits.logsumexp(1).sum() + output.value_logits.square().sum()).backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    closed = output.policy_logits[:, 16] == NO_PASS_LOGIT
    assert bool(closed.all()) == (option == "")


def test_white_won_is_turned_to_the_side_to_move() -> None:
    model = make("mobile.conv.avg.bin.2.8.20").eval()
    planes = positions(4)
    raw = model.value(model.blocks(model.stem(planes)))[:, 0]
    _, wdl, _ = model.evaluate(planes)
    white_won = torch.sigmoid(raw)
    black_to_play = planes[:, 2, 0, 0] == 1
    torch.testing.assert_close(wdl[:, 0], torch.where(black_to_play, 1 - white_won, white_won))
    assert bool((wdl[:, 1] == 0).all())


@pytest.mark.parametrize("value", [-0.9, 0.0, 0.4])
def test_a_scalar_becomes_win_and_loss(value: float) -> None:
    wdl = win_draw_loss(torch.tensor([[math.atanh(value)]]), "scalar")
    torch.testing.assert_close(wdl, torch.tensor([[(1 + value) / 2, 0.0, (1 - value) / 2]]))


@pytest.mark.parametrize(
    "name",
    ["mobile.conv.avg.bin.2.8.20+pass", "mob_krb_2x8+conv+gap", "res_rng_2x8+points+gap+mlh"],
)
def test_convolutional_nets_run_on_any_board_with_the_same_weights(name: str) -> None:
    small, large = make(name), make(name, LARGE, seed=1)
    assert serves_any_board(small.spec, SMALL)
    large.load_state_dict(small.state_dict())
    assert large.eval()(positions(2, 8)).policy_logits.shape == (2, 65)
    # The same module as well: nothing in it depends on the size it was made for.
    torch.testing.assert_close(small.eval()(positions(2, 8)), large(positions(2, 8)))


def test_dense_heads_serve_one_size() -> None:
    assert not serves_any_board(make("res_3x3_1x8").spec, SMALL)
    with pytest.raises(RuntimeError, match="size mismatch"):
        make("res_3x3_1x8", LARGE).load_state_dict(make("res_3x3_1x8").state_dict())


@pytest.mark.parametrize("channels", [3, 7, 8])
@pytest.mark.parametrize("kernel", ["krb", "rb", "rng"])
def test_masked_convolution_equals_a_dense_one_with_zeros(kernel: str, channels: int) -> None:
    model = make(f"res_{kernel}_1x{channels}")
    conv = model.get_submodule("blocks.0.conv1")
    assert isinstance(conv, MaskedConv2d)
    assert conv.weight.shape == (channels, channels, 9)
    sizes = [len(part) for part in torch.arange(channels).tensor_split(len(conv.patterns))]
    dense = nn.Conv2d(channels, channels, 5, padding=2, bias=False)
    with torch.no_grad():
        dense.weight.zero_()
        for out in range(channels):
            group = next(i for i in range(len(sizes)) if out < sum(sizes[: i + 1]))
            for tap, (row, column) in enumerate(conv.patterns[group].offsets):
                dense.weight[out, :, row + 2, column + 2] = conv.weight[out, :, tap]
    x = torch.randn(2, channels, 4, 4)
    torch.testing.assert_close(conv(x), dense(x))


@pytest.mark.parametrize("form", ["native", "dense", "opti1", "opti2"])
@pytest.mark.parametrize("channels", [8, 96])
def test_compact_depthwise_equals_a_dense_one_with_zeros(form: str, channels: int) -> None:
    model = make(f"mob_krb_{form}_1x{channels}+x1")
    block = model.blocks[0]
    assert isinstance(block, MobileBlock)
    layer = block.depthwise
    weight = layer.get_parameter("weight")
    assert weight.shape == (channels, 9)
    groups = torch.arange(channels).tensor_split(3)
    dense = torch.zeros(channels, 1, 5, 5)
    for group, letter in zip(groups, "krb", strict=True):
        mask = torch.from_numpy(SMALL.patterns[letter].mask)
        for channel in group.tolist():
            dense[channel, 0][mask] = weight[channel].detach()
    dense.requires_grad_()
    x = torch.randn(3, channels, 4, 4, requires_grad=True)
    ours, plain = layer(x), F.conv2d(x, dense, padding=2, groups=channels)
    torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-5)
    upstream = torch.randn_like(plain)
    ours_grads = torch.autograd.grad(ours, (x, weight), upstream)
    x_grad, dense_grad = torch.autograd.grad(plain, (x, dense), upstream)
    torch.testing.assert_close(ours_grads[0], x_grad, rtol=1e-4, atol=1e-5)
    for channel in range(channels):
        group_index = next(i for i, group in enumerate(groups) if channel in group)
        mask = torch.from_numpy(SMALL.patterns["krb"[group_index]].mask)
        torch.testing.assert_close(
            ours_grads[1][channel], dense_grad[channel, 0][mask], rtol=1e-3, atol=1e-4
        )


def test_forms_of_a_kernel_share_weights_and_answers() -> None:
    native = make("mob_krb_2x8").eval()
    for form in ("dense", "opti1", "opti2"):
        other = make(f"mob_krb_{form}_2x8", seed=3).eval()
        other.load_state_dict(native.state_dict())
        torch.testing.assert_close(other(positions(4)), native(positions(4)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("name", ["mob_krb{}_2x8", "cnx_rb{}_2x8"])
def test_a_training_step_is_the_same_in_every_form(name: str, layout: torch.memory_format) -> None:
    """Forward, gradients and running statistics of the fused operators against plain torch."""
    native, dense = make(name.format("")).train(), make(name.format("_dense")).train()
    planes = positions(6).contiguous(memory_format=layout)
    for model in (native, dense):
        model.to(memory_format=layout)  # type: ignore[call-overload]
        output = model(planes)
        (output.policy_logits.logsumexp(1).sum() + output.value_logits.square().sum()).backward()
    torch.testing.assert_close(native(planes), dense(planes), rtol=1e-3, atol=1e-4)
    pairs = list(zip(native.named_parameters(), dense.parameters(), strict=True))
    # A bias before a norm has no gradient but what rounding leaves of sums of the others' size.
    rounding = 1e-6 * max(float(theirs.grad.abs().max()) for _, theirs in pairs)
    for (parameter_name, ours), theirs in pairs:
        assert ours.grad is not None
        torch.testing.assert_close(
            ours.grad,
            theirs.grad,
            rtol=2e-3,
            atol=2e-4 * float(ours.grad.abs().max()) + rounding,
            msg=lambda text, name=parameter_name: f"{name}: {text}",
        )
    for ours_buffer, theirs_buffer in zip(native.buffers(), dense.buffers(), strict=True):
        torch.testing.assert_close(ours_buffer, theirs_buffer, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(
    "name",
    [
        "mob_krb_2x8+mlh",
        "mob_3x3_2x8+conv+scalar",
        "res_rb_2x8+conv",
        "res_5x5_2x8",
        "cnx_rng_2x8+points+gap",
        "a0.2.8",
        "a0.small.avg.conv.bin",
        "mobile.avg.2.8.20",
    ],
)
def test_folding_norms_changes_no_answer(name: str, plain: bool) -> None:
    model = make(name).train()
    for _ in range(3):
        model(positions(8))
    with torch.no_grad():
        for part in model.modules():
            if isinstance(part, BatchNorm):
                for parameter in part.parameters():
                    parameter.add_(torch.randn_like(parameter), alpha=0.3)
    model.eval()
    folded = fold_norms(model, plain=plain)
    torch.testing.assert_close(folded(positions(4)), model(positions(4)), rtol=1e-3, atol=1e-4)
    norms = [part for part in folded.modules() if isinstance(part, BatchNorm)]
    assert len(norms) == (13 if name == "a0.small.avg.conv.bin" else 0)
    compact = [part for part in folded.modules() if isinstance(part, BoardDepthwise)]
    assert bool(compact) == (not plain and name.startswith(("mob", "cnx")))


def test_the_order_of_letters_is_the_order_of_groups() -> None:
    assert [p.name for p in make("mob_rbk_1x8").patterns[0]] == ["rook", "bishop", "knight"]
    assert [p.name for p in make("mob_krb_1x8").patterns[0]] == ["knight", "rook", "bishop"]


def test_random_patterns_differ_by_layer_and_follow_the_seed() -> None:
    first, again = make("mob_rng_3x8"), make("mob_rng_3x8")
    other = make("mob_rng_3x8+seed1")
    offsets = [groups[0].offsets for groups in first.patterns]
    assert len(set(offsets)) == 3
    assert all((0, 0) in taps and len(taps) == 9 for taps in offsets)
    assert first.patterns == again.patterns
    assert first.patterns != other.patterns


def test_weights_follow_the_seed_and_leave_the_global_generator_alone() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first, again, other = make("mob_krb_2x8"), make("mob_krb_2x8"), make("mob_krb_2x8", seed=1)
    assert torch.equal(before, torch.get_rng_state())
    for name, tensor in first.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name])
    assert any(not torch.equal(t, other.state_dict()[n]) for n, t in first.state_dict().items())


def test_input_scale_multiplies_its_plane_only() -> None:
    from dataclasses import replace

    spec = SMALL.parse_net("res_3x3_1x8")
    plain = build_model(spec, SMALL).eval()
    scaled = build_model(replace(spec, input_scale=((2, 1 / 99),)), SMALL).eval()
    planes = positions(4)
    raw = planes.clone()
    raw[:, 2] *= 99
    torch.testing.assert_close(scaled(raw), plain(planes))
    assert scaled.state_dict().keys() == plain.state_dict().keys()


def test_default_nets_learn_a_batch_by_heart() -> None:
    game = get_game("connect4")
    model = build_model(game.parse_net(game.default_net), game).train()
    state = game.initial_state()
    planes = torch.stack(
        [
            torch.from_numpy(state.play(a).play(b).observe("stones"))
            for a in range(7)
            for b in (2, 4)
        ]
    )
    labels = torch.arange(14) % 7
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(25):
        loss = F.cross_entropy(model(planes).policy_logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.5
