#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "help.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/core/rng.h"
#include "stap/data/store.h"
#include "stap/eval/coverage.h"
#include "stap/folder/bars_of.h"
#include "stap/folder/model_of.h"
#include "stap/folder/run_folder.h"
#include "stap/results/test_set.h"
#include "stap/study/data_check.h"

namespace stap::app {
namespace {

struct CalibrateOptions {
  std::string run, on = "test:0.5";
  double level = 0.9;
  bool json = false;
};

// Trajectories to calibrate on, in the precision of networks.
struct CalibrationRows {
  States<float> states;
  std::size_t times = 0;
  std::string words;  // what they are
  RowParameters parameters{};
};

// "test" or "test:0.5"; empty: a file.
std::optional<double> share_of_test(const std::string& on) {
  if (on == "test") return 1.0;
  if (!on.starts_with("test:")) return std::nullopt;
  const char *begin = on.data() + 5, *end = on.data() + on.size();
  double share = 0;
  const auto read = std::from_chars(begin, end, share);
  if (read.ptr != end || read.ec != std::errc() || !(share > 0 && share <= 1))
    throw Error(
        ErrorKind::config,
        fmt::format("--on is {}, expected test, test:SHARE with a share up to 1, or a file", on));
  return share;
}

// Files may be in an order: the trajectories of a share are drawn, always the same ones.
std::vector<std::uint32_t> drawn(std::size_t n, double share) {
  std::vector<std::uint32_t> order;
  shuffle(Rng(0).split("calibrate"), n, order);
  order.resize(static_cast<std::size_t>(std::lround(share * static_cast<double>(n))));
  std::ranges::sort(order);
  return order;
}

CalibrationRows take(const TestSet& set, const std::vector<std::uint32_t>& which,
                     std::string words) {
  CalibrationRows rows{States<float>(set.states.grid(), which.size() * set.times), set.times,
                       std::move(words)};
  for (std::size_t i = 0; i < which.size(); ++i)
    for (std::size_t t = 0; t < set.times; ++t)
      convert(set.states.row(which[i] * set.times + t), rows.states.row(i * set.times + t));
  rows.parameters.names = set.parameters.names;
  for (const std::uint32_t b : which)
    rows.parameters.values.insert(rows.parameters.values.end(), set.parameters.row(b).begin(),
                                  set.parameters.row(b).end());
  return rows;
}

CalibrationRows rows_of(const CalibrateOptions& options, const Surrogate& surrogate) {
  const Grid grid = frame_grid(surrogate.grid(), surrogate.cluster);
  if (const std::optional<double> share = share_of_test(options.on)) {
    const RunResult result = read_result(options.run);
    if (result.test_sha256.empty())
      throw Error(ErrorKind::config,
                  fmt::format("{} has no test set, and single steps that are held back cannot "
                              "calibrate rollouts: give trajectories with --on FILE",
                              options.run));
    const TestSet set = find_test_set(result, grid).set;
    const auto which = drawn(set.trajectories(), *share);
    return take(
        set, which,
        fmt::format("{} of the {} trajectories of its test set", which.size(), set.trajectories()));
  }
  check_described(options.on, grid, model_info(options.run, surrogate, grid).dt, "the model");
  const TestSet set =
      read_test_set(options.on, grid, 0, 0, names_of(surrogate.engine->spec().parameters));
  return take(set, drawn(set.trajectories(), 1.0),
              fmt::format("{} of {}", counted(set.trajectories(), "trajectory", "trajectories"),
                          options.on));
}

// Bars hold for trajectories like those of the calibration: none of these may have been learned,
// and none may count twice.
std::vector<std::uint64_t> hashes_of(const CalibrationRows& rows, const RunFolder& folder) {
  const std::vector<std::uint64_t> trained = trained_states(folder.read_transitions());
  std::vector<std::uint64_t> states, first;
  for (std::size_t row = 0; row < rows.states.count(); ++row) {
    const std::uint64_t hash =
        state_hash(rows.states.row(row), rows.parameters.row(row / rows.times));
    if (std::ranges::binary_search(trained, hash))
      throw Error(
          ErrorKind::data,
          fmt::format("trajectory {} of those to calibrate on has been trained on (its "
                      "state at time {} is in {}): take others",
                      row / rows.times, row % rows.times, folder.transitions_file().string()));
    states.push_back(hash);
    if (row % rows.times == 0) first.push_back(hash);
  }
  std::ranges::sort(first);
  if (std::ranges::adjacent_find(first) != first.end())
    throw Error(
        ErrorKind::data,
        "two of the trajectories to calibrate on begin with the same state: take each once");
  std::ranges::sort(states);
  return states;
}

void run_calibrate(const CalibrateOptions& options, const Globals& globals, std::ostream& out) {
  disable_store_exit_handler();
  if (!std::filesystem::is_directory(options.run))
    throw Error(ErrorKind::config,
                fmt::format("{} is no folder of a run: only there is known what was trained on",
                            options.run));
  const RunFolder folder(options.run);
  const CommitteeFile networks = folder.newest_committee();
  Console console(globals);
  if (const std::string older = about_older_networks(options.run); !older.empty())
    console.warning(older);
  const Model model = read_model(networks.path);
  const Surrogate surrogate =
      load_surrogate(networks.path, compute_options(globals), globals.threads);
  const CalibrationRows rows = rows_of(options, surrogate);
  const std::vector<std::uint64_t> states = hashes_of(rows, folder);
  const std::vector<double> floor = bar_floors(model);
  const TrajectoriesView view{rows.states.view(), rows.times, surrogate.cluster,
                              conditions_of(rows.parameters)};
  check_level(view.count(), options.level);  // before the computing starts
  ErrorBars bars =
      fit_bars(try_bars(*surrogate.committee, view, floor, 64, &console), floor, options.level);
  bars.states = states;
  bars.weights = digest(model);
  bars.run = folder.run();
  bars.round = networks.round;
  bars.on = rows.words;
  folder.write_bars(bars);
  console.finish();

  constexpr std::size_t kMany = 100000;  // trajectories to come
  const auto [least, most] = coverage_range(bars.trajectories, bars.level, kMany);
  const double low = 100.0 * static_cast<double>(least) / kMany,
               high = 100.0 * static_cast<double>(most) / kMany;
  if (options.json) {
    config::Value value = to_value(bars);
    value.erase("states");
    value.set("output", folder.bars_file().string());
    value.set("coverage_least", low / 100);
    value.set("coverage_most", high / 100);
    out << config::json_text(value) << '\n';
    return;
  }
  out << fmt::format(
      "{}: {:g} % error bars for steps 1 to {} of the networks of round {}, from {}\n"
      "Of many new trajectories like these, {:.1f} to {:.1f} % will be within theirs\n",
      folder.bars_file().string(), 100 * bars.level, bars.steps, bars.round, bars.on, low, high);
}

}  // namespace

void add_calibrate(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<CalibrateOptions>();
  CLI::App* command =
      program.add_subcommand("calibrate", "Find out how far to trust a trained surrogate");
  command->add_option("run", options->run, "Folder of a run (its newest networks)")
      ->required()
      ->type_name("RUN");
  command
      ->add_option("--on", options->on,
                   "Trajectories of the solver that were not trained on: test:SHARE draws a share "
                   "of the run's test set (the rest can judge the bars), test takes all of it; or "
                   "an HDF5 file with `trajectory` [B,T,C,X...], or .npy file of it")
      ->capture_default_str()
      ->type_name("FILE");
  command
      ->add_option("--level", options->level,
                   "How often the error of a new trajectory shall be "
                   "within its bar")
      ->capture_default_str()
      ->type_name("P");
  command->add_flag("--json", options->json, "Print the bars as JSON");
  command->footer(
      "Writes bars.json into the folder of the run. 'stap predict --bars' then gives every "
      "prediction its error bars, and 'stap evaluate' says how well they hold on other "
      "trajectories. Networks that are trained anew need new bars.\n"
      "Example:\n  stap calibrate my-run\n  stap calibrate my-run --on solved.h5 --level 0.95");
  command->callback([options, &globals] { run_calibrate(*options, globals, std::cout); });
}

}  // namespace stap::app
