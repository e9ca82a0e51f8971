#include "zerogames/bind_game.hpp"
#include "zerogames/bind_samples.hpp"

namespace nb = nanobind;
using namespace zerogames;

namespace {

template <class T, std::size_t Dimensions>
using Array = nb::ndarray<T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;

void require(bool fits) {
  if (!fits) throw Error("the arrays of a batch have different sizes");
}

/// Expands `samples` into the first rows of a batch.
void unpack_samples(const nb::list& samples, Array<float, 4> planes, Array<float, 2> policy,
                    Array<bool, 2> legal, Array<float, 2> result, Array<float, 2> search,
                    Array<float, 1> moves_left, Array<float, 1> weights, Array<float, 1> plies,
                    Array<const std::int32_t, 2> cell_maps,
                    Array<const std::int32_t, 2> action_maps, Vector<std::uint8_t> symmetries) {
  const std::size_t rows = samples.size(), room = planes.shape(0);
  const std::size_t cells = planes.shape(2) * planes.shape(3), actions = policy.shape(1);
  require(
      rows <= room && policy.shape(0) == room && legal.shape(0) == room &&
      legal.shape(1) == actions && result.shape(0) == room && result.shape(1) == 3 &&
      search.shape(0) == room && search.shape(1) == 3 && moves_left.shape(0) == room &&
      weights.shape(0) == room && plies.shape(0) == room &&
      (symmetries.size() == 0 || symmetries.size() >= rows) &&
      cell_maps.shape(0) == action_maps.shape(0) &&
      (symmetries.size() == 0 || (cell_maps.shape(1) == cells && action_maps.shape(1) == actions)));
  const BatchView batch{static_cast<int>(planes.shape(1)),
                        static_cast<int>(cells),
                        static_cast<int>(actions),
                        planes.data(),
                        policy.data(),
                        legal.data(),
                        result.data(),
                        search.data(),
                        moves_left.data(),
                        weights.data(),
                        plies.data()};
  std::vector<std::string_view> views;
  views.reserve(rows);
  for (const nb::handle sample : samples) {
    const auto bytes = nb::cast<nb::bytes>(sample);
    views.emplace_back(bytes.c_str(), bytes.size());
  }
  for (std::size_t row = 0; row < symmetries.size(); ++row) {
    require(symmetries.data()[row] < cell_maps.shape(0));
  }
  // The list keeps the bytes alive; nothing else may change it meanwhile.
  const nb::gil_scoped_release released;
  std::vector<float> scratch;
  for (std::size_t row = 0; row < rows; ++row) {
    Permutation permutation;
    if (symmetries.size() > 0 && symmetries.data()[row] != 0) {
      const std::size_t which = symmetries.data()[row];
      permutation = {{cell_maps.data() + which * cells, cells},
                     {action_maps.data() + which * actions, actions}};
    }
    expand_sample(views[row], batch, row, permutation, scratch);
  }
}

}  // namespace

NB_MODULE(ZEROGAMES_MODULE, m) {
  init_bindings();
  m.def("unpack_samples", &unpack_samples, nb::arg("samples"), nb::arg("planes"), nb::arg("policy"),
        nb::arg("legal"), nb::arg("result"), nb::arg("search"), nb::arg("moves_left"),
        nb::arg("weights"), nb::arg("plies"), nb::arg("cell_maps"), nb::arg("action_maps"),
        nb::arg("symmetries"));
}
