// The CPU kernels as a Python module without torch: tensors come as addresses (0 = absent) whose
// shape, type and memory format `zerogames_kernels.depthwise` has checked.

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

using Address = std::uintptr_t;

template <typename Element = float>
Element* at(Address address) {
  return reinterpret_cast<Element*>(address);
}

/// A plan for tensors whose elements are of one type.
class TypedPlan : public Plan {
 public:
  TypedPlan(const Board& board, std::span<const std::int64_t> group_sizes,
            std::span<const Tap> offsets, bool bfloat16)
      : Plan(board, group_sizes, offsets), bfloat16_(bfloat16) {}

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
  std::vector<Tap> taps;
  for (std::size_t i = 0; i + 1 < offsets.size(); i += 2) {
    taps.push_back({offsets[i], offsets[i + 1]});
  }
  const auto [batch, channels, height, width] = shape;
  const Board board{batch, channels, static_cast<int>(height), static_cast<int>(width),
                    channels_last};
  return std::make_unique<TypedPlan>(board, group_sizes, taps, bfloat16);
}

/// The tensors of a call by name; those that are not given are absent (null).
class Tensors {
 public:
  explicit Tensors(const nb::kwargs& given) : given_(given) {}

  template <typename Element = float>
  Element* at(const char* name) {
    if (!given_.contains(name)) return nullptr;
    ++num_read_;
    return reinterpret_cast<Element*>(nb::cast<Address>(given_[name]));
  }
  template <typename Element = float>
  Element* need(const char* name) {
    if (!given_.contains(name)) throw nb::type_error("a tensor is missing");
    return at<Element>(name);
  }
  void require_all_read() const {
    if (num_read_ != given_.size()) throw nb::type_error("a tensor has an unknown name");
  }

 private:
  const nb::kwargs& given_;
  std::size_t num_read_ = 0;
};

void run_forward(const TypedPlan& plan, bool relu, int threads, const nb::kwargs& given) {
  plan.with_element([&]<typename Element>(Element) {
    Tensors tensors(given);
    const ForwardArgs<Element> layer{
        .x = tensors.need<Element>("x"),
        .input = {tensors.at("input_scale"), tensors.at("input_shift")},
        .weight = tensors.need("weight"),
        .bias = tensors.at("bias"),
        .relu = relu,
        .y = tensors.need<Element>("y"),
        .mean = tensors.at("mean"),
        .variance = tensors.at("variance")};
    tensors.require_all_read();
    const nb::gil_scoped_release released;
    depthwise_forward<Element>(plan, layer, threads);
  });
}

void run_backward(const TypedPlan& plan, int threads, const nb::kwargs& given) {
  plan.with_element([&]<typename Element>(Element) {
    Tensors tensors(given);
    const BackwardArgs<Element> layer{
        .grad = tensors.need<Element>("grad"),
        .y = tensors.at<Element>("y"),
        .output = {tensors.at("output_scale"), tensors.at("output_shift")},
        .a = tensors.at("a"),
        .b = tensors.at("b"),
        .d = tensors.at("d"),
        .y_mean = tensors.at("y_mean"),
        .x = tensors.need<Element>("x"),
        .input = {tensors.at("input_scale"), tensors.at("input_shift")},
        .x_mean = tensors.at("x_mean"),
        .weight = tensors.need("weight"),
        .grad_x = tensors.at<Element>("grad_x"),
        .grad_weight = tensors.at("grad_weight"),
        .grad_bias = tensors.at("grad_bias"),
        .input_sums = tensors.at("input_sums")};
    tensors.require_all_read();
    const nb::gil_scoped_release released;
    depthwise_backward<Element>(plan, layer, threads);
  });
}

/// The gradient behind a batch norm and an optional ReLU, from the tensors both passes have.
template <typename Element>
NormGradient<Element> read_norm(Tensors& tensors, bool relu) {
  return {tensors.need<Element>("grad"),
          tensors.need<Element>("x"),
          {tensors.at("scale"), tensors.at("shift")},
          relu,
          tensors.need("mean")};
}

void run_gradient_sums(const TypedPlan& plan, bool relu, int threads, const nb::kwargs& given) {
  plan.with_element([&]<typename Element>(Element) {
    Tensors tensors(given);
    const auto norm = read_norm<Element>(tensors, relu);
    auto* const sums = tensors.need("sums");
    tensors.require_all_read();
    const nb::gil_scoped_release released;
    gradient_sums<Element>(plan, norm, sums, threads);
  });
}

void run_gradient_apply(const TypedPlan& plan, bool relu, int threads, const nb::kwargs& given) {
  plan.with_element([&]<typename Element>(Element) {
    Tensors tensors(given);
    const auto norm = read_norm<Element>(tensors, relu);
    const InputGradient terms{tensors.need("a"), tensors.need("b"), tensors.need("d")};
    auto* const grad_x = tensors.need<Element>("grad_x");
    tensors.require_all_read();
    const nb::gil_scoped_release released;
    gradient_apply<Element>(plan, norm, terms, grad_x, threads);
  });
}

}  // namespace

NB_MODULE(ZEROGAMES_MODULE, m) {
  // Torch's registry of operators keeps Python functions, and so this module, until the very end.
  nb::set_leak_warnings(false);
  m.attr("lanes") = kLanes;
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
      .def(
          "moments",
          [](const TypedPlan& plan, Address x, Address mean, Address variance, int threads) {
            plan.with_element([=, &plan]<typename Element>(Element) {
              moments(plan, at<Element>(x), at(mean), at(variance), threads);
            });
          },
          nb::kw_only(), "x"_a, "mean"_a, "variance"_a, "threads"_a = 1,
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "normalise",
          [](const TypedPlan& plan, Address x, Address scale, Address shift, bool relu, Address y,
             int threads) {
            plan.with_element([=, &plan]<typename Element>(Element) {
              normalise(plan, at<Element>(x), {at(scale), at(shift)}, relu, at<Element>(y),
                        threads);
            });
          },
          nb::kw_only(), "x"_a, "scale"_a, "shift"_a, "relu"_a, "y"_a, "threads"_a = 1,
          nb::call_guard<nb::gil_scoped_release>());
}
