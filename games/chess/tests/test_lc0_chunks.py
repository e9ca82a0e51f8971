"""Self-play games that Lc0 wrote, reproduced from their moves alone."""

import gzip
from pathlib import Path

import numpy as np

import zerogames

GAME = zerogames.get_game("chess")
V6 = np.dtype(
    {
        "names": ["probabilities", "planes", "castling", "black", "rule50", "played"],
        "formats": [("<f4", 1858), ("u1", 832), ("u1", 4), "u1", "u1", "<u2"],
        "offsets": [8, 7440, 8272, 8276, 8277, 8344],
        "itemsize": 8356,
    }
)
RESULTS = {"whitewon": 1.0, "blackwon": -1.0, "draw": 0.0}


def test_planes_legal_moves_and_played_moves_are_lc0s(shared: Path) -> None:
    chunks = shared / "chess" / "lc0-v6-chunks"
    records = 0
    for line in (chunks / "moves.txt").read_text().splitlines():
        name, *fields = line.partition(" moves ")[0].split()
        moves = line.partition(" moves ")[2].split()
        data = gzip.decompress((chunks / name).read_bytes())
        chunk = np.frombuffer(data, V6)
        state = GAME.initial_state()
        for record, move in zip(chunk, moves, strict=True):
            action = GAME.parse_action(state, move)
            assert action == record["played"]
            legal = np.flatnonzero(record["probabilities"] >= 0)
            assert np.array_equal(state.legal_actions(), legal)
            packed = state.pack("lc0-classic:fill=no")  # type: ignore[attr-defined]
            bits = np.unpackbits(np.frombuffer(packed, np.uint8, 832), bitorder="little")
            assert np.array_equal(np.packbits(bits), record["planes"]), (name, state.plies)
            constants = np.frombuffer(packed, "<f4", offset=832)
            assert np.array_equal(constants[:4], record["castling"])
            assert constants[4] == record["black"]
            assert constants[5] == record["rule50"]
            state = state.play(action)
            records += 1
        result = RESULTS[dict(field.split("=") for field in fields)["result"]]
        if state.result is not None:
            assert state.result == result
    assert records > 4000
