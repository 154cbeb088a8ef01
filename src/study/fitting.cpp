#include "study/fitting.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/sizes.h"
#include "stap/core/error.h"
#include "stap/couple/by_hand.h"
#include "stap/nn/fno.h"
#include "stap/study/clusters.h"
#include "stap/study/method.h"
#include "study/fixed_files.h"
#include "study/statements.h"

namespace stap {
namespace {

using config::origin_of;

// What `make` gives; a complaint about `path`, and nothing, if it throws.
template <class Make>
auto attempt(const char* path, config::Complaints& complaints, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    complaints.add(path, error.what());
  }
  return decltype(make()){};
}

void check_file(const char* section, const std::filesystem::path& file,
                config::Complaints& complaints) {
  const std::string path = fmt::format("{}.path", section);
  std::error_code ignored;
  if (file.empty())
    complaints.add(path, "is missing, expected the path of a file");
  else if (!std::filesystem::exists(file, ignored))
    complaints.add(path, fmt::format("is {}, and there is no such file", file.string()));
  else if (!std::filesystem::is_regular_file(file, ignored))
    complaints.add(path, fmt::format("is {}, which is no regular file", file.string()));
  else if (!std::ifstream(file))
    complaints.add(path, fmt::format("is {}, which cannot be read", file.string()));
}

void check_files(const Study& study, config::Complaints& complaints) {
  const bool drawn = study.drawn() || study.given.find("initial") == nullptr;
  if (!drawn) check_file("initial", study.initial_file, complaints);
  if (study.given.find("test") != nullptr) check_file("test", study.test_file, complaints);
  if (study.given.find("first") != nullptr) check_file("first", study.first_file, complaints);
  if (!drawn && study.given.find("test") == nullptr && study.options.test > 0)
    complaints.add(
        "study.test",
        fmt::format("is {}, but no test trajectories can be drawn, as initial conditions "
                    "come from a file: give test: {{name: file, path: ...}}, or 0 for "
                    "none",
                    study.options.test),
        origin_of(study.given, {"study.test", "initial"}));
  if (drawn && study.options.pool == 0)
    complaints.add("study.pool",
                   "is 0, which means all of a file, but initial conditions are drawn: choose at "
                   "least 1");
}

// Nothing that a user's own solver must compute is a default.
void check_spending(const Study& study, const Sampler* sampler, config::Complaints& complaints) {
  const auto given = [&](const char* path) {
    return config::find_path(study.given, path) != nullptr;
  };
  if (study.test_file.empty() && study.initial_file.empty() && !given("study.test"))
    complaints.add("study.test",
                   fmt::format("is missing: test trajectories are {} solver steps each, so say how "
                               "many (0: none), or give test: {{name: file, path: ...}}",
                               study.options.steps));
  if (study.initial_program && !given("study.pool"))
    complaints.add("study.pool",
                   fmt::format("is missing: your program is started for every candidate, and {} "
                               "would be drawn; say how many",
                               study.options.pool));
  if (sampler != nullptr && sampler->warm_up() > 0 && !given("initial.warm_up"))
    complaints.add("initial.warm_up",
                   fmt::format("is missing: {} would evolve every candidate of the pool over {:g} "
                               "by your solver; say so, or give 0 for none",
                               sampler->name(), sampler->warm_up()));
}

// Before a run can ask anything, its pool and test set must be there.
void check_by_hand(const Study& study, const Sampler* sampler, config::Complaints& complaints) {
  if (study.test_file.empty() && study.options.test > 0)
    complaints.add("study.test",
                   fmt::format("is {}, but the solver is asked by hand, which makes no test set: "
                               "give test: {{name: file, path: ...}}, or 0 for none",
                               study.options.test),
                   origin_of(study.given, {"study.test", "solver"}));
  if (sampler != nullptr && (sampler->warm_up() > 0 || study.options.cluster > 1))
    complaints.add(
        "initial",
        fmt::format("has a warm-up of {:g}{}, but the solver is asked by hand, which makes no "
                    "pool: give initial: {{name: file, path: ...}}{}",
                    sampler->warm_up(),
                    study.options.cluster > 1
                        ? fmt::format(" (for clusters of {})", study.options.cluster)
                        : "",
                    study.options.cluster > 1 ? "" : ", or initial.warm_up: 0"),
        origin_of(study.given, {"initial.warm_up", "initial", "solver"}));
}

std::unique_ptr<Planner> try_planner(const Study& study, config::Complaints& complaints) {
  if (study.planner) return attempt("planner", complaints, [&] { return make_planner(study); });
  auto selector = attempt("base", complaints, [&] { return make_selector(study); });
  auto chooser = attempt("steps", complaints, [&] { return make_chooser(study); });
  if (!selector || !chooser) return nullptr;
  return make_two_part_planner(std::move(selector), std::move(chooser));
}

void check_method(const Study& study, const Planner& planner, config::Complaints& complaints) {
  const StudyOptions& o = study.options;
  const std::string method = method_text(study.effective);
  const std::string_view section = study.planner ? "planner" : "base";
  if (o.members < planner.members_needed())
    complaints.add("study.members",
                   fmt::format("is {}, but {} compares members: at least {} are needed", o.members,
                               method, planner.members_needed()),
                   origin_of(study.given, {"study.members", section}));
  if (o.pattern_steps() > planner.steps_most())
    complaints.add(
        "study.steps",
        fmt::format(
            "is {}{}, but {} takes at most {} steps: choose stap instead, or fewer steps", o.steps,
            o.cluster > 1 ? fmt::format(", {} clusters of {}", o.pattern_steps(), o.cluster) : "",
            method, planner.steps_most()),
        origin_of(study.given, {"study.steps", "steps", section}));
}

void check_sizes(const Study& study, config::Complaints& complaints) {
  const StudyOptions& o = study.options;
  check_budget_clusters(o, complaints);
  if (o.initial == 0 && study.first_file.empty())
    complaints.add("study.initial",
                   "is 0, but something must be there to start with: choose at least 1, or give "
                   "first: {name: file, path: ...}");
  if (o.pool > 0 && o.initial >= o.pool)
    complaints.add("study.initial",
                   fmt::format("is {}, but the pool has {} initial conditions: choose fewer or a "
                               "larger pool",
                               o.initial, o.pool),
                   origin_of(study.given, {"study.initial", "study.pool"}));
  if (o.trust_quantile > 0 && o.members < 2)
    complaints.add("study.trust_quantile",
                   fmt::format("is {}, but a trust band compares members and study.members is {}: "
                               "choose at least 2 members, or 0 for no band",
                               o.trust_quantile, o.members));
}

// How many stages of training pay is told by what is held back. The longest of them must be one
// that can be counted.
void check_stages(const Study& study, config::Complaints& complaints) {
  constexpr double kMostCounted = 1e9;
  const StudyOptions& o = study.options;
  if (o.stages == 1) return;
  if (o.validation <= 0)
    complaints.add("study.stages",
                   fmt::format("is {}, but nothing is held back that would tell how many of them "
                               "pay: set study.validation, 0.1 say, or 1 for one stage",
                               o.stages));
  const bool steps = study.train.steps > 0;
  const int first = steps ? study.train.steps : study.train.epochs;
  const double all = first * (std::ldexp(1.0, static_cast<int>(o.stages)) - 1);
  if (all > kMostCounted)
    complaints.add("study.stages",
                   fmt::format("is {}, so that a round may take {:.3g} {} (train.{} is {}): choose "
                               "fewer, at most {:g} in all",
                               o.stages, all, steps ? "steps" : "epochs",
                               steps ? "steps" : "epochs", first, kMostCounted));
}

// Sizes in bytes must not overflow, and nobody has so much room.
void check_bytes(const Study& study, config::Complaints& complaints) {
  const StudyOptions& o = study.options;
  const auto check = [&](const char* path, std::size_t rows, std::size_t states) {
    if (product_of({rows, states, study.grid.values(), sizeof(double)}) > kMaxBytes)
      complaints.add(path,
                     fmt::format("is {}, each of {} states of {} values: more than {} bytes in all",
                                 rows, states, study.grid.shape_text(), kMaxBytes));
  };
  check("study.pool", o.pool, o.cluster);
  check("study.test", o.test, o.cluster + o.steps);
}

// Sets the grid and dt of the solver; false, and a complaint, if there can be none.
bool set_grid(Study& study, Purpose purpose, config::Complaints& complaints) {
  const bool external = study.pde.row->outline != nullptr;
  if (study.solver && !external)
    complaints.add("solver", fmt::format("is for pde: external, but pde is {}, which is built in",
                                         study.pde.row->name));
  if (external) {
    const auto outline = attempt("pde", complaints, [&] {
      return std::make_optional(study.pde.row->outline(study.pde.options));
    });
    if (!outline) return false;
    study.grid = outline->grid;
    study.dt = outline->dt;
    study.channels = outline->channels;
    study.fixed = attempt("", complaints, [&] { return read_fixed_fields(study, study.grid); });
    // To look at the rest it need not be there.
    if ((!study.solver && purpose == Purpose::check) || purpose == Purpose::train) return true;
  }
  const auto solver = attempt(external && study.solver ? "solver" : "pde", complaints,
                              [&] { return make_solver(study, 1); });
  if (!solver) return external;
  study.grid = solver->grid();
  study.dt = solver->dt();
  study.channels = solver->channels();
  study.fixed = solver->fixed();
  return true;
}

}  // namespace

void check_fit(Study& study, Purpose purpose, config::Complaints& complaints) {
  if (!study.pde || !set_grid(study, purpose, complaints)) return;
  const bool external = study.pde.row->outline && study.solver;
  check_files(study, complaints);
  check_bytes(study, complaints);
  std::unique_ptr<Sampler> sampler;
  if (study.drawn())
    sampler = attempt("initial", complaints, [&] { return make_sampler(study, study.grid); });
  if (external && study.solver.row->name == kByHand)
    check_by_hand(study, sampler.get(), complaints);
  else if (external)
    check_spending(study, sampler.get(), complaints);
  check_trajectory_clusters(study.options, sampler.get(), study.dt, complaints);
  if (purpose == Purpose::generate) return;
  try {
    NetworkOptions network = study.network;
    network.conserve.clear();  // looked at below
    make_network(study.grid, network, {}, 0, varied_parameters(study.pde), study.fixed);
  } catch (const Error& error) {  // its message names the key
    complaints.add("", error.what(), origin_of(study.given, {"network.modes", "pde"}));
  }
  check_statements(study, sampler.get(), complaints);
  if (!study.has_method()) return;
  check_sizes(study, complaints);
  check_stages(study, complaints);
  if (sampler || !study.drawn()) check_charged_warm_up(study, complaints);
  if (const auto planner = try_planner(study, complaints))
    check_method(study, *planner, complaints);
}

std::string pool_note(const Study& study) {
  constexpr double kMuch = 0.9;
  const StudyOptions& o = study.options;
  if (!study.has_method() || o.pool == 0 || o.pattern_steps() == 0) return {};
  // Each is bought for one step at least, or for all.
  const bool whole = !study.planner && study.steps.row->name == "full";
  const std::size_t each = whole ? o.pattern_steps() : 1;
  const std::size_t used = o.initial + o.rounds * ((o.pattern_budget() + each - 1) / each);
  if (static_cast<double>(used) <= kMuch * static_cast<double>(o.pool)) return {};
  return fmt::format(
      "the rounds may use up to {} of the pool's {} candidates, which leaves little to choose "
      "from: "
      "a larger study.pool leaves more",
      std::min(used, o.pool), o.pool);
}

std::string hidden_channels_note(const Study& study) {
  constexpr std::size_t kWide = 4;  // times the width, as in the paper's networks
  const std::optional<FnoOptions> options = fno_options(study.network.family);
  if (!study.has_method() || !options) return {};
  const FnoOptions& o = *options;
  std::vector<std::string> wide;
  for (const auto& [key, channels] :
       {std::pair("lifting", o.lifting), std::pair("projection", o.projection)})
    if (channels > kWide * o.width &&
        config::find_path(study.given, fmt::format("network.{}", key)) == nullptr)
      wide.push_back(fmt::format("network.{} ({})", key, channels));
  if (wide.empty()) return {};
  return fmt::format(
      "{} keep{} the default although network.width is {}: about {} would train faster",
      fmt::join(wide, " and "), wide.size() == 1 ? "s" : "", o.width, kWide * o.width);
}

}  // namespace stap
