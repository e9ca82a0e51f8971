"""Chunks on their way to the owner: each arrives, and counts once."""

from dataclasses import replace

import numpy as np
from zerogames_selfplay.players.game_chunk import GameChunk
from zerogames_selfplay.players.outbox import Inbox, Outbox

from zerogames.data import GameRecord


def chunk(seed: int) -> GameChunk:
    actions = np.zeros(20, np.int32)
    return GameChunk.of([GameRecord(game="connect4", actions=actions, result=1.0, seed=seed)])


def test_a_chunk_is_sent_until_it_is_acknowledged() -> None:
    outbox = Outbox()
    assert outbox.parcel is None
    first, second = chunk(1), chunk(2)
    outbox.put(first)
    outbox.put(second)
    assert outbox.is_full
    for acknowledged in (0, 0):
        outbox.acknowledge(acknowledged)
        assert outbox.parcel is not None
        assert outbox.parcel.chunk is first
    outbox.acknowledge(1)
    outbox.acknowledge(1)
    assert outbox.parcel is not None
    assert (outbox.parcel.number, outbox.parcel.chunk) == (2, second)
    outbox.acknowledge(2)
    assert outbox.parcel is None
    assert not outbox.is_full


def test_a_chunk_that_arrives_twice_counts_once() -> None:
    outbox, inbox = Outbox(), Inbox()
    taken = []
    for seed in range(5):
        outbox.put(chunk(seed))
    while (parcel := outbox.parcel) is not None:
        for _ in range(2):
            taken.append(inbox.take(parcel))
        if parcel.number % 2:  # Every other acknowledgement is lost.
            assert inbox.take(parcel) is None
        outbox.acknowledge(inbox.received)
    assert sum(one is not None for one in taken) == 5
    assert inbox.received == 5


def test_a_damaged_chunk_is_not_taken_and_is_sent_again() -> None:
    outbox, inbox = Outbox(), Inbox()
    outbox.put(chunk(1))
    parcel = outbox.parcel
    assert parcel is not None
    data = bytearray(parcel.chunk.games.data)
    data[len(data) // 2] ^= 1
    games = replace(parcel.chunk.games, data=bytes(data))
    assert inbox.take(replace(parcel, chunk=replace(parcel.chunk, games=games))) is None
    outbox.acknowledge(inbox.received)
    assert outbox.parcel == parcel
    assert inbox.take(parcel) is parcel.chunk
