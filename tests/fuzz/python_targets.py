"""The parsers that are written in Python, each as a function of bytes.

A `UserError` is an answer, anything else that is raised is a finding. A new reader joins by one
line in `TARGETS`; games that are installed and their readers of records join by themselves.
`run_python.py` runs the targets.
"""

import gzip
import hashlib
import io
import json
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from math import prod
from pathlib import Path

import chess
import numpy as np
import pyarrow.parquet as pq
import torch
import zerogames_chess.lc0.network as lc0
from zerogames_chess.lc0.transfer import format_model, import_lc0, to_lc0
from zerogames_chess.lc0.wire import Message
from zerogames_chess.nnue._native import pack_fen, unpack_fens
from zerogames_chess.nnue.checkpoint import load_checkpoint, read_about, save_checkpoint
from zerogames_chess.nnue.feature_set import FeatureSet
from zerogames_chess.nnue.inference import load_native, record_bytes
from zerogames_chess.nnue.model import NnueModel
from zerogames_chess.nnue.network import Network, read_network, serialize
from zerogames_chess.nnue.records import RECORD, map_records, write_records
from zerogames_go.katago.importing import import_katago
from zerogames_go.leela_zero.importing import import_leela_zero
from zerogames_selfplay.loop.settings import TrainSettings

from zerogames.config import to_table
from zerogames.data.formats import RecordReader, get_game_data
from zerogames.data.packed_games import pack_games
from zerogames.data.record import VALUE_COLUMNS, GameRecord, SearchColumns
from zerogames.data.record_table import SCHEMA
from zerogames.data.shard import read_shard, write_shard
from zerogames.data.sources import Source
from zerogames.errors import UserError
from zerogames.evaluate.int8_ import open_int8
from zerogames.evaluate.native_ import open_native
from zerogames.evaluate.onnx_ import OnnxEvaluator
from zerogames.export.native import make_native
from zerogames.export.onnx_file import build_onnx
from zerogames.export.qdq import Quantizer
from zerogames.game import Game, parse_position
from zerogames.nets import Model, build_model, load_net, save_net
from zerogames.nets.net_info import METADATA_KEY, read_net_info
from zerogames.presets import Preset, config_folders
from zerogames.pretrain.settings import PretrainSettings
from zerogames.registry import all_plugins, get_game
from zerogames.report.page import make_page
from zerogames.report.run_data import read_run_data
from zerogames.runs.folder import read_run, read_table
from zerogames.runs.game_files import read_games
from zerogames.runs.journal import pack_entry
from zerogames.runs.metrics_log import JsonLines
from zerogames.train.checkpoint import TrainerState, _read_sealed, _seal
from zerogames.train.checkpoint_folder import CheckpointFolder
from zerogames.train.settings import TrainerSettings

FINDINGS = Path(__file__).parent / "corpus"
"""The bytes of former findings, in a folder `python-<name>` for each target that had any."""
_MEMORY = Path("/dev/shm")
_SEPARATOR = b"\0\0"


@dataclass(frozen=True)
class Target:
    """A parser and what its mutants are made from."""

    read: Callable[[bytes], object]
    make_corpus: Callable[[], Sequence[bytes]]

    def corpus(self, name: str) -> list[bytes]:
        """Files as the project writes them, then the former findings."""
        findings = sorted((FINDINGS / f"python-{name}").glob("*"))
        return [*self.make_corpus(), *(path.read_bytes() for path in findings)]


def run(target: Target, data: bytes) -> bool:
    """Read bytes; whether they were accepted. What is raised is a finding."""
    try:
        target.read(data)
    except UserError as error:
        text = str(error)
        assert 0 < len(text.strip()) < 5000, f"no message for a user: {text[:200]!r}"
        return False
    return True


@contextmanager
def a_folder() -> Iterator[Path]:
    """An empty folder in memory, where the system has that."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        yield Path(folder)


def a_file(read: Callable[[Path], object], name: str) -> Callable[[bytes], object]:
    """A reader of paths as a reader of bytes."""

    def read_bytes(data: bytes) -> object:
        with a_folder() as folder:
            (folder / name).write_bytes(data)
            return read(folder / name)

    return read_bytes


def written(write: Callable[[Path], object], name: str) -> bytes:
    """What a writer of paths writes."""
    with a_folder() as folder:
        write(folder / name)
        return (folder / name).read_bytes()


@cache
def games() -> list[Game]:
    """One of each installed game, and variants that have other code."""
    names = [plugin.name for plugin in all_plugins()]
    return [get_game(name) for name in (*names, "chess:variant=960", "go:size=9", "go:size=5")]


# Texts.


def position(data: bytes) -> None:
    """The first byte chooses the game; a position that is read is written and read as itself."""
    game = games()[data[0] % len(games())] if data else games()[0]
    state = parse_position(game, data[1:].decode(errors="replace"))
    again = game.parse_state(game.format_state(state))
    assert game.format_state(again) == game.format_state(state)
    for action in state.legal_actions()[:3]:
        assert game.parse_action(state, game.format_action(state, int(action))) == action


def positions() -> list[bytes]:
    """The position after a few random moves of each game, given both ways."""
    found = []
    for number, game in enumerate(games()):
        state, moves = game.initial_state(), []
        for action in play(game, 6).actions:
            moves.append(game.format_action(state, int(action)))
            state = state.play(int(action))
        found.append(bytes([number]) + f"startpos moves {' '.join(moves)}".encode())
        found.append(bytes([number]) + game.format_state(state).encode())
    return found


def net_name(data: bytes) -> None:
    """The first byte chooses the game; a name that is read is the name of an architecture."""
    game = games()[data[0] % len(games())] if data else games()[0]
    spec = game.parse_net(data[1:].decode(errors="replace"))
    assert game.parse_net(spec.name) == spec


def net_names() -> list[bytes]:
    """The default of each game, and names with every kind of option."""
    found = [bytes([number]) + game.default_net.encode() for number, game in enumerate(games())]
    for name in ("mob_3x3_native_2x16+se4+x4+mlh", "cnx_rng_1x8+seed7", "a0.1.16", "res_3x3_2x8"):
        found += [bytes([number]) + name.encode() for number in range(len(games()))]
    return [*found, b"\0mob_krb_6x96-enc_mask_4x96h6", b"\0mobile.conv.avg.bin.1.16.48"]


def identity(data: bytes) -> None:
    """The game that a string names is the one that it says it is."""
    plugin_and_options = data.decode(errors="replace")
    if len(plugin_and_options) < 200:
        spec = get_game.__wrapped__(plugin_and_options).spec  # the cache would grow for ever
        assert get_game.__wrapped__(spec.identity).spec.identity == spec.identity


def record_reader(game: Game, read: RecordReader) -> Callable[[bytes], None]:
    """A reader of whole files; the moves of a game that is read are legal."""

    def read_all(data: bytes) -> None:
        for record in read(data):
            record.final_state(get_game(record.game))

    return read_all


def play(game: Game, plies: int = 12, seed: int = 3) -> GameRecord:
    """The beginning of a random game, with tags."""
    random = np.random.default_rng(seed)
    state, actions = game.initial_state(), []
    while len(actions) < plies and state.result is None:
        actions.append(int(random.choice(state.legal_actions())))
        state = state.play(actions[-1])
    return GameRecord(
        game=game.spec.identity,
        actions=np.array(actions, np.int32),
        result=state.result,
        tags={"Event": 'a "test"', "Date": "2024.01.02"},
    )


def records(game: Game, ending: str, seed: int = 3) -> list[bytes]:
    """A short game in every form of that ending."""
    writers = [w for w in get_game_data(game).writers.values() if w.suffix == f".{ending}"]
    plain = play(game, seed=seed)
    talked = replace(plain, result=1.0, reason="resigned", comments={-1: "before", 2: "[%eval 1]"})
    return [writer.write(record) for writer in writers for record in (plain, talked)]


def data_file(game: Game, data: bytes) -> None:
    """A file of training data of any kind; samples of what is read can be made."""
    with a_folder() as folder:
        (folder / "file").write_bytes(data)
        source = Source([folder / "file"], game)
        for one in source.games():
            number = one.num_positions
            one.samples(np.arange(min(number, 4), dtype=np.int32))


def data_files(game: Game) -> list[bytes]:
    """A short game in every form that has a writer."""
    record = replace(play(game), result=1.0, reason="resigned")
    return [writer.write(record) for writer in get_game_data(game).writers.values()]


# Settings and run folders.


def preset(path: Path) -> None:
    """A file of settings, as the command it is for takes it."""
    given = Preset(path)
    kinds: dict[str, type] = {"train": TrainSettings, "pretrain": PretrainSettings}
    command = next(filter(given.serves, kinds), "train")
    assert to_table(given.settings(kinds[command], command=command))


def presets() -> list[bytes]:
    """The shortest presets that come with the program."""
    paths = [path for folder in config_folders() for path in folder.glob("*/*.toml")]
    return [data for path in paths if len(data := path.read_bytes()) < 5000][:12]


RUN_FILES = ("run.json", "metrics.jsonl", "ratings.jsonl", "settings.json")


def run_folder(data: bytes) -> None:
    """The files of a run's folder, one after the other; a page is made of what can be read."""
    with a_folder() as folder:
        for name, part in zip(RUN_FILES, data.split(_SEPARATOR), strict=False):
            if part:
                (folder / name).write_bytes(part)
        read_table(folder / "settings.json")
        page = make_page(read_run_data(folder), games=1)
        assert "</html>" in page
        JsonLines(folder / "metrics.jsonl", last_step=1)
        read_run(folder, "train")


def run_folders() -> list[bytes]:
    """A folder of this version as its writers make it, in a few lines."""
    about = {
        "kind": "train",
        "game": "connect4",
        "sessions": [{"started": "2024-01-02T03:04:05Z"}],
        "version": "0.1.0",
        "commit": "unknown",
        "settings": {"game": "connect4", "net": "res_3x3_1x16", "search": {"simulations": 8}},
    }
    metrics = [
        {"step": n, "time_s": 2.5 * n, "loss": 2 - n / 4, "policy_loss": 1.5, "games": 12 * n}
        for n in range(3)
    ]
    result = {"opponent": "random", "wins": 3, "draws": 1, "losses": 0}
    ratings = [
        {"step": n, "elo": 10.5 * n, "low": -3.0, "high": 40.0, "results": [result]}
        for n in range(3)
    ]
    lines = ["".join(json.dumps(line) + "\n" for line in part) for part in (metrics, ratings)]
    parts = [json.dumps(about), *lines, json.dumps({"seed": 3})]
    stored = sorted((Path(__file__).parents[1] / "data" / "written_by_0.1.0").rglob("run.json"))
    folders = [path.parent for path in stored]
    return [
        _SEPARATOR.join(part.encode() for part in parts),
        *(
            _SEPARATOR.join(
                (folder / name).read_bytes() if (folder / name).exists() else b""
                for name in RUN_FILES
            )
            for folder in folders
        ),
    ]


def trainer_state(data: bytes) -> None:
    """`trainer.json` as it is, and with its seal made right."""
    read = a_file(lambda path: _read_sealed(path.parent), "trainer.json")
    try:
        sealed = json.loads(data)
        sealed.pop("seal", None)
        data = json.dumps({"seal": _seal(sealed)} | sealed).encode()
    except (ValueError, AttributeError, RecursionError):
        pass
    read(data)


def trainer_states() -> list[bytes]:
    """What a new trainer writes."""
    state = TrainerState(step=3, samples=96, settings=TrainerSettings(), average_updates=2)
    table = json.loads(json.dumps({"state": to_table(state)}, default=dict))
    return [json.dumps({"format": 1, "digests": {"net.safetensors": "00"}} | table).encode()]


def score(data: bytes) -> None:
    """`score.json`; a checkpoint without a number has no score."""
    with a_folder() as folder:
        (folder / "step-00000001").mkdir()
        (folder / "step-00000001" / "score.json").write_bytes(data)
        assert CheckpointFolder(folder).best in (None, folder / "step-00000001")


# Shards.


def shard(path: Path) -> None:
    """A shard; the search's columns of what is read fit the moves."""
    for record in read_shard(path):
        if record.search is not None:
            record.search.check(len(record.actions))


def shards() -> list[bytes]:
    """Two games, packed and plain, and no games."""
    plain = play(get_game("connect4"), 5)
    plies = len(plain.actions)
    search = SearchColumns(
        policy_offsets=np.arange(plies + 1, dtype=np.int64),
        policy_actions=plain.actions,
        policy_visits=np.full(plies, 8, np.int32),
        policy_targets=np.ones(plies, np.float32),
        values={name: np.zeros(plies, np.float32) for name in VALUE_COLUMNS},
        surprise=np.zeros(plies, np.float32),
        kinds=np.zeros(plies, np.uint8),
    )
    packed = written(partial(write_shard, records=[plain, replace(plain, search=search)]), "a")

    def unpack(path: Path) -> None:
        path.write_bytes(packed)
        table = pq.read_table(path)
        pq.write_table(table, path, compression="none", use_dictionary=False)

    def empty(path: Path) -> None:
        pq.write_table(SCHEMA.empty_table(), path)

    return [packed, written(unpack, "a"), written(empty, "a")]


# Nets.


@cache
def small_net(name: str = "res_3x3_1x8+gap", identity: str = "connect4") -> Model:
    """A net with random weights."""
    game = get_game(identity)
    return build_model(game.parse_net(name), game, seed=3).eval()


def net_file(path: Path) -> None:
    """A net of ours, loaded whole."""
    load_net(path)


def net_files() -> list[bytes]:
    """A net of two games, one with random patterns."""
    nets = [small_net(), small_net("mob_rng_1x4+seed3+gap", "go:size=5")]
    return [written(partial(save_net, model=net, step=5), "net.safetensors") for net in nets]


def net_heads() -> list[bytes]:
    """The part before the weights alone, so that mutants meet the description."""
    heads = []
    for data in net_files():
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        text = json.dumps({"__metadata__": {METADATA_KEY: header["__metadata__"][METADATA_KEY]}})
        heads.append(len(text).to_bytes(8, "little") + text.encode())
    return heads


@cache
def small_onnx() -> bytes:
    """An int8 net."""
    game = get_game("connect4")
    planes = np.random.default_rng(1).random((8, *game.spec.observation_shape), np.float32)
    data: bytes = Quantizer(small_net().program(), planes).build().SerializeToString()
    return data


def int8_net(path: Path) -> None:
    """An int8 net, for our kernels and for onnxruntime; if it opens it answers or refuses."""
    for native in (True, False):
        open_int8(path, version="v", encoding="e", native=native)


def float_onnx(path: Path) -> None:
    """A net in float32 for onnxruntime."""
    OnnxEvaluator(path, version="v", encoding="e")


def native_net(path: Path) -> None:
    """The file of our float32 kernels."""
    open_native(path, version="v", encoding="e")


@cache
def small_lc0(name: str = "res_3x3_1x2+se1+conv") -> bytes:
    """The message of a small net."""
    return lc0.format_net(to_lc0(small_net(name, "chess")), "linear16")


def attention_lc0() -> list[bytes]:
    """Small nets of encoders, and a residual one with an attention policy."""
    frame = lc0.Frame(licence="CC0-1.0", training_steps=7, min_version=(0, 0, 0))
    names = (
        "enc_smolgen1.2.2_map_gates_relu2_1x4h2f2+attention2.2+tokens1.2+mlh1.2+mish",
        "enc_none_dense1.2_2x4h1f2+attention2.2e1h1d2f2+tokens1.2+scalar",
        "res_3x3_1x2+se1+attention2.2e1h1d2f2selu",
    )
    return [format_model(small_net(name, "chess"), frame) for name in names]


def short_lc0() -> bytes:
    """A message that mutants of all its parts are made from: only the trunk is whole."""
    net = lc0.parse_net(Message(small_lc0()))
    short = replace(net.value, dense=[layer[:4] for layer in net.value.dense])
    return lc0.format_net(replace(net, value=short), "linear16")


def leela_zero_nets() -> list[bytes]:
    """The text of a net for the smallest board, of both versions."""
    conv = [" ".join(["0.5"] * n) for n in (162, 1, 1, 1)]
    block = [" ".join(["0.25"] * n) for n in (9, 1, 1, 1)] * 2
    policy = [" ".join(["1e-1"] * n) for n in (2, 2, 2, 2, 40, 5)]
    value = [" ".join(["0.1"] * n) for n in (1, 1, 1, 1, 1024, 256, 256, 1)]
    lines = [*conv, *block, *policy, *value]
    return ["\n".join([version, *lines, ""]).encode() for version in ("1", "2")]


def katago_nets() -> list[bytes]:
    """Small nets of KataGo with every kind of block: old in text, new with binary arrays."""
    return [katago_net(8, binary=False), katago_net(17, binary=True)]


def katago_net(version: int, *, binary: bool) -> bytes:
    """A net file with a trunk of two channels; its numbers are all the same."""

    def numbers(*shape: int) -> bytes:
        if binary:
            return b"@BIN@" + np.full(prod(shape), 0.25, "<f4").tobytes()
        return b" ".join([b"0.25"] * prod(shape))

    def words(*parts: object) -> bytes:
        return b"\n".join(part if isinstance(part, bytes) else f"{part}".encode() for part in parts)

    def conv(inputs: int, outputs: int, size: int = 1) -> bytes:
        fields = ("c", size, size, inputs, outputs, 1, 1)
        return words(*fields, numbers(size, size, inputs, outputs))

    def norm(channels: int) -> bytes:
        both = words("n", channels, 0.001, 0, 1, *[numbers(channels)] * 3)
        return words(both, "a", *(["ACTIVATION_MISH"] if version > 10 else []))

    def dense(inputs: int, outputs: int) -> bytes:
        return words("m", inputs, outputs, numbers(inputs, outputs))

    def bias(channels: int) -> bytes:
        return words("b", channels, numbers(channels))

    def rms() -> bytes:
        return words("r", 2, 1e-6, numbers(2))

    new, act = version > 14, "a ACTIVATION_MISH" if version > 10 else "a"
    ordinary = words("ordinary_block", "o", norm(2), conv(2, 1, 3), norm(1), conv(1, 2, 3))
    pool = words(conv(2, 1, 3), conv(2, 1, 3), norm(1), dense(3, 1), norm(1), conv(1, 2, 3))
    blocks = [ordinary, words("gpool_block", "g", norm(2), pool)]
    if new:
        projections = dense(2, 4), dense(2, 4), dense(2, 1), dense(1, 2)
        attention = "transformer_attention_block", "t", 1, 1, 4, 1, 1
        blocks = [
            words("nested_bottleneck_block", "n", 1, norm(2), conv(2, 2), ordinary),
            words(norm(2), conv(2, 2)),
            words(*attention, 0, rms(), *projections, "rope", 50.0),
            words(*attention, 1, rms(), *projections, "rope", 1, 2, 2, numbers(1, 2, 2)),
            words("transformer_ffn_block", "f", 2, 1, 1, rms(), *[dense(2, 1)] * 2, dense(1, 2)),
        ]
    policy = [conv(2, 1), conv(2, 1), norm(1), dense(3, 1), norm(1), conv(1, 2 if new else 1)]
    policy += [dense(3, 1), bias(1), act, dense(1, 2)] if new else [dense(3, 1)]
    value = [conv(2, 1), norm(1), dense(3, 2), bias(2), act, dense(2, 3), bias(3)]
    scores = 6 if version > 8 else 4
    value += [dense(2, scores), bias(scores), conv(1, 1)]
    head = ["small", version, 22, 19, *[*[1.5] * 7, *[0] * 8][: 15 if new else 0]]
    trunk = ["trunk", 4 if new else 2, *[2] * 5, *[1, 0, 0, 0, 0, 0][: 6 if new else 0]]
    tip = words("tip", 2, 1e-6, 0, 0, numbers(2), numbers(2), act) if new else norm(2)
    return words(
        *[*head, *trunk, conv(22, 2, 3), dense(19, 2), *blocks, tip],
        *["p", *[2, 0, 0, 0][: 4 if new else 0], *policy],
        *["v", *[0, 0, 0][: 3 if new else 0], *value, ""],
    )


def nnue_network(data: bytes) -> None:
    """A network file with its checksum made right, in Python and in the engine."""
    sealed = data + hashlib.sha256(data).digest()
    network = a_file(read_network, "net.nnue")(sealed)
    assert isinstance(network, Network)
    assert serialize(network) == data
    load_native(network)


@cache
def small_network() -> bytes:
    """The smallest network."""
    features = FeatureSet("h+v")
    random = np.random.default_rng(1)

    def draw(kind: str, *shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.integer]]:
        return random.integers(-9, 9, shape).astype(kind)

    n, m, o, p = features.size, 4, 4, 2
    return serialize(
        Network(
            features="h+v",
            w1=draw("i2", n, m),
            b1=draw("i2", m),
            w2=draw("i1", o, 2 * m),
            b2=draw("i4", o),
            w3=draw("i1", p, o),
            b3=draw("i4", p),
            w4=draw("i1", p),
            b4=3,
        )
    )


def nnue_checkpoint(path: Path) -> None:
    """A checkpoint of `zerogames nnue train`, read as the command that continues it does."""
    features, sizes, _ = read_about(path)
    if features == "h" and sizes == (4, 4, 2):
        model = NnueModel(features, *sizes)
        load_checkpoint(path, model, torch.optim.Adam(model.parameters()))


def nnue_checkpoints() -> list[bytes]:
    """A checkpoint after one step."""
    model = NnueModel("h", 4, 4, 2)
    optimizer = torch.optim.Adam(model.parameters())
    for parameter in model.parameters():
        parameter.grad = parameter.detach().clone()
    optimizer.step()
    return [written(lambda path: save_checkpoint(path, model, optimizer, 1), "a.safetensors")]


def archives() -> list[bytes]:
    """Games in every kind of archive."""
    games = [data for n in range(3) for data in records(get_game("chess"), "pgn", seed=n)[1::2]]
    made = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", method) as archive:
            for number, game in enumerate(games):
                archive.writestr(f"folder/{number}.pgn", game)
        made.append(packed.getvalue())
    for mode in ("w", "w:gz"):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode=mode) as tar:  # type: ignore[call-overload]
            for number, game in enumerate(games):
                member = tarfile.TarInfo(f"{number}.pgn")
                member.size = len(game)
                tar.addfile(member, io.BytesIO(game))
        made.append(packed.getvalue())
    return made


def journals() -> list[bytes]:
    """Two entries of games, and none."""
    record = play(get_game("connect4"), 5)
    entries = [pack_entry(pack_games([record] * number).data) for number in (1, 2)]
    return [b"".join(entries), b""]


def labels(path: Path) -> None:
    """Labels of positions, all unpacked."""
    records = map_records(path)
    unpack_fens(np.array(record_bytes(records)))


def label_files() -> list[bytes]:
    """Two positions with labels."""
    fens = [chess.STARTING_FEN, "8/8/4k3/8/8/3K4/8/R7 w - - 0 1"]
    records = np.frombuffer(b"".join(map(pack_fen, fens)), RECORD)
    header = {"game": "chess", "unit": "pawn/256"}
    return [written(partial(write_records, records=records, header=header), "a.zgd")]


TARGETS: Mapping[str, Target] = {
    "position": Target(position, positions),
    "net_name": Target(net_name, net_names),
    "identity": Target(
        identity, lambda: [g.spec.identity.encode() for g in games()] + [b"go:size=9,komi=7.5"]
    ),
    "preset": Target(a_file(preset, "preset.toml"), presets),
    "run_folder": Target(run_folder, run_folders),
    "trainer_state": Target(trainer_state, trainer_states),
    "score": Target(score, lambda: [b'{"score": 0.5}']),
    "shard": Target(a_file(shard, "a.parquet"), shards),
    "net_info": Target(a_file(read_net_info, "net.safetensors"), net_heads),
    "net_file": Target(a_file(net_file, "net.safetensors"), net_files),
    "int8_onnx": Target(a_file(int8_net, "net.onnx"), lambda: [small_onnx()]),
    "float_onnx": Target(
        a_file(float_onnx, "net.onnx"),
        lambda: [build_onnx(small_net(), get_game("connect4")).SerializeToString()],
    ),
    "native_net": Target(
        a_file(native_net, "net.native"),
        lambda: [make_native(small_net().program())],
    ),
    "katago_weights": Target(a_file(import_katago, "net.bin"), katago_nets),
    "leela_zero_weights": Target(a_file(import_leela_zero, "net.txt"), leela_zero_nets),
    "lc0_weights": Target(
        a_file(import_lc0, "net.pb"), lambda: [small_lc0(), short_lc0(), *attention_lc0()]
    ),
    "nnue_network": Target(nnue_network, lambda: [small_network()]),
    "nnue_checkpoint": Target(a_file(nnue_checkpoint, "a.safetensors"), nnue_checkpoints),
    "lc0_gz": Target(a_file(import_lc0, "net.pb.gz"), lambda: [gzip.compress(small_lc0())]),
    "archive": Target(partial(data_file, get_game("chess")), archives),
    "journal": Target(a_file(read_games, "a.journal"), journals),
    "nnue_labels": Target(a_file(labels, "a.zgd"), label_files),
    **{
        f"{plugin.name}_{ending}": Target(
            record_reader(get_game(plugin.name), read),
            partial(records, get_game(plugin.name), ending),
        )
        for plugin in all_plugins()
        for ending, read in get_game_data(get_game(plugin.name)).readers.items()
    },
    **{
        f"{plugin.name}_data": Target(
            partial(data_file, get_game(plugin.name)), partial(data_files, get_game(plugin.name))
        )
        for plugin in all_plugins()
        if plugin.data is not None
    },
}
"""The parsers by name."""
