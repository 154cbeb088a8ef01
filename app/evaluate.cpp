#include <cmath>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "error_bars.h"
#include "help.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/data/store.h"
#include "stap/eval/coverage.h"
#include "stap/eval/metrics.h"
#include "stap/folder/bars_of.h"
#include "stap/folder/model_of.h"
#include "stap/folder/run_folder.h"
#include "stap/results/test_set.h"
#include "stap/study/data_check.h"

namespace stap::app {
namespace {

struct EvaluateOptions {
  std::string model;  ///< a model file or a run folder
  std::string test;   ///< empty: the run's own
  bool images = false;
  bool json = false;
};

// The file that is given, or the test set of the run whose folder the model is.
RunTestSet test_set_of(const EvaluateOptions& options, const Surrogate& surrogate) {
  const Grid grid = frame_grid(surrogate.grid(), surrogate.cluster);
  if (!options.test.empty()) {
    check_described(options.test, grid, model_info(options.model, surrogate, grid).dt, "the model");
    return {options.test,
            read_test_set(options.test, grid, 0, 0, names_of(surrogate.engine->spec().parameters))};
  }
  if (!std::filesystem::is_directory(options.model))
    throw Error(ErrorKind::config,
                "--test is required: a model file, unlike the folder of a run, has no test set");
  return find_test_set(read_result(options.model), grid);
}

struct Evaluated {
  Metrics metrics;
  std::optional<JudgedBars> bars{};  ///< of networks that have some
};

Evaluated evaluate_on(const Surrogate& surrogate, const RunTestSet& test,
                      const std::optional<ErrorBars>& bars, std::span<const StateMap> images,
                      Observer& observer, int threads) {
  const TestSet& exact = test.set;
  States<float> states(exact.states.grid(), exact.states.count());
  convert(exact.states.values(), states.values());
  const TrajectoriesView view{std::as_const(states).view(), exact.times, surrogate.cluster,
                              conditions_of(exact.parameters)};
  try {
    Evaluated done{evaluate(*surrogate.committee, view, 64, &observer, threads, images)};
    if (bars) done.bars = judge_bars(*bars, *surrogate.committee, view, &observer);
    return done;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    throw Error(ErrorKind::data, fmt::format("{}: {}", test.file.string(), error.what()));
  }
}

// Empty where a file does not say them.
std::vector<std::string> names_of_channels(const std::filesystem::path& given,
                                           const Surrogate& surrogate, const Grid& grid) {
  std::error_code error;
  if (!std::filesystem::is_directory(given, error)) return surrogate.problem.channels;
  return channel_names(RunFolder(given).read_manifest(), grid.channels);
}

void print_table(const Metrics& metrics, const std::vector<std::string>& channels,
                 const std::string& model, const std::string& test, std::ostream& out) {
  const Errors& mean = metrics.mean_model;
  const auto text = [&](double value, const Errors& errors) {
    if (std::isnan(value)) return std::string("truth is 0");
    return std::isfinite(value) ? fmt::format("{:.4e}", value)
                                : fmt::format("div({})", errors.diverged);
  };
  constexpr const char* kRow = "{:<18}{:<12}{:>12}{:>12}{:>12}{:>12}\n";
  out << fmt::format("model  {}: {}\n", model, counted(metrics.members, "member", "members"));
  out << fmt::format("test   {}: {} of {}; {} of {} rollouts diverged\n\n", test,
                     counted(metrics.trajectories, "trajectory", "trajectories"),
                     counted(metrics.steps, "step", "steps"), metrics.diverged,
                     metrics.trajectories * metrics.members);
  out << fmt::format(kRow, "", "", "mean", "50 %", "95 %", "99 %");
  const auto row = [&](const char* name, const char* of, const Errors& e, bool published) {
    const auto shown = [&](double value) {
      if (!published) return text(value, e);
      return metrics.steps / metrics.cluster < 2 ? std::string("-")
                                                 : text(metrics.to_published(value), e);
    };
    out << fmt::format(kRow, name, of, shown(e.rmse), shown(e.rmse_q50), shown(e.rmse_q95),
                       shown(e.rmse_q99));
  };
  row("RMSE", "members", metrics, false);
  row("", "averaged", mean, false);
  row("RMSE published", "members", metrics, true);
  row("", "averaged", mean, true);
  constexpr const char* kPair = "{:<18}{:>12}{:>12}\n";
  out << '\n' << fmt::format(kPair, "", "members", "averaged");
  const auto standard_error = [&](const Errors& e) {
    return metrics.trajectories < 2 ? std::string("-") : text(e.rmse_standard_error, e);
  };
  out << fmt::format(kPair, "RMSE, std. error", standard_error(metrics), standard_error(mean));
  out << fmt::format(kPair, "NRMSE", text(metrics.nrmse, metrics), text(mean.nrmse, mean));
  out << fmt::format(kPair, "MAE", text(metrics.mae, metrics), text(mean.mae, mean));
  const std::size_t count = metrics.rmse_by_channel.size();
  for (std::size_t c = 0; c < count && count > 1; ++c)
    out << fmt::format(
        kPair,
        fmt::format("RMSE, {}", c < channels.size() ? channels[c] : fmt::format("channel {}", c)),
        text(metrics.rmse_by_channel[c], metrics), text(mean.rmse_by_channel[c], mean));
  for (std::size_t i = 0; i < metrics.rmse_by_step.size(); ++i)
    out << fmt::format(kPair, fmt::format("RMSE, step {}", i + 1),
                       text(metrics.rmse_by_step[i], metrics), text(mean.rmse_by_step[i], mean));
}

std::string images_text(std::span<const StateMap> images) {
  return images.empty() ? "" : fmt::format(", every step averaged over {} images", images.size());
}

void run_evaluate(const EvaluateOptions& options, const Globals& globals, std::ostream& out) {
  disable_store_exit_handler();
  const std::filesystem::path model = model_of(options.model);
  const Surrogate surrogate = load_surrogate(model, compute_options(globals), globals.threads);
  Console console(globals);
  if (const std::string older = about_older_networks(options.model); !older.empty())
    console.warning(older);
  const Grid grid = frame_grid(surrogate.grid(), surrogate.cluster);
  const RunTestSet test = test_set_of(options, surrogate);
  const std::vector<StateMap> images =
      options.images ? images_of(options.model, grid, surrogate.cluster) : std::vector<StateMap>();
  const FoundBars found = find_bars(options.model);
  if (found.stale) console.warning(found.absent);
  // They were calibrated without images.
  const auto& bars = images.empty() ? found.bars : std::optional<ErrorBars>();
  const auto [metrics, judged] =
      evaluate_on(surrogate, test, bars, images, console, globals.threads);
  console.finish();
  if (judged)
    if (const std::string warning = coverage_warning(*judged); !warning.empty())
      console.warning(warning);
  if (!options.json) {
    print_table(metrics, names_of_channels(options.model, surrogate, grid),
                model.string() + images_text(images), test.file.string(), out);
    if (judged) out << '\n' << coverage_text(*judged);
    return;
  }
  config::Value result;
  result.set("model", model.string());
  result.set("test", test.file.string());
  if (options.images) result.set("images", images.size());
  const config::Value numbers = to_value(metrics);
  for (const config::Value::Member& member : *numbers.map()) result.set(member.key, member.value);
  if (judged) result.set("error_bars", to_value(*judged));
  out << config::json_text(result) << '\n';
}

}  // namespace

void add_evaluate(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<EvaluateOptions>();
  CLI::App* command =
      program.add_subcommand("evaluate", "Measure the errors of a trained surrogate");
  command
      ->add_option("model", options->model, "Folder of a run (its newest networks), or model file")
      ->required()
      ->type_name("MODEL");
  command
      ->add_option("--test", options->test,
                   "Test trajectories: HDF5 file with `trajectory` [B,T,C,X...], or .npy file of "
                   "it (default: the run's test set). For a surrogate of k steps at once, T is a "
                   "multiple of k, and the first k states are where it starts")
      ->type_name("FILE");
  command->add_flag("--images", options->images, kImagesHelp);
  command->add_flag("--json", options->json, "Print JSON; errors that are not finite are null");
  command->footer(
      "members: errors of the single networks, averaged over trajectories and networks. averaged "
      "model: the average of their outputs, step by step: the model you would deploy.\n"
      "Of networks with error bars ('stap calibrate') it also says how often these hold, on the "
      "trajectories that they were not calibrated on.\n"
      "RMSE is per grid point; 'RMSE published' is the same error on the paper's scale, "
      "||e||/(L-1). The standard error over trajectories says how much another test set would "
      "change the RMSE.\n"
      "Example:\n  stap evaluate my-run\n  stap evaluate my-run --test solved.h5 --images");
  command->callback([options, &globals] { run_evaluate(*options, globals, std::cout); });
}

}  // namespace stap::app
