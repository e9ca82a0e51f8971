// The search for games written in Python, and the formulas that tests check one by one.

#include <nanobind/stl/pair.h>

#include "zerogames/bind_play.hpp"
#include "zerogames/python_game.hpp"

namespace nb = nanobind;
using namespace zerogames;

NB_MODULE(ZEROGAMES_MODULE, m) {
  init_bindings();

  nb::class_<PythonGame> game(m, "PythonGame");
  game.def(nb::init<nb::object, int>(), nb::arg("state"), nb::arg("action_size"));
  bind_play(game);
  // Every native game has classes of its own with the same members; these stand for all of them.
  for (const char* name : {"Search", "Pool", "Rollouts"}) m.attr(name) = game.attr(name);

  m.def("search_defaults", [] { return detail::write_search_settings({}); });
  m.def("pool_defaults", [] { return detail::write_pool_settings({}); });

  m.def(
      "exploration",
      [](nb::handle settings, double child_visits) {
        return exploration(detail::read_search_settings(settings), child_visits);
      },
      nb::arg("settings"), nb::arg("child_visits"));
  m.def("cpuct_stdev_factor", &cpuct_stdev_factor, nb::arg("scale"), nb::arg("mean"),
        nb::arg("square"), nb::arg("visits"));
  m.def(
      "moves_left_utility",
      [](nb::handle settings, double q, double child, double parent) {
        return moves_left_utility(detail::read_search_settings(settings), q, child, parent);
      },
      nb::arg("settings"), nb::arg("q"), nb::arg("child"), nb::arg("parent"));
  m.def(
      "temperature_at",
      [](nb::handle settings, int ply) {
        return temperature_at(detail::read_search_settings(settings), ply);
      },
      nb::arg("settings"), nb::arg("ply"));
  m.def(
      "dirichlet_alpha_shares",
      [](const std::vector<float>& priors, bool shaped) {
        return dirichlet_alpha_shares(shaped ? Noise::kShaped : Noise::kDirichlet, priors);
      },
      nb::arg("priors"), nb::kw_only(), nb::arg("shaped"));
  m.def(
      "noised_priors",
      [](nb::handle settings, std::vector<float> priors, std::uint64_t seed) {
        Random random(seed);
        add_dirichlet_noise(detail::read_search_settings(settings), priors, random);
        return priors;
      },
      nb::arg("settings"), nb::arg("priors"), nb::arg("seed"));
  m.def("halving_table", &halving_table, nb::arg("considered"), nb::arg("simulations"));
  m.def(
      "policy_surprise",
      [](const std::vector<double>& target, const std::vector<double>& prior) {
        if (target.size() != prior.size()) throw Error("target and prior differ in length");
        return policy_surprise(target, prior);
      },
      nb::arg("target"), nb::arg("prior"));

  const auto children = [](const std::vector<double>& priors, const std::vector<double>& visits,
                           const std::vector<double>& values,
                           const std::vector<double>& variances) {
    std::vector<RootChild> rows(visits.size());
    if (priors.size() != rows.size() || values.size() != rows.size() ||
        variances.size() != rows.size()) {
      throw Error("all lists must have the same length");
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].action = static_cast<int>(i);
      rows[i].prior = priors[i];
      rows[i].visits = visits[i];
      rows[i].value = values[i];
      rows[i].variance = variances[i];
    }
    return rows;
  };
  m.def(
      "pruned_visits",
      [children](nb::handle settings, const std::vector<double>& priors,
                 const std::vector<double>& visits, const std::vector<double>& values) {
        return pruned_visits(detail::read_search_settings(settings),
                             children(priors, visits, values, std::vector<double>(visits.size())));
      },
      nb::arg("settings"), nb::arg("priors"), nb::arg("visits"), nb::arg("values"));
  m.def(
      "lcb_weights",
      [children](const std::vector<double>& visits, const std::vector<double>& values,
                 const std::vector<double>& variances, double stdevs, double min_share) {
        return lcb_weights(children(std::vector<double>(visits.size()), visits, values, variances),
                           visits, stdevs, min_share);
      },
      nb::arg("visits"), nb::arg("values"), nb::arg("variances"), nb::kw_only(),
      nb::arg("stdevs") = 5.0, nb::arg("min_share") = 0.15);
  m.def(
      "random_draws",
      [](const std::string& distribution, std::uint64_t seed, std::size_t count, double shape) {
        Random random(seed);
        std::vector<double> draws(count);
        for (double& draw : draws) {
          if (distribution == "gamma") {
            draw = random.gamma(shape);
          } else if (distribution == "gumbel") {
            draw = random.gumbel();
          } else {
            draw = random.uniform();
          }
        }
        return draws;
      },
      nb::arg("distribution"), nb::arg("seed"), nb::arg("count"), nb::arg("shape") = 1.0);
}
