#pragma once

#include <span>
#include <string>

#include "feature_set.hpp"
#include "kernels.hpp"

namespace zerogames::chess::nnue {

using zerogames::quantized::Aligned;
using zerogames::quantized::Dense;

/// Integer weights as they are in the file, rows in the order of the formulas.
struct Weights {
  std::span<const std::int16_t> w1;  ///< N x M.
  std::span<const std::int16_t> b1;
  std::span<const std::int8_t> w2;  ///< O x 2M.
  std::span<const std::int32_t> b2;
  std::span<const std::int8_t> w3;  ///< P x O; empty for a net with three layers.
  std::span<const std::int32_t> b3;
  std::span<const std::int8_t> w4;
  std::int32_t b4 = 0;
};

/// The integer network, padded and laid out for the kernels. Read-only once made: threads share it.
class Network {
 public:
  /// `kernel`: scalar, avx2, vnni, or empty for the best this CPU has.
  Network(FeatureSet features, const Weights& weights, std::string_view kernel = "")
      : features_(std::move(features)) {
    namespace z = zerogames::quantized;
    const auto m = static_cast<int>(weights.b1.size());
    const auto o = static_cast<int>(weights.b2.size()), p = static_cast<int>(weights.b3.size());
    const auto n = static_cast<std::size_t>(features_.size());
    const bool fits = m >= 1 && m <= 2048 && o >= 1 && o <= 256 && p <= 256 &&
                      weights.w1.size() == n * m &&
                      weights.w2.size() == static_cast<std::size_t>(2) * o * m &&
                      weights.w3.size() == static_cast<std::size_t>(p) * o &&
                      weights.w4.size() == static_cast<std::size_t>(p ? p : o);
    if (!fits) throw Error("the arrays of the network do not fit together");
    width_ = z::padded(m);
    w1_.resize(n * width_);
    for (std::size_t row = 0; row < n; ++row) {
      std::copy_n(weights.w1.data() + row * m, m, w1_.data() + row * width_);
    }
    b1_.resize(width_);
    std::copy_n(weights.b1.data(), m, b1_.data());
    second_ = Dense(2 * width_, z::padded(o));
    std::copy_n(weights.b2.data(), o, second_.bias.data());
    for (int output = 0; output < o; ++output) {
      for (int input = 0; input < 2 * m; ++input) {
        const int place = input < m ? input : width_ + input - m;
        second_.weight(output, place) =
            weights.w2[static_cast<std::size_t>(output) * 2 * m + input];
      }
    }
    if (p) {
      third_ = Dense(second_.outputs, z::padded(p));
      std::copy_n(weights.b3.data(), p, third_.bias.data());
      for (int output = 0; output < p; ++output) {
        for (int input = 0; input < o; ++input) {
          third_.weight(output, input) = weights.w3[static_cast<std::size_t>(output) * o + input];
        }
      }
    }
    w4_.resize(p ? third_.outputs : second_.outputs);
    std::copy_n(weights.w4.data(), weights.w4.size(), w4_.data());
    b4_ = weights.b4;
    choose_kernel(kernel);
  }

  const FeatureSet& features() const { return features_; }
  /// Length of an accumulator in memory.
  int width() const { return width_; }
  const char* kernel() const { return kernel_; }
  const Aligned<std::int16_t>& rows() const { return w1_; }
  const Aligned<std::int16_t>& bias() const { return b1_; }

  /// The score for the side to move, not clamped, from its accumulator and the opponent's.
  int forward(const std::int16_t* own, const std::int16_t* opponent) const {
    return forward_(*this, own, opponent);
  }

 private:
  template <class Ops>
  static int forward_with(const Network& net, const std::int16_t* own,
                          const std::int16_t* opponent) {
    alignas(64) std::uint8_t x1[2 * 2048];
    alignas(64) std::uint8_t x[256];
    alignas(64) std::int32_t sums[256];
    Ops::clip(own, net.width_, x1);
    Ops::clip(opponent, net.width_, x1 + net.width_);
    Ops::multiply(net.second_, x1, sums);
    Ops::clip(sums, net.second_.outputs, x);
    if (net.third_.outputs) {
      Ops::multiply(net.third_, x, sums);
      Ops::clip(sums, net.third_.outputs, x);
    }
    return (Ops::dot(x, net.w4_.data(), static_cast<int>(net.w4_.size())) + net.b4_) >>
           zerogames::quantized::kOutputShift;
  }

  template <class Ops>
  void try_kernel(std::string_view wanted) {
    if (!Ops::supported() || !(wanted.empty() || wanted == Ops::kName)) return;
    forward_ = &forward_with<Ops>;
    kernel_ = Ops::kName;
  }
  void choose_kernel(std::string_view wanted) {
    try_kernel<zerogames::quantized::ScalarOps>(wanted);
#if defined(__AVX2__)
    try_kernel<zerogames::quantized::Avx2Ops>(wanted);
    try_kernel<zerogames::quantized::VnniOps>(wanted);
#endif
    if (!forward_) {
      throw Error("kernel '" + std::string(wanted.substr(0, 20)) +
                  "' does not run here; leave it out for the best that does");
    }
  }

  FeatureSet features_;
  int width_ = 0;
  Aligned<std::int16_t> w1_, b1_;
  Dense second_, third_;
  Aligned<std::int8_t> w4_;
  std::int32_t b4_ = 0;
  int (*forward_)(const Network&, const std::int16_t*, const std::int16_t*) = nullptr;
  const char* kernel_ = "";
};

}  // namespace zerogames::chess::nnue
