// The CPU kernels against plain loops, under sanitizers by ctest: exact-size buffers, odd shapes.

#include <cmath>
#include <cstdio>
#include <random>

#include "batch_norm.hpp"

using namespace zerogames::kernels;

namespace {

int failures = 0;

void check(bool condition, const char* what) {
  if (condition) return;
  ++failures;
  std::fprintf(stderr, "failed: %s\n", what);
}

struct Case {
  Board board;
  std::vector<std::int64_t> groups;
  int taps;
};

std::size_t index_of(const Board& b, std::int64_t n, std::int64_t c, int row, int column) {
  const std::int64_t p = row * b.width + column;
  return b.channels_last ? (n * b.positions() + p) * b.channels + c
                         : (n * b.channels + c) * b.positions() + p;
}

std::vector<float> random_values(std::size_t size, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(size);
  for (float& v : values) v = normal(random);
  return values;
}

/// Numbers as a tensor keeps them, and what it kept.
template <typename Element>
std::vector<Element> stored(const std::vector<float>& values) {
  std::vector<Element> elements(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) store_lanes(&elements[i], splat(values[i]), 1);
  return elements;
}
template <typename Element>
std::vector<float> kept(const std::vector<Element>& elements) {
  std::vector<float> values(elements.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = load_lanes(&elements[i], 1)[0];
  return values;
}

template <typename Element>
void check_close(const std::vector<Element>& elements, const std::vector<float>& b,
                 const char* what) {
  const float tolerance = std::is_same_v<Element, float> ? 2e-4f : 1.0f / 256;
  const auto a = kept(elements);
  bool close = a.size() == b.size();
  for (std::size_t i = 0; close && i < a.size(); ++i) {
    close = std::fabs(a[i] - b[i]) <= tolerance * (1.0f + std::fabs(b[i]));
  }
  check(close, what);
}

template <typename Element>
void run_as(const Case& test, std::mt19937& random) {
  const Board& b = test.board;
  std::vector<Tap> taps;
  for (std::size_t g = 0; g < test.groups.size(); ++g) {
    for (int k = 0; k < test.taps; ++k) {
      const int at = static_cast<int>((g * 7 + k * 3) % 25);
      taps.push_back({at / 5 - 2, at % 5 - 2});
    }
  }
  const Plan plan(b, test.groups, taps);
  const std::size_t size = static_cast<std::size_t>(b.batch * b.channels) * b.positions();
  const auto x_elements = stored<Element>(random_values(size, random));
  const auto grad_elements = stored<Element>(random_values(size, random));
  const auto x = kept(x_elements), grad = kept(grad_elements);
  const auto weight = random_values(b.channels * test.taps, random);
  const auto bias = random_values(b.channels, random);

  std::vector<float> expected(size), expected_grad(size), expected_weight(b.channels * test.taps),
      expected_bias(b.channels), expected_mean(b.channels), expected_x_mean(b.channels);
  const float count = static_cast<float>(b.batch) * static_cast<float>(b.positions());
  for (std::int64_t n = 0; n < b.batch; ++n) {
    std::int64_t c = 0;
    for (std::size_t g = 0; g < test.groups.size(); ++g) {
      for (std::int64_t end = c + test.groups[g]; c < end; ++c) {
        for (int row = 0; row < b.height; ++row) {
          for (int column = 0; column < b.width; ++column) {
            const std::size_t here = index_of(b, n, c, row, column);
            expected[here] = bias[c];
            expected_bias[c] += grad[here];
            for (int k = 0; k < test.taps; ++k) {
              const Tap& tap = taps[g * test.taps + k];
              const int r = row + tap.row, q = column + tap.column;
              if (r < 0 || r >= b.height || q < 0 || q >= b.width) continue;
              const std::size_t there = index_of(b, n, c, r, q);
              expected[here] += weight[c * test.taps + k] * x[there];
              expected_grad[there] += weight[c * test.taps + k] * grad[here];
              expected_weight[c * test.taps + k] += x[there] * grad[here];
            }
            expected_mean[c] += expected[here] / count;
            expected_x_mean[c] += x[here] / count;
          }
        }
      }
    }
  }

  for (const int threads : {1, 3}) {
    std::vector<Element> y(size), grad_x(size);
    std::vector<float> grad_weight(weight.size()), grad_bias(b.channels), mean(b.channels),
        variance(b.channels);
    depthwise_forward<Element>(plan,
                               {.x = x_elements.data(),
                                .input = {},
                                .weight = weight.data(),
                                .bias = bias.data(),
                                .relu = false,
                                .y = y.data(),
                                .mean = mean.data(),
                                .variance = variance.data()},
                               threads);
    check_close(y, expected, "forward");
    check_close(mean, expected_mean, "mean of the output");
    BackwardArgs<Element> args{};
    args.grad = grad_elements.data();
    args.x = x_elements.data();
    args.weight = weight.data();
    args.grad_x = grad_x.data();
    args.grad_weight = grad_weight.data();
    args.grad_bias = grad_bias.data();
    depthwise_backward(plan, args, threads);
    check_close(grad_x, expected_grad, "gradient of the input");
    check_close(grad_weight, expected_weight, "gradient of the weight");
    check_close(grad_bias, expected_bias, "gradient of the bias");

    std::vector<float> sums(2 * b.channels), scale(b.channels, 1.5f), shift(b.channels, 0.25f);
    moments(plan, x_elements.data(), mean.data(), variance.data(), threads);
    check_close(mean, expected_x_mean, "mean");
    std::vector<Element> normal(size);
    std::vector<float> rectified(size);
    for (std::size_t i = 0; i < size; ++i) rectified[i] = std::max(0.0f, x[i] * 1.5f + 0.25f);
    normalise(plan, x_elements.data(), {scale.data(), shift.data()}, true, normal.data(), threads);
    check_close(normal, rectified, "normalise");
    gradient_sums<Element>(
        plan,
        {grad_elements.data(), x_elements.data(), {scale.data(), shift.data()}, false, nullptr},
        sums.data(), threads);
    for (std::int64_t c = 0; c < b.channels; ++c) sums[c] = sums[2 * c];
    sums.resize(b.channels);
    check_close(sums, expected_bias, "sums of the gradient");
    // In place, as the fused backward pass calls it.
    auto in_place = grad_elements;
    gradient_apply<Element>(plan, {in_place.data(), x_elements.data(), {}, false, nullptr},
                            {scale.data(), scale.data(), shift.data()}, in_place.data(), threads);
    for (std::size_t i = 0; i < size; ++i) rectified[i] = 1.5f * grad[i] + 1.5f * x[i] + 0.25f;
    check_close(in_place, rectified, "gradient of the norm's input");
  }
}

template <typename Work>
void check_refused(Work work, const char* what) {
  try {
    work();
  } catch (const std::invalid_argument&) {
    return;
  }
  check(false, what);
}

}  // namespace

int main() {
  std::mt19937 random(1);
  const auto run = [&](const Case& test) {
    run_as<float>(test, random);
    run_as<Bfloat16>(test, random);
  };
  for (const bool last : {false, true}) {
    for (const int batch : {0, 1, 3, 35}) run({{batch, 13, 5, 6, last}, {5, 4, 4}, 9});
    run({{2, 40, 8, 8, last}, {14, 13, 13}, 9});
    run({{2, 32, 8, 8, last}, {32}, 9});
    run({{1, 256, 8, 8, last}, {160, 96}, 9});
    for (const int width : {7, 9, 17, 19}) run({{1, 33, 3, width, last}, {32, 1}, 9});
    run({{1, 3, 25, 25, last}, {3}, 25});
    run({{2, 2, 1, 1, last}, {1, 1}, 1});
  }
  const std::vector<std::int64_t> one{4};
  const std::vector<Tap> taps{{0, 0}}, outside{{0, 3}};
  check_refused([&] { Plan({1, 4, 26, 8, true}, one, taps); }, "a board of 26 rows");
  check_refused([&] { Plan({1, 5, 8, 8, true}, one, taps); }, "groups that miss a channel");
  check_refused([&] { Plan({1, 4, 8, 8, true}, one, outside); }, "a tap out of the window");
  if (failures == 0) std::puts("ok");
  return failures == 0 ? 0 : 1;
}
