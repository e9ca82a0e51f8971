#include "leela.hpp"
#include "zerogames/bind_game.hpp"
#include "zerogames/bind_samples.hpp"

namespace nb = nanobind;
using namespace zerogames;
using namespace zerogames::go;

namespace {

std::span<const LeelaRecord> chunk_game(const LeelaChunk& chunk, std::size_t number) {
  if (number >= chunk.num_games()) throw Error("there is no such game in the chunk");
  return chunk.game(number);
}

std::string_view view_of(const nb::bytes& data) { return {data.c_str(), data.size()}; }

}  // namespace

NB_MODULE(ZEROGAMES_MODULE, m) {
  init_bindings();
  nb::class_<LeelaChunk>(m, "LeelaChunk")
      .def_static(
          "from_text",
          [](const nb::bytes& text, int size) {
            const std::string_view view = view_of(text);
            const nb::gil_scoped_release released;
            return LeelaChunk::from_text(view, size);
          },
          nb::arg("text"), nb::arg("size"))
      .def_static(
          "from_binary",
          [](const nb::bytes& data) {
            const std::string_view view = view_of(data);
            const nb::gil_scoped_release released;
            return LeelaChunk::from_binary(view);
          },
          nb::arg("data"))
      .def_prop_ro("size", &LeelaChunk::size)
      .def_prop_ro("num_dropped", &LeelaChunk::num_dropped)
      .def_prop_ro("num_games", &LeelaChunk::num_games)
      .def(
          "num_positions",
          [](const LeelaChunk& self, std::size_t game) { return chunk_game(self, game).size(); },
          nb::arg("game"))
      .def(
          "key",
          [](const LeelaChunk& self, std::size_t game) {
            chunk_game(self, game);
            return self.key(game);
          },
          nb::arg("game"))
      .def(
          "result",
          [](const LeelaChunk& self, std::size_t game) {
            const LeelaRecord& record = chunk_game(self, game).front();
            return record.to_play == kBlack ? record.result : -record.result;
          },
          nb::arg("game"))
      .def(
          "samples",
          [](const LeelaChunk& self, std::size_t game, Vector<std::int32_t> chosen,
             std::string_view encoding_name) {
            chunk_game(self, game);
            const auto encoding = State::parse_encoding(encoding_name);
            SampleList samples;
            {
              const nb::gil_scoped_release released;
              self.samples(game, as_span(chosen), encoding, samples);
            }
            return to_bytes_list(samples);
          },
          nb::arg("game"), nb::arg("chosen"), nb::arg("encoding"));
}
