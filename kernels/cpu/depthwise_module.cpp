// The CPU kernels as a Python module that is not linked with torch: tensors come as Python objects,
// and are asked for their type, size, layout and address.

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>

#include "batch_norm.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace zerogames::kernels;

namespace {

constexpr std::int64_t kMostChannels = 1 << 20, kMostImages = 1LL << 31;

/// Torch's names for what a tensor may be, as `use_types` was given them. Never freed: torch lives
/// as long as the process.
struct Torch {
  nb::handle float32, bfloat16, channels_last;
};
Torch torch;

void use_types(nb::object float32, nb::object bfloat16, nb::object channels_last) {
  torch = {float32.release(), bfloat16.release(), channels_last.release()};
}

/// The numbers of a tensor, which must have the type Element and the given size, and lie without
/// gaps in the computer's memory. None is absent (null).
template <typename Element>
Element* numbers_of(nb::handle tensor, std::int64_t size, bool channels_last = false) {
  if (tensor.is_none()) return nullptr;
  const nb::handle type = std::is_same_v<Element, float> ? torch.float32 : torch.bfloat16;
  if (!type.is_valid() || !nb::hasattr(tensor, "data_ptr"))
    throw nb::type_error("a tensor of torch is needed");
  const bool fits = tensor.attr("dtype").is(type) && nb::cast<bool>(tensor.attr("is_cpu")) &&
                    nb::cast<std::int64_t>(tensor.attr("numel")()) == size;
  const auto is_contiguous = [&] {
    const nb::object method = tensor.attr("is_contiguous");
    return nb::cast<bool>(channels_last ? method(nb::arg("memory_format") = torch.channels_last)
                                        : method());
  };
  if (!fits || !is_contiguous()) {
    throw std::invalid_argument("a tensor has another type, size or layout than the plan");
  }
  return reinterpret_cast<Element*>(nb::cast<std::uintptr_t>(tensor.attr("data_ptr")()));
}

/// A plan for tensors whose elements are of one type.
class TypedPlan : public Plan {
 public:
  TypedPlan(const Board& board, std::span<const std::int64_t> group_sizes,
            std::span<const Tap> offsets, bool bfloat16)
      : Plan(board, group_sizes, offsets), bfloat16_(bfloat16) {}

  template <typename Element>
  Element* board_of(nb::handle tensor) const {
    return numbers_of<Element>(tensor, board().batch * board().channels * board().positions(),
                               board().channels_last);
  }
  /// `[C, width]` in float32.
  float* columns_of(nb::handle tensor, int width) const {
    return numbers_of<float>(tensor, board().channels * width);
  }

  /// Calls `run(element)` with any element of the type.
  template <typename Run>
  void with_element(Run run) const {
    bfloat16_ ? run(Bfloat16{}) : run(float{});
  }

 private:
  bool bfloat16_;
};

std::unique_ptr<TypedPlan> make_plan(const std::array<std::int64_t, 4>& shape, bool channels_last,
                                     bool bfloat16, const std::vector<std::int64_t>& group_sizes,
                                     const std::vector<int>& offsets) {
  if (offsets.size() % 2 != 0) throw std::invalid_argument("a tap is a row and a column");
  std::vector<Tap> taps;
  for (std::size_t i = 0; i + 1 < offsets.size(); i += 2) {
    taps.push_back({offsets[i], offsets[i + 1]});
  }
  const auto [batch, channels, height, width] = shape;
  if (batch < 0 || batch > kMostImages || channels < 0 || channels > kMostChannels || height < 1 ||
      height > kMaxBoard || width < 1 || width > kMaxBoard) {
    throw std::invalid_argument("a board has 1 to 25 rows and columns and at most 2^20 channels");
  }
  const Board board{batch, channels, static_cast<int>(height), static_cast<int>(width),
                    channels_last};
  return std::make_unique<TypedPlan>(board, group_sizes, taps, bfloat16);
}

/// The tensors of a call by name; those that are not given, or None, are absent (null).
class Tensors {
 public:
  Tensors(const TypedPlan& plan, const nb::kwargs& given) : plan_(plan), given_(given) {}

  template <typename Element>
  Element* board(const char* name) {
    return plan_.board_of<Element>(find(name));
  }
  template <typename Element>
  Element* need_board(const char* name) {
    require(name);
    return board<Element>(name);
  }
  /// `[C, width]`.
  float* columns(const char* name, int width = 1) { return plan_.columns_of(find(name), width); }
  float* need_columns(const char* name, int width = 1) {
    require(name);
    return columns(name, width);
  }
  Affine affine(const char* scale, const char* shift) { return {columns(scale), columns(shift)}; }
  void require_all_read() const {
    if (num_read_ != given_.size()) throw nb::type_error("a tensor has an unknown name");
  }

 private:
  nb::object find(const char* name) {
    if (!given_.contains(name)) return nb::none();
    ++num_read_;
    return given_[name];
  }
  void require(const char* name) const {
    if (!given_.contains(name) || nb::object(given_[name]).is_none()) {
      throw nb::type_error("a tensor is missing");
    }
  }

  const TypedPlan& plan_;
  const nb::kwargs& given_;
  std::size_t num_read_ = 0;
};

/// Outputs that only come together.
void require_both(const float* one, const float* other) {
  if ((one == nullptr) != (other == nullptr)) throw nb::type_error("a tensor is missing");
}

int checked_threads(int threads) { return std::clamp(threads, 1, 256); }

void run_forward(const TypedPlan& plan, bool relu, int threads, const nb::kwargs& given) {
  plan.with_element([&]<typename Element>(Element) {
    Tensors tensors(plan, given);
    const ForwardArgs<Element> layer{.x = tensors.need_board<Element>("x"),
                                     .input = tensors.affine("input_scale", "input_shift"),
                                     .weight = tensors.need_columns("weight", plan.taps()),
                                     .bias = tensors.columns("bias"),
                                     .relu = relu,
                                     .y = tensors.need_board<Element>("y"),
                                     .mean = tensors.columns("mean"),
                                     .variance = tensors.columns("variance")};
    tensors.require_all_read();
    require_both(layer.mean, layer.variance);
    const nb::gil_scoped_release released;
    depthwise_forward<Element>(plan, layer, checked_threads(threads));
  });
}

void run_backward(const TypedPlan& plan, int threads, const nb::kwargs& given) {
  plan.with_element([&]<typename Element>(Element) {
    Tensors tensors(plan, given);
    const BackwardArgs<Element> layer{.grad = tensors.need_board<Element>("grad"),
                                      .y = tensors.board<Element>("y"),
                                      .output = tensors.affine("output_scale", "output_shift"),
                                      .a = tensors.columns("a"),
                                      .b = tensors.columns("b"),
                                      .d = tensors.columns("d"),
                                      .y_mean = tensors.columns("y_mean"),
                                      .x = tensors.need_board<Element>("x"),
                                      .input = tensors.affine("input_scale", "input_shift"),
                                      .x_mean = tensors.columns("x_mean"),
                                      .weight = tensors.need_columns("weight", plan.taps()),
                                      .grad_x = tensors.board<Element>("grad_x"),
                                      .grad_weight = tensors.columns("grad_weight", plan.taps()),
                                      .grad_bias = tensors.columns("grad_bias"),
                                      .input_sums = tensors.columns("input_sums", 2)};
    tensors.require_all_read();
    const nb::gil_scoped_release released;
    depthwise_backward<Element>(plan, layer, checked_threads(threads));
  });
}

/// The gradient behind a batch norm and an optional ReLU, from the tensors both passes have.
template <typename Element>
NormGradient<Element> read_norm(Tensors& tensors, bool relu) {
  return {tensors.need_board<Element>("grad"), tensors.need_board<Element>("x"),
          tensors.affine("scale", "shift"), relu, tensors.need_columns("mean")};
}

void run_gradient_sums(const TypedPlan& plan, bool relu, int threads, const nb::kwargs& given) {
  plan.with_element([&]<typename Element>(Element) {
    Tensors tensors(plan, given);
    const auto norm = read_norm<Element>(tensors, relu);
    auto* const sums = tensors.need_columns("sums", 2);
    tensors.require_all_read();
    const nb::gil_scoped_release released;
    gradient_sums<Element>(plan, norm, sums, checked_threads(threads));
  });
}

void run_gradient_apply(const TypedPlan& plan, bool relu, int threads, const nb::kwargs& given) {
  plan.with_element([&]<typename Element>(Element) {
    Tensors tensors(plan, given);
    const auto norm = read_norm<Element>(tensors, relu);
    const InputGradient terms{tensors.need_columns("a"), tensors.need_columns("b"),
                              tensors.need_columns("d")};
    auto* const grad_x = tensors.need_board<Element>("grad_x");
    tensors.require_all_read();
    const nb::gil_scoped_release released;
    gradient_apply<Element>(plan, norm, terms, grad_x, checked_threads(threads));
  });
}

void run_moments(const TypedPlan& plan, int threads, const nb::kwargs& given) {
  plan.with_element([&]<typename Element>(Element) {
    Tensors tensors(plan, given);
    const auto* const x = tensors.need_board<Element>("x");
    auto *const mean = tensors.need_columns("mean"), *const variance =
                                                         tensors.need_columns("variance");
    tensors.require_all_read();
    const nb::gil_scoped_release released;
    moments(plan, x, mean, variance, checked_threads(threads));
  });
}

void run_normalise(const TypedPlan& plan, bool relu, int threads, const nb::kwargs& given) {
  plan.with_element([&]<typename Element>(Element) {
    Tensors tensors(plan, given);
    const auto* const x = tensors.need_board<Element>("x");
    const Affine affine = tensors.affine("scale", "shift");
    auto* const y = tensors.need_board<Element>("y");
    tensors.require_all_read();
    const nb::gil_scoped_release released;
    normalise(plan, x, affine, relu, y, checked_threads(threads));
  });
}

}  // namespace

NB_MODULE(ZEROGAMES_MODULE, m) {
  // Torch's registry of operators keeps Python functions, and so this module, until the very end.
  nb::set_leak_warnings(false);
  m.attr("lanes") = kLanes;
  m.def("use_types", &use_types, "float32"_a, "bfloat16"_a, "channels_last"_a);
  nb::class_<TypedPlan>(m, "Plan")
      .def(nb::new_(&make_plan), "shape"_a, "channels_last"_a, "bfloat16"_a, "group_sizes"_a,
           "offsets"_a)
      .def("depthwise_forward", &run_forward, nb::kw_only(), "relu"_a = false, "threads"_a = 1,
           "tensors"_a)
      .def("depthwise_backward", &run_backward, nb::kw_only(), "threads"_a = 1, "tensors"_a)
      .def("gradient_sums", &run_gradient_sums, nb::kw_only(), "relu"_a, "threads"_a = 1,
           "tensors"_a)
      .def("gradient_apply", &run_gradient_apply, nb::kw_only(), "relu"_a, "threads"_a = 1,
           "tensors"_a)
      .def("moments", &run_moments, nb::kw_only(), "threads"_a = 1, "tensors"_a)
      .def("normalise", &run_normalise, nb::kw_only(), "relu"_a, "threads"_a = 1, "tensors"_a);
}
