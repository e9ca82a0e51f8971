#include <nanobind/stl/array.h>
#include <nanobind/stl/vector.h>

#include "chunk_writer.hpp"
#include "pgn.hpp"
#include "zerogames/bind_game.hpp"
#include "zerogames/bind_samples.hpp"

namespace nb = nanobind;
using namespace zerogames;
using namespace zerogames::chess;

namespace {

nb::bytes to_bytes(std::string_view text) { return nb::bytes(text.data(), text.size()); }

std::string_view view_of(const nb::bytes& data) { return {data.c_str(), data.size()}; }

std::span<const ChunkRecord> chunk_game(const Chunk& chunk, std::size_t number) {
  if (number >= chunk.num_games()) throw Error("there is no such game in the chunk");
  return chunk.game(number);
}

/// The numbers of a game's records by name, one vector each.
nb::dict chunk_columns(const Chunk& chunk, std::size_t number) {
  const auto records = chunk_game(chunk, number);
  nb::dict columns;
  const auto add = [&](const char* name, auto get) {
    std::vector<decltype(get(records[0]))> column;
    for (const ChunkRecord& record : records) column.push_back(get(record));
    columns[name] = zerogames::detail::to_array(column);
  };
  const auto floats = [&](const char* name, float ChunkRecord::* member) {
    add(name, [member](const ChunkRecord& record) { return record.*member; });
  };
  floats("root_q", &ChunkRecord::root_q);
  floats("root_d", &ChunkRecord::root_d);
  floats("root_m", &ChunkRecord::root_m);
  floats("best_q", &ChunkRecord::best_q);
  floats("best_d", &ChunkRecord::best_d);
  floats("best_m", &ChunkRecord::best_m);
  floats("played_q", &ChunkRecord::played_q);
  floats("played_d", &ChunkRecord::played_d);
  floats("played_m", &ChunkRecord::played_m);
  floats("raw_q", &ChunkRecord::orig_q);
  floats("raw_d", &ChunkRecord::orig_d);
  floats("raw_m", &ChunkRecord::orig_m);
  floats("policy_kld", &ChunkRecord::policy_kld);
  add("proved", [](const ChunkRecord& record) -> std::uint8_t { return record.proved; });
  add("visits", [](const ChunkRecord& record) {
    return static_cast<std::int32_t>(std::min(record.visits, 0x7FFFFFFFU));
  });
  add("played", [](const ChunkRecord& record) -> std::int32_t { return record.played; });
  return columns;
}

/// The policies of a game end to end: offsets, actions, shares; only entries above zero.
nb::tuple chunk_policies(const Chunk& chunk, std::size_t number) {
  std::vector<std::int64_t> offsets = {0};
  std::vector<Action> actions;
  std::vector<float> shares;
  for (const ChunkRecord& record : chunk_game(chunk, number)) {
    for (Action action = 0; action < kNumActions; ++action) {
      const float p = chess::detail::load<float>(record.policy + 4 * action);
      if (p > 0) actions.push_back(action), shares.push_back(p);
    }
    offsets.push_back(static_cast<std::int64_t>(actions.size()));
  }
  using zerogames::detail::to_array;
  return nb::make_tuple(to_array(offsets), to_array(actions), to_array(shares));
}

/// Replays the moves of a game and compares every position with its record; the start as FEN.
std::string chunk_start(const Chunk& chunk, std::size_t number) {
  const auto records = chunk_game(chunk, number);
  const ChunkRecord& first = records.front();
  for (int plane = 2 * kPlanesPerPosition; plane < kChunkPlanes; ++plane) {
    if (first.planes[plane]) throw Error("the game's beginning is missing: it was cut or merged");
  }
  Board board = chunk_board(first);
  const Board start = parse_fen(kStartFen);
  const bool is_start = static_cast<const Placement&>(board) == start &&
                        board.castling == start.castling && !board.black_to_move;
  for (int plane = kPlanesPerPosition; plane < 2 * kPlanesPerPosition && !board.en_passant;
       ++plane) {
    if (first.planes[plane]) throw Error("the game's beginning is missing: it was cut or merged");
  }
  State state = State::from_fen(format_fen(board));
  std::array<std::uint64_t, kChunkPlanes> bits;
  for (std::size_t ply = 0; ply < records.size(); ++ply) {
    const ChunkRecord& record = records[ply];
    state.write_bits(Encoding{HistoryFill::kNo}, bits.data());
    if (!std::equal(bits.begin(), bits.begin() + 12, record.planes.begin()) ||
        state.board().halfmoves != record.rule50) {
      throw Error("record " + std::to_string(ply + 1) + " is not the position its moves lead to");
    }
    if (record.played < 0 || !state.is_legal(record.played)) {
      throw Error("the move played in record " + std::to_string(ply + 1) + " is not legal");
    }
    state.play(record.played);
  }
  return is_start ? std::string() : format_fen(board);
}

std::vector<PgnGame> read_pgn(const nb::bytes& data, bool values, bool comments) {
  const std::string_view text = view_of(data);
  std::vector<PgnGame> games;
  const nb::gil_scoped_release released;
  PgnParser parser(text, PgnParts{.values = values, .comments = comments});
  PgnGame game;
  while (parser.next(game)) games.push_back(std::move(game));
  return games;
}

}  // namespace

NB_MODULE(ZEROGAMES_MODULE, m) {
  init_bindings();
  nb::class_<Chunk>(m, "Chunk")
      .def(
          "__init__",
          [](Chunk* self, const nb::bytes& data) {
            const std::string_view view = view_of(data);
            const nb::gil_scoped_release released;
            new (self) Chunk(view);
          },
          nb::arg("data"), nb::keep_alive<1, 2>())
      .def_prop_ro("version", &Chunk::version)
      .def_prop_ro("num_games", &Chunk::num_games)
      .def(
          "num_positions",
          [](const Chunk& self, std::size_t game) { return chunk_game(self, game).size(); },
          nb::arg("game"))
      .def(
          "key",
          [](const Chunk& self, std::size_t game) {
            chunk_game(self, game);
            return self.key(game);
          },
          nb::arg("game"))
      .def(
          "result",
          [](const Chunk& self, std::size_t game) {
            const ChunkRecord& record = chunk_game(self, game).front();
            return record.black_to_move ? -record.result_q : record.result_q;
          },
          nb::arg("game"))
      .def(
          "samples",
          [](const Chunk& self, std::size_t game, Vector<std::int32_t> chosen) {
            chunk_game(self, game);
            SampleList samples;
            {
              const nb::gil_scoped_release released;
              self.samples(game, as_span(chosen), samples);
            }
            return to_bytes_list(samples);
          },
          nb::arg("game"), nb::arg("chosen"))
      .def("columns", &chunk_columns, nb::arg("game"))
      .def("policies", &chunk_policies, nb::arg("game"))
      .def("start", &chunk_start, nb::arg("game"));

  nb::class_<PgnGame>(m, "PgnGame")
      .def_prop_ro("tags",
                   [](const PgnGame& self) {
                     nb::dict tags;
                     for (const auto& [name, value] : self.tags) {
                       tags[nb::str(name.data(), name.size())] = to_bytes(value);
                     }
                     return tags;
                   })
      .def_ro("start", &PgnGame::start)
      .def_ro("chess960", &PgnGame::chess960)
      .def_prop_ro("actions",
                   [](const PgnGame& self) { return zerogames::detail::to_array(self.actions); })
      .def_prop_ro("values",
                   [](const PgnGame& self) { return zerogames::detail::to_array(self.values); })
      .def_prop_ro("comments",
                   [](const PgnGame& self) {
                     nb::list comments;
                     for (const auto& [ply, text] : self.comments) {
                       comments.append(nb::make_tuple(ply, to_bytes(text)));
                     }
                     return comments;
                   })
      .def_ro("result", &PgnGame::result)
      .def_prop_ro("reason", [](const PgnGame& self) { return to_bytes(self.reason); })
      .def_prop_ro("error", [](const PgnGame& self) { return to_bytes(self.error); })
      .def_ro("offset", &PgnGame::offset);
  m.def("read_pgn", &read_pgn, nb::arg("data"), nb::arg("values") = false,
        nb::arg("comments") = false);

  m.def(
      "parse_san",
      [](const State& state, std::string_view text) {
        return state.result() ? kNoAction : parse_san(state, text);
      },
      nb::arg("state"), nb::arg("text"));

  m.def(
      "write_chunk",
      [](const State& state, nb::handle game) {
        const auto actions = read_column<Action>(game, "actions");
        const auto policy_offsets = read_column<std::int64_t>(game, "policy_offsets");
        const auto policy_actions = read_column<Action>(game, "policy_actions");
        const auto policy_targets = read_column<float>(game, "policy_targets");
        const auto surprise = read_column<float>(game, "surprise");
        const auto visits = read_column<std::int32_t>(game, "visits");
        const auto proved = read_column<std::uint8_t>(game, "proved");
        const auto values = nb::cast<std::vector<Vector<float>>>(game.attr("values"));
        const auto result = nb::cast<float>(game.attr("result"));
        ChunkColumns columns{
            as_span(policy_offsets), as_span(policy_actions), as_span(policy_targets), {},
            as_span(surprise),       as_span(visits),         as_span(proved)};
        if (values.size() > columns.values.size()) throw Error("too many value columns");
        for (std::size_t i = 0; i < values.size(); ++i) columns.values[i] = as_span(values[i]);
        std::string chunk;
        {
          const nb::gil_scoped_release released;
          chunk = write_chunk(state, as_span(actions), columns, result);
        }
        return to_bytes(chunk);
      },
      nb::arg("state"), nb::arg("game"));
}
