// The CPU kernels as a Python module without torch: tensors come as addresses (0 = absent) whose
// shape, type and memory format `zerogames_kernels.depthwise` has checked.

#include <nanobind/nanobind.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

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

std::unique_ptr<TypedPlan> make_plan(std::int64_t batch, std::int64_t channels, int height,
                                     int width, bool channels_last, bool bfloat16,
                                     const std::vector<std::int64_t>& group_sizes,
                                     const std::vector<int>& offsets) {
  std::vector<Tap> taps;
  for (std::size_t i = 0; i + 1 < offsets.size(); i += 2) {
    taps.push_back({offsets[i], offsets[i + 1]});
  }
  const Board board{batch, channels, height, width, channels_last};
  return std::make_unique<TypedPlan>(board, group_sizes, taps, bfloat16);
}

}  // namespace

NB_MODULE(ZEROGAMES_MODULE, m) {
  // Torch's registry of operators keeps Python functions, and so this module, until the very end.
  nb::set_leak_warnings(false);
  m.attr("lanes") = kLanes;
  nb::class_<TypedPlan>(m, "Plan")
      .def(nb::new_(&make_plan), "batch"_a, "channels"_a, "height"_a, "width"_a, "channels_last"_a,
           "bfloat16"_a, "group_sizes"_a, "offsets"_a)
      .def(
          "depthwise_forward",
          [](const TypedPlan& plan, Address x, Address input_scale, Address input_shift,
             Address weight, Address bias, bool relu, Address y, Address mean, Address variance,
             int threads) {
            plan.with_element([=, &plan]<typename Element>(Element) {
              depthwise_forward<Element>(plan,
                                         {.x = at<Element>(x),
                                          .input = {at(input_scale), at(input_shift)},
                                          .weight = at(weight),
                                          .bias = at(bias),
                                          .relu = relu,
                                          .y = at<Element>(y),
                                          .mean = at(mean),
                                          .variance = at(variance)},
                                         threads);
            });
          },
          nb::kw_only(), "x"_a, "input_scale"_a = 0, "input_shift"_a = 0, "weight"_a, "bias"_a = 0,
          "relu"_a = false, "y"_a, "mean"_a = 0, "variance"_a = 0, "threads"_a = 1,
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "depthwise_backward",
          [](const TypedPlan& plan, Address grad, Address y, Address output_scale,
             Address output_shift, Address a, Address b, Address d, Address y_mean, Address x,
             Address input_scale, Address input_shift, Address x_mean, Address weight,
             Address grad_x, Address grad_weight, Address grad_bias, Address input_sums,
             int threads) {
            plan.with_element([=, &plan]<typename Element>(Element) {
              depthwise_backward<Element>(plan,
                                          {.grad = at<Element>(grad),
                                           .y = at<Element>(y),
                                           .output = {at(output_scale), at(output_shift)},
                                           .a = at(a),
                                           .b = at(b),
                                           .d = at(d),
                                           .y_mean = at(y_mean),
                                           .x = at<Element>(x),
                                           .input = {at(input_scale), at(input_shift)},
                                           .x_mean = at(x_mean),
                                           .weight = at(weight),
                                           .grad_x = at<Element>(grad_x),
                                           .grad_weight = at(grad_weight),
                                           .grad_bias = at(grad_bias),
                                           .input_sums = at(input_sums)},
                                          threads);
            });
          },
          nb::kw_only(), "grad"_a, "y"_a = 0, "output_scale"_a = 0, "output_shift"_a = 0, "a"_a = 0,
          "b"_a = 0, "d"_a = 0, "y_mean"_a = 0, "x"_a, "input_scale"_a = 0, "input_shift"_a = 0,
          "x_mean"_a = 0, "weight"_a, "grad_x"_a = 0, "grad_weight"_a = 0, "grad_bias"_a = 0,
          "input_sums"_a = 0, "threads"_a = 1, nb::call_guard<nb::gil_scoped_release>())
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
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "gradient_sums",
          [](const TypedPlan& plan, Address grad, Address x, Address scale, Address shift,
             bool relu, Address mean, Address sums, int threads) {
            plan.with_element([=, &plan]<typename Element>(Element) {
              gradient_sums<Element>(
                  plan, {at<Element>(grad), at<Element>(x), {at(scale), at(shift)}, relu, at(mean)},
                  at(sums), threads);
            });
          },
          nb::kw_only(), "grad"_a, "x"_a, "scale"_a, "shift"_a, "relu"_a, "mean"_a, "sums"_a,
          "threads"_a = 1, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "gradient_apply",
          [](const TypedPlan& plan, Address grad, Address x, Address scale, Address shift,
             bool relu, Address a, Address b, Address d, Address mean, Address grad_x,
             int threads) {
            plan.with_element([=, &plan]<typename Element>(Element) {
              gradient_apply<Element>(
                  plan, {at<Element>(grad), at<Element>(x), {at(scale), at(shift)}, relu, at(mean)},
                  {at(a), at(b), at(d)}, at<Element>(grad_x), threads);
            });
          },
          nb::kw_only(), "grad"_a, "x"_a, "scale"_a = 0, "shift"_a = 0, "relu"_a, "a"_a, "b"_a,
          "d"_a, "mean"_a, "grad_x"_a, "threads"_a = 1, nb::call_guard<nb::gil_scoped_release>());
}
