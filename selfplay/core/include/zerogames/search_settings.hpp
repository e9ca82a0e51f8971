#pragma once

#include <string>
#include <string_view>

#include "zerogames/error.hpp"

namespace zerogames {

enum class Algorithm { kPuct, kGumbel };
enum class PuctVisits { kAlphaZero, kLc0, kKataGo };
enum class Fpu { kAbsolute, kReduction };
enum class Noise { kNone, kDirichlet, kShaped };
enum class TemperatureSchedule { kStep, kLinear, kHalfLife };

/// Every setting of a search as X(type, name, default). Meaning and unit of each are documented
/// once, in zerogames/search/settings.py, whose defaults a test compares with these.
#define ZEROGAMES_SEARCH_SETTINGS(X)                                       \
  X(Algorithm, algorithm, Algorithm::kPuct)                                \
  X(int, simulations, 800)                                                 \
  X(int, fast_simulations, 100)                                            \
  X(double, full_share, 1.0)                                               \
  X(bool, reuse_tree, true)                                                \
  X(bool, count_reused, true)                                              \
  X(int, max_nodes, 4000000)                                               \
  X(double, cpuct, 1.25)                                                   \
  X(double, cpuct_base, 19652.0)                                           \
  X(double, cpuct_factor, 1.0)                                             \
  X(double, cpuct_stdev_scale, 0.0)                                        \
  X(PuctVisits, puct_visits, PuctVisits::kAlphaZero)                       \
  X(Fpu, fpu, Fpu::kReduction)                                             \
  X(double, fpu_value, 0.2)                                                \
  X(Fpu, root_fpu, Fpu::kReduction)                                        \
  X(double, root_fpu_value, 0.0)                                           \
  X(bool, fpu_blend, false)                                                \
  X(double, draw_score, 0.0)                                               \
  X(double, moves_left_effect, 0.0)                                        \
  X(double, moves_left_slope, 0.0027)                                      \
  X(double, moves_left_threshold, 0.8)                                     \
  X(double, policy_temperature, 1.0)                                       \
  X(double, root_policy_temperature, 1.0)                                  \
  X(Noise, noise, Noise::kDirichlet)                                       \
  X(double, noise_share, 0.25)                                             \
  X(double, noise_alpha_total, 10.83)                                      \
  X(double, noise_alpha, 0.0)                                              \
  X(double, forced_playouts, 0.0)                                          \
  X(bool, prune_policy_target, false)                                      \
  X(bool, solver, true)                                                    \
  X(bool, two_fold_draws, false)                                           \
  X(bool, early_stop, false)                                               \
  X(double, virtual_loss, 1.0)                                             \
  X(double, collision_share, 0.25)                                         \
  X(TemperatureSchedule, temperature_schedule, TemperatureSchedule::kStep) \
  X(double, temperature, 1.0)                                              \
  X(double, temperature_final, 0.0)                                        \
  X(int, temperature_plies, 30)                                            \
  X(double, temperature_decay_plies, 30.0)                                 \
  X(double, temperature_value_cutoff, 2.0)                                 \
  X(bool, lcb, false)                                                      \
  X(double, lcb_stdevs, 5.0)                                               \
  X(double, lcb_min_share, 0.15)                                           \
  X(int, gumbel_considered, 16)                                            \
  X(double, gumbel_scale, 1.0)                                             \
  X(double, gumbel_visit_offset, 50.0)                                     \
  X(double, gumbel_value_scale, 0.1)                                       \
  X(bool, gumbel_rescale, true)                                            \
  X(int, cache_mebibytes, 64)

struct SearchSettings {
#define ZEROGAMES_FIELD(type, name, value) type name = value;
  ZEROGAMES_SEARCH_SETTINGS(ZEROGAMES_FIELD)
#undef ZEROGAMES_FIELD

  /// Throws Error that names the setting which makes no sense.
  void validate() const {
    require(simulations >= 1, "simulations", "at least 1");
    require(fast_simulations >= 1, "fast_simulations", "at least 1");
    require(full_share >= 0 && full_share <= 1, "full_share", "between 0 and 1");
    require(max_nodes >= 1, "max_nodes", "at least 1");
    require(cpuct >= 0, "cpuct", "at least 0");
    require(cpuct_base > 0, "cpuct_base", "above 0");
    require(draw_score >= -1 && draw_score <= 1, "draw_score", "between -1 and 1");
    require(policy_temperature > 0, "policy_temperature", "above 0");
    require(root_policy_temperature > 0, "root_policy_temperature", "above 0");
    require(noise_share >= 0 && noise_share <= 1, "noise_share", "between 0 and 1");
    require(noise_alpha_total > 0, "noise_alpha_total", "above 0");
    require(noise_alpha >= 0, "noise_alpha", "at least 0 (0: the total shared by the legal moves)");
    require(forced_playouts >= 0, "forced_playouts", "at least 0");
    require(virtual_loss > 0, "virtual_loss", "above 0");
    require(collision_share >= 0, "collision_share", "at least 0");
    require(temperature >= 0 && temperature_final >= 0, "temperature", "at least 0");
    require(temperature_decay_plies > 0, "temperature_decay_plies", "above 0");
    require(moves_left_threshold >= 0 && moves_left_threshold < 1, "moves_left_threshold",
            "in [0, 1)");
    require(lcb_stdevs > 0 && lcb_min_share >= 0, "lcb_stdevs", "above 0");
    require(gumbel_considered >= 1, "gumbel_considered", "at least 1");
    require(gumbel_scale >= 0, "gumbel_scale", "at least 0");
    require(cache_mebibytes >= 0 && cache_mebibytes <= 1 << 20, "cache_mebibytes",
            "between 0 and 1048576");
  }

 private:
  static void require(bool holds, const char* name, const char* range) {
    if (!holds) throw Error("search setting " + std::string(name) + " must be " + range);
  }
};

/// How the pool plays its games, as X(type, name, default); documented in
/// zerogames/search/settings.py.
#define ZEROGAMES_POOL_SETTINGS(X)         \
  X(int, parallel_games, 64)               \
  X(int, max_plies, 0)                     \
  X(bool, adjudicate_by_value, false)      \
  X(int, random_plies_min, 0)              \
  X(int, random_plies_max, 0)              \
  X(double, policy_plies_mean, 0.0)        \
  X(double, policy_plies_temperature, 1.0) \
  X(double, resign_value, -1.0)            \
  X(int, resign_turns, 3)                  \
  X(int, resign_min_plies, 0)              \
  X(double, never_resign_share, 0.1)

struct PoolSettings {
#define ZEROGAMES_FIELD(type, name, value) type name = value;
  ZEROGAMES_POOL_SETTINGS(ZEROGAMES_FIELD)
#undef ZEROGAMES_FIELD

  void validate() const {
    require(parallel_games >= 1 && parallel_games <= 1 << 16, "parallel_games",
            "between 1 and 65536");
    require(max_plies >= 0, "max_plies", "at least 0 (0: no limit)");
    require(random_plies_min >= 0 && random_plies_max >= random_plies_min, "random_plies_max",
            "at least random_plies_min, which is at least 0");
    require(policy_plies_mean >= 0, "policy_plies_mean", "at least 0");
    require(policy_plies_temperature > 0, "policy_plies_temperature", "above 0");
    require(resign_value >= -1 && resign_value <= 0, "resign_value", "between -1 (never) and 0");
    require(resign_turns >= 1, "resign_turns", "at least 1");
    require(never_resign_share >= 0 && never_resign_share <= 1, "never_resign_share",
            "between 0 and 1");
  }

 private:
  static void require(bool holds, const char* name, const char* range) {
    if (!holds) throw Error("pool setting " + std::string(name) + " must be " + range);
  }
};

}  // namespace zerogames
