from pathlib import Path

import numpy as np
import pytest
import torch
from nnue_positions import random_boards
from zerogames_chess.nnue import _native, reference
from zerogames_chess.nnue.inference import load_native, record_bytes
from zerogames_chess.nnue.losses import PRESETS, WinModel, eval_loss, fit_win_model, pqr_loss
from zerogames_chess.nnue.model import FeatureBatch, NnueModel
from zerogames_chess.nnue.network import read_network
from zerogames_chess.nnue.quantize import HIDDEN_LIMIT, OUTPUT_LIMIT, quantize
from zerogames_chess.nnue.records import RECORD, pack_board, pack_move, unpack_board, write_records
from zerogames_chess.nnue.train import TrainOptions
from zerogames_chess.nnue.trainer import Trainer, run

from zerogames.errors import UserError

VALUES = np.array([0, 100, 300, 300, 500, 900, 0])


def material_records(number: int, seed: int) -> np.ndarray:
    """Random positions labelled by material; the best move is the first capture or legal move."""
    records = np.zeros(number, RECORD)
    for record, board in zip(records, random_boards(number, seed), strict=True):
        score = sum(
            int(VALUES[piece.piece_type]) * (1 if piece.color == board.turn else -1)
            for piece in board.piece_map().values()
        )
        moves = sorted(board.legal_moves, key=lambda move: not board.is_capture(move))
        record["board"] = pack_board(board)
        record["black_to_move"] = not board.turn
        record["score"] = score
        record["result"] = np.sign(score)
        record["move"] = pack_move(moves[0]) if moves else 0
    return records


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    # Shuffled: a few random games are all there is to learn from.
    records = np.random.default_rng(1).permutation(material_records(2500, seed=51))
    write_records(folder / "training.zgd", records[:2000], {"unit": "internal"})
    write_records(folder / "validation.zgd", records[2000:], {"unit": "internal"})
    return folder


def options(folder: Path, out: Path, **others: object) -> TrainOptions:
    settings = {"m": 32, "o": 8, "p": 8, "batch": 256, "learning_rate": 3e-3, "threads": 1}
    settings["win_model"] = "thesis"
    return TrainOptions(data=folder, out=out, **(settings | others))


def plain_first_layer(model: NnueModel, batch: FeatureBatch) -> torch.Tensor:
    """The same layer with torch's own operators."""
    halves = []
    for indices, offsets in (batch[:2], batch[2:]):
        sums = torch.nn.functional.embedding_bag(
            torch.from_numpy(indices.astype(np.int64)),
            model.w1,
            torch.from_numpy(offsets[:-1]),
            mode="sum",
        )
        halves.append((sums + model.b1).clamp(0, 1))
    return torch.cat(halves, dim=1)


@pytest.mark.parametrize("columns", [24, 64, 203])
@pytest.mark.parametrize("threads", [1, 3])
def test_sparse_layer_and_its_gradient_equal_torch(threads: int, columns: int) -> None:
    torch.manual_seed(1)
    model = NnueModel("piece+h", columns, 8, 4)
    torch.nn.init.uniform_(model.w1, -0.2, 0.2)  # some sums leave the range on both sides
    batch = model.batch(record_bytes(material_records(300, seed=52)))
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        from zerogames_chess.nnue.model import _SparseLayer

        mine = _SparseLayer.apply(model.w1, model.b1, batch)
        weight = torch.randn_like(mine)
        (mine * weight).sum().backward()
        gradients = [model.w1.grad.clone(), model.b1.grad.clone()]
        model.zero_grad()
        plain = plain_first_layer(model, batch)
        (plain * weight).sum().backward()
    finally:
        torch.set_num_threads(before)
    torch.testing.assert_close(mine, plain)
    torch.testing.assert_close(gradients, [model.w1.grad, model.b1.grad], rtol=1e-4, atol=1e-5)


def test_feature_lists_that_do_not_fit_are_refused() -> None:
    weights, bias = np.zeros((4, 2), np.float32), np.zeros(2, np.float32)
    good = np.array([0, 3], np.int32), np.array([0, 2], np.int64)
    out = np.zeros((1, 4), np.float32)
    _native.sparse_forward(weights, bias, (*good, *good), out)
    for indices, offsets in [([4, 0], [0, 2]), ([-1, 0], [0, 2]), ([0, 1], [0, 3]), ([0], [1, 1])]:
        bad = np.array(indices, np.int32), np.array(offsets, np.int64)
        with pytest.raises(UserError, match="do not fit"):
            _native.sparse_forward(weights, bias, (*bad, *good), out)


def test_training_learns_material_and_export_agrees_with_the_float_net(
    folder: Path, tmp_path: Path
) -> None:
    settings = options(folder, tmp_path / "run", epochs=25)
    before = Trainer(settings).validate()
    run(settings)
    trainer = Trainer(settings)
    assert trainer.epoch == 25
    assert trainer.validate() < before / 3
    assert list((tmp_path / "run" / "tensorboard").iterdir())
    network = read_network(tmp_path / "run" / "network.nnue")
    rows = trainer.validation
    scores = load_native(network).evaluate_records(record_bytes(rows))
    with torch.no_grad():
        y = trainer.model(trainer.model.batch(record_bytes(rows)))
    exact = trainer.win_model.of_net(y).numpy()
    rounded = trainer.win_model.of_net(torch.from_numpy(scores / 600.0)).numpy()
    difference = np.abs(exact - rounded)
    assert (difference < 0.05).mean() >= 0.999
    assert (difference < 0.03).mean() >= 0.97
    assert np.corrcoef(y.numpy(), scores)[0, 1] > 0.999
    assert reference.evaluate(network, unpack_board(rows[0])) == scores[0]


def test_units_of_wide_networks_stay_alive(folder: Path, tmp_path: Path) -> None:
    """Whole steps of a thousand like inputs would push all of them out of their range at once."""
    trainer = Trainer(options(folder, tmp_path, m=512, o=32, p=0, learning_rate=2e-3, epochs=1))
    before = trainer.validate()
    trainer.train_epoch()
    inputs: list[torch.Tensor] = []
    trainer.model.second.register_forward_hook(lambda *call: inputs.append(call[2]))
    assert trainer.validate() < before
    inside = ((inputs[0] > 0) & (inputs[0] < 1)).any(dim=0)
    assert inside.float().mean() >= 0.75


def test_resumed_training_equals_uninterrupted(folder: Path, tmp_path: Path) -> None:
    run(options(folder, tmp_path / "whole", epochs=3))
    run(options(folder, tmp_path / "parts", epochs=1))
    run(options(folder, tmp_path / "parts", epochs=3))
    whole, parts = ((tmp_path / run / "network.nnue").read_bytes() for run in ("whole", "parts"))
    assert whole == parts
    with pytest.raises(UserError, match=r"other settings \(seed\)"):
        run(options(folder, tmp_path / "parts", epochs=4, seed=1))


def test_pqr_learns_that_captures_are_better(folder: Path, tmp_path: Path) -> None:
    trainer = Trainer(options(folder, tmp_path, method="pqr", epochs=1))
    first, _ = trainer.train_epoch()
    for _ in range(6):
        last, _ = trainer.train_epoch()
    assert last < first - 0.02


def test_successors_are_the_best_and_another_legal_move() -> None:
    rows = material_records(200, seed=53)
    usable, best, other = _native.successors(record_bytes(rows), 7)
    fens = _native.unpack_fens(best.reshape(-1, 40)), _native.unpack_fens(other.reshape(-1, 40))
    from zerogames_chess.nnue.records import unpack_move

    for row, after_best, after_other in zip(rows[usable != 0], *fens, strict=True):
        board = unpack_board(row)
        move = unpack_move(int(row["move"]))
        placements = {}
        for legal in board.legal_moves:
            board.push(legal)
            placements[legal] = board.board_fen()
            board.pop()
        assert after_best.split()[0] == placements[move]
        assert after_other.split()[0] in [v for k, v in placements.items() if k != move]
    assert usable.sum() > 150


def test_weights_stay_where_integers_hold_them(folder: Path, tmp_path: Path) -> None:
    trainer = Trainer(options(folder, tmp_path, learning_rate=0.3))
    trainer.train_epoch()
    assert trainer.model.second.weight.abs().max() <= HIDDEN_LIMIT
    assert trainer.model.third.weight.abs().max() <= HIDDEN_LIMIT
    assert trainer.model.last.weight.abs().max() <= OUTPUT_LIMIT


def test_quantised_weights_come_from_the_model() -> None:
    model = NnueModel("h+v", 16, 8, 0)
    network = quantize(model.features, model.weights())
    assert network.sizes == (192, 16, 8, 0)


def test_win_models_are_those_of_the_specification() -> None:
    y = torch.tensor([0.0, 361 / 600])
    torch.testing.assert_close(
        PRESETS["thesis"].of_net(y),
        torch.tensor([0.5, 1 / (1 + np.exp(-1.0))], dtype=torch.float32),
    )
    official = PRESETS["official"].of_label(torch.tensor([0.0, 1e6, -1e6]))
    torch.testing.assert_close(official, torch.tensor([0.5, 1.0, 0.0]))
    model = WinModel(net_scale=361, label_scale=410)
    loss = eval_loss(
        model, torch.zeros(2), torch.zeros(2), torch.tensor([1.0, 0.0]), label_weight=0
    )
    assert float(loss) == pytest.approx(0.5**2.6)


def test_the_fit_finds_the_scale_of_made_up_data() -> None:
    generator = np.random.default_rng(1)
    scores = generator.normal(0, 400, 200_000).astype(np.int16)
    win = 1 / (1 + np.exp(-(scores - 150.0) / 250))
    loss = 1 / (1 + np.exp((scores + 150.0) / 250))
    draw = generator.random(len(scores))
    results = np.where(draw < win, 1, np.where(draw > 1 - loss, -1, 0)).astype(np.int8)
    model = fit_win_model(scores, results)
    at = torch.linspace(-1500, 1500, 61)
    true = WinModel(net_scale=250, label_scale=250, offset=150)
    # Offset and scale make up for each other; the curve is what counts.
    assert (model.of_label(at) - true.of_label(at)).abs().max() < 0.02


def test_pqr_loss_is_least_when_the_sides_balance_and_the_other_move_is_worse() -> None:
    zero, one = torch.zeros(1), torch.ones(1)
    assert float(pqr_loss(zero, zero, zero)) == pytest.approx(3 * np.log(2))
    good = pqr_loss(one, -one, one)
    assert good < pqr_loss(one, -one, -one)
    assert good < pqr_loss(one, one, one)


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"win_model": "thesi"}, "did you mean 'thesis'"),
        ({"features": "piec"}, "did you mean 'piece'"),
        ({"m": 0}, "sizes"),
        ({"batch": 0}, "at least 1"),
        ({"label_weight": 2.0}, "from 0 to 1"),
        ({"start": Path("absent")}, "not a checkpoint"),
    ],
)
def test_wrong_options_are_refused(
    folder: Path, tmp_path: Path, others: dict, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        Trainer(options(folder, tmp_path, **others))


def test_data_in_another_unit_is_refused(tmp_path: Path) -> None:
    write_records(tmp_path / "training.zgd", material_records(5, 1), {"unit": "centipawn"})
    with pytest.raises(UserError, match="'centipawn'"):
        Trainer(options(tmp_path, tmp_path))
