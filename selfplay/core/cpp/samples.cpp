#include <algorithm>

#include "zerogames/bind_game.hpp"
#include "zerogames/bind_samples.hpp"

namespace nb = nanobind;
using namespace zerogames;

namespace {

template <class T, std::size_t Dimensions>
using Array = nb::ndarray<T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;

void require(bool fits) {
  if (!fits) throw Error("the arrays of a batch do not fit together");
}

template <class T, std::size_t Dimensions>
Array<T, Dimensions> field(nb::handle owner, const char* name) {
  Array<T, Dimensions> array;
  const nb::object value = owner.attr(name);  // It may be missing, which `try_cast` must not meet.
  if (!nb::try_cast(value, array, false)) {
    throw Error("the field " + std::string(name) + " of a batch is not a fitting array");
  }
  return array;
}

/// Throws Error unless all are indices below `size`.
void require_indices(const Array<const std::int32_t, 2>& map) {
  const std::int32_t size = static_cast<std::int32_t>(map.shape(1));
  require(std::ranges::all_of(std::span(map.data(), map.size()),
                              [=](std::int32_t index) { return index >= 0 && index < size; }));
}

/// Expands `samples` into the first rows of `out`, a zerogames.data.sample.SampleBatch. With
/// `symmetries`, a zerogames.data.sample.Symmetries, each sample is permuted by one of them.
void unpack_samples(const nb::list& samples, nb::handle out, nb::handle symmetries,
                    Vector<std::uint8_t> chosen) {
  const auto planes = field<float, 4>(out, "planes");
  const auto policy = field<float, 2>(out, "policy");
  const auto legal = field<bool, 2>(out, "legal");
  const auto result = field<float, 2>(out, "result");
  const auto search = field<float, 2>(out, "search");
  const auto moves_left = field<float, 1>(out, "moves_left");
  const auto weights = field<float, 1>(out, "weights");
  const auto plies = field<float, 1>(out, "plies");
  const std::size_t rows = samples.size(), room = planes.shape(0);
  const std::size_t cells = planes.shape(2) * planes.shape(3), actions = policy.shape(1);
  require(rows <= room && policy.shape(0) == room && legal.shape(0) == room &&
          legal.shape(1) == actions && result.shape(0) == room && result.shape(1) == 3 &&
          search.shape(0) == room && search.shape(1) == 3 && moves_left.shape(0) == room &&
          weights.shape(0) == room && plies.shape(0) == room);
  Array<const std::int32_t, 2> cell_maps, action_maps;
  const bool permute = !symmetries.is_none();
  if (permute) {
    cell_maps = field<const std::int32_t, 2>(symmetries, "cells");
    action_maps = field<const std::int32_t, 2>(symmetries, "actions");
    require(chosen.size() >= rows && cell_maps.shape(0) == action_maps.shape(0) &&
            cell_maps.shape(1) == cells && action_maps.shape(1) == actions);
    require_indices(cell_maps);
    require_indices(action_maps);
    for (std::size_t row = 0; row < rows; ++row) require(chosen.data()[row] < cell_maps.shape(0));
  }
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
  // They keep the bytes alive if another thread changes the list.
  std::vector<nb::bytes> held;
  std::vector<std::string_view> views;
  held.reserve(rows);
  views.reserve(rows);
  for (const nb::handle sample : samples) {
    const nb::bytes& bytes = held.emplace_back(nb::cast<nb::bytes>(sample));
    views.emplace_back(bytes.c_str(), bytes.size());
  }
  const nb::gil_scoped_release released;
  std::vector<float> scratch;
  for (std::size_t row = 0; row < rows; ++row) {
    Permutation permutation;
    if (permute && chosen.data()[row] != 0) {
      const std::size_t which = chosen.data()[row];
      permutation = {{cell_maps.data() + which * cells, cells},
                     {action_maps.data() + which * actions, actions}};
    }
    expand_sample(views[row], batch, row, permutation, scratch);
  }
}

}  // namespace

NB_MODULE(ZEROGAMES_MODULE, m) {
  init_bindings();
  m.def("unpack_samples", &unpack_samples, nb::arg("samples"), nb::arg("out"),
        nb::arg("symmetries").none(), nb::arg("chosen"));
}
