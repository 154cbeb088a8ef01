#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "error_bars.h"
#include "given_parameters.h"
#include "help.h"
#include "interrupt.h"
#include "output_file.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/data/array_file.h"
#include "stap/data/store.h"
#include "stap/eval/predicted_bars.h"
#include "stap/eval/rollout.h"
#include "stap/folder/bars_of.h"
#include "stap/folder/model_of.h"
#include "stap/folder/run_folder.h"
#include "stap/study/data_check.h"
#include "stap/study/data_files.h"

namespace stap::app {
namespace {

struct PredictOptions {
  std::string model;  ///< a model file or a run folder
  std::string input, output;
  std::size_t steps = 0;
  std::vector<std::string> parameters;  ///< "NAME=VALUE"
  bool members = false;
  bool images = false;
  bool bars = false, bands = false, anywhere = false;
  bool json = false;
};

// Few enough that progress and Ctrl-C are served in time.
constexpr std::size_t kRowsAtOnce = 64;

struct Interrupted {};

// Rollouts [n, B, L+1, C, X...] from the same initial states: one for each asked member. Clusters
// of k states lie in memory as k states do, so L/k steps of them are [n, B, k+L, C, X...].
class Prediction {
 public:
  Prediction(const States<double>& initial, std::size_t steps, std::size_t rollouts)
      : row_size_(initial.grid().values()),
        rows_(initial.count()),
        times_(steps + 1),
        values_(rollouts * rows_ * times_ * row_size_) {
    for (std::size_t n = 0; n < rollouts; ++n)
      for (std::size_t b = 0; b < rows_; ++b) {
        const std::span<const double> from = initial.row(b);
        std::copy(from.begin(), from.end(), state(n, b, 0).begin());
      }
  }

  std::span<double> state(std::size_t n, std::size_t b, std::size_t time) {
    return {values_.data() + ((n * rows_ + b) * times_ + time) * row_size_, row_size_};
  }
  std::span<const double> values() const { return values_; }
  std::size_t rollouts() const { return values_.size() / (rows_ * times_ * row_size_); }

  // Marks rows that are not finite somewhere.
  void mark_not_finite(std::vector<bool>& rows) const {
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (!std::isfinite(values_[i])) rows[i / (times_ * row_size_) % rows_] = true;
  }

 private:
  std::size_t row_size_, rows_, times_;
  std::vector<double> values_;
};

// Number of values of all rollouts, or the refusal of the writer where there are too many to count.
std::size_t total_values(const Grid& grid, std::size_t rows, std::size_t steps,
                         std::size_t rollouts) {
  std::size_t total = grid.values();
  for (const std::size_t factor : {rows, steps + 1, rollouts})
    if (__builtin_mul_overflow(total, factor, &total)) return static_cast<std::size_t>(-1);
  return total;
}

// The error bars that are asked for; empty: none are. Those of the averaged model are not those of
// its mean over images.
std::optional<ErrorBars> bars_for(const PredictOptions& options) {
  if (!options.bars && !options.bands) {
    if (options.anywhere)
      throw Error(ErrorKind::config, "--anywhere is about error bars: give --bars, too");
    return std::nullopt;
  }
  if (options.images)
    throw Error(ErrorKind::config,
                "--bars are those of predictions without --images: give one of the two");
  FoundBars found = find_bars(options.model);
  if (!found.bars) throw Error(ErrorKind::data, found.absent);
  return std::move(found.bars);
}

void run_predict(PredictOptions options, const Globals& globals, std::ostream& out) {
  disable_store_exit_handler();
  if (options.output.empty()) options.output = stem_of(options.input) + "-predicted.h5";
  const std::filesystem::path model = model_of(options.model);
  check_output(options.output, OutputKind::prediction, {options.input, model, options.model});
  const std::optional<ErrorBars> bars = bars_for(options);
  const Surrogate surrogate = load_surrogate(model, compute_options(globals), globals.threads);
  Committee& committee = *surrogate.committee;
  const Grid& grid = surrogate.grid();
  const std::size_t k = surrogate.cluster, calls = options.steps / k;
  if (options.steps % k != 0)
    throw Error(ErrorKind::config,
                fmt::format("--steps is {}, but {} makes {} steps at once: choose {}",
                            options.steps, model.string(), k, multiples_beside(options.steps, k)));
  check_described(options.input, grid, 0.0, "the model");
  const States<double> initial = read_initial(options.input, grid, k);
  const std::vector<ParameterDraw>& draws = committee.told().parameters;
  const RowParameters parameters =
      given_parameters(options.parameters, draws, options.input, initial.count());
  const std::vector<std::string> outside = outside_ranges(parameters, draws);
  const auto members = static_cast<std::size_t>(committee.members());
  const std::size_t rollouts = 1 + (options.members ? members : 0);

  const std::vector<StateMap> images =
      options.images ? images_of(options.model, frame_grid(grid, k), k) : std::vector<StateMap>();

  const auto start = std::chrono::steady_clock::now();
  const InterruptGuard interrupt;
  std::optional<ArrayWriter> writer(std::in_place, options.output);
  writer->check_room(total_values(grid, initial.count(), calls, rollouts));
  Console console(globals);
  if (const std::string older = about_older_networks(options.model); !older.empty())
    console.warning(older);
  if (const std::size_t horizon = committee.told().horizon; horizon > 0 && calls > horizon)
    console.warning(fmt::format(
        "these networks are told the time, and learned it over {} steps: what comes after them is "
        "extrapolated",
        horizon * k));
  for (const std::string& text : outside)
    console.warning(fmt::format(
        "{}, which the networks were trained for: what they make of it is extrapolated", text));
  States<float> from(grid, initial.count());
  convert(initial.values(), from.values());
  Prediction mean(initial, calls, 1);
  Prediction each(initial, calls, rollouts - 1);
  const std::size_t in_all = (rollouts + (bars ? members + 1 : 0)) * initial.count() * calls;
  std::size_t done = 0;
  const auto advanced = [&](std::size_t steps) {
    if (interrupt.requested()) throw Interrupted{};
    done += steps;
    console.progress({.phase = "predicting", .done = done, .total = in_all, .unit = "steps"});
  };
  PredictedBars predicted;
  const auto roll = [&](int member, Prediction& to, std::size_t n) {
    roll_out(
        committee, from.view(), member, calls, kRowsAtOnce,
        [&](std::size_t call, std::size_t first, StatesView<const float> states) {
          for (std::size_t r = 0; r < states.count; ++r)
            convert(states.row(r), to.state(n, first + r, call + 1));
          advanced(states.count);
        },
        conditions_of(parameters), images, globals.threads);
  };
  try {
    roll(kMean, mean, 0);
    for (std::size_t m = 0; m < each.rollouts(); ++m) roll(static_cast<int>(m), each, m);
    if (bars)
      predicted = predict_bars(
          committee, from.view(), calls, *bars,
          {.from_any = options.anywhere,
           .bands = options.bands,
           .block = kRowsAtOnce,
           .advanced = [&](std::size_t steps) { advanced(steps / k * (members + 1)); }},
          conditions_of(parameters));
  } catch (const Interrupted&) {
    writer.reset();  // takes its temporary file along
    console.warning(fmt::format("interrupted: {} was not written", options.output));
    interrupt.end_program();
  }

  std::vector<std::size_t> shape{initial.count(), k + options.steps, grid.channels / k};
  shape.insert(shape.end(), grid.points.begin(), grid.points.end());
  const std::vector<std::string>& names = parameters.names;
  writer->add_text_attribute("format", names.empty() ? "prediction/1" : "prediction/2");
  writer->add_text_attribute("model", model.string());
  writer->describe(model_info(options.model, surrogate, frame_grid(grid, k)));
  writer->add_attribute("steps", static_cast<double>(options.steps));
  if (k > 1) writer->add_attribute("cluster", static_cast<double>(k));
  if (options.images) writer->add_attribute("images", static_cast<double>(images.size()));
  if (!names.empty()) {
    writer->add_text_attribute(kParameterNames, fmt::format("{}", fmt::join(names, ",")));
    writer->add(kParameters, {initial.count(), names.size()}, parameters.values);
  }
  writer->add("mean", shape, mean.values());
  if (bars) {
    write_bars(*bars, predicted, shape, options.anywhere, *writer);
    say_of_bars(*bars, predicted, initial.count(), options.steps, console);
  }
  if (options.members) {
    shape.insert(shape.begin(), members);
    writer->add("members", shape, each.values());
  }
  writer->commit();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  std::vector<bool> marks(initial.count(), false);
  mean.mark_not_finite(marks);
  each.mark_not_finite(marks);
  const auto not_finite = static_cast<std::size_t>(std::ranges::count(marks, true));
  if (options.json) {
    config::Value summary;
    summary.set("output", options.output);
    summary.set("model", model.string());
    summary.set("rows", initial.count());
    summary.set("steps", options.steps);
    summary.set("members", members);
    summary.set("not_finite", not_finite);
    if (bars) {
      summary.set("bar_level", bars->level);
      summary.set("bar_steps", bars->steps);
      summary.set("unlike_calibration", predicted.unlike);
    }
    summary.set("outside_ranges", config::list_of(outside));
    summary.set("seconds", seconds.count());
    out << config::json_text(summary) << '\n';
    return;
  }
  out << fmt::format("{}: {} of {}, average of {} ({}); {}; {:.3g} s\n", options.output,
                     counted(initial.count(), "trajectory", "trajectories"),
                     counted(options.steps, "step", "steps"),
                     counted(members, "network", "networks"), model.string(),
                     not_finite == 0 ? "all finite" : fmt::format("{} not finite", not_finite),
                     seconds.count());
}

}  // namespace

StateInfo model_info(const std::filesystem::path& model, const Surrogate& surrogate,
                     const Grid& grid) {
  StateInfo info{surrogate.problem.name, grid, surrogate.problem.dt};
  const RunFolder folder(model);
  std::error_code missing;
  if (!std::filesystem::exists(folder.manifest_file(), missing)) return info;
  const Manifest manifest = folder.read_manifest();
  info.equation = identity_text(manifest, "name");
  if (const config::Value* dt = manifest.identity.find("dt")) info.dt = dt->real().value_or(0.0);
  return info;
}

std::vector<StateMap> images_of(const std::filesystem::path& model, const Grid& grid,
                                std::size_t frames) {
  if (!std::filesystem::is_directory(model))
    throw Error(ErrorKind::config,
                fmt::format("--images needs the folder of a run: {} is a model file, which has no "
                            "symmetries",
                            model.string()));
  const RunFolder folder(model);
  const config::Value document = folder.read_config();
  const config::Value* placed = config::find_path(document, "network.position_input");
  std::vector<StateMap> maps =
      make_image_maps(config::texts_in(config::find_path(document, "train.symmetries")), grid,
                      config::texts_in(folder.read_manifest().identity.find("channels")), frames,
                      placed != nullptr && placed->boolean().value_or(false),
                      config::texts_in(folder.read_manifest().identity.find("parameters")));
  if (maps.empty())
    throw Error(ErrorKind::config,
                fmt::format("{} was trained without symmetries that --images could average over: "
                            "state them in train.symmetries (those that reverse time do not "
                            "count)",
                            model.string()));
  return maps;
}

void add_predict(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<PredictOptions>();
  CLI::App* command =
      program.add_subcommand("predict", "Predict trajectories with a trained surrogate");
  command
      ->add_option("model", options->model, "Folder of a run (its newest networks), or model file")
      ->required()
      ->type_name("MODEL");
  command
      ->add_option("--input", options->input,
                   "Initial states: HDF5 file with `states` [B,C,X...] or `trajectory` "
                   "[B,T,C,X...] (its first time), or .npy file [B,C,X...]")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--parameter", options->parameters,
                   "Value of a parameter for all rows, as in viscosity=0.01; may be given several "
                   "times (default: as the rows of FILE say)")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  command->add_option("--steps", options->steps, "Number of steps to make, L")
      ->required()
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 40))
      ->type_name("L");
  command
      ->add_option("--out,--output", options->output,
                   "HDF5 file to write: `mean` [B,L+1,C,X...], of the averaged model (default: "
                   "the input's name with -predicted.h5)")
      ->type_name("FILE");
  command->add_flag("--members", options->members,
                    "Also write `members` [M,B,L+1,C,X...], each network by itself");
  command->add_flag("--images", options->images, kImagesHelp);
  command->add_flag("--bars", options->bars,
                    "Also write error bars ('stap calibrate' first): `bar` [B,L+1], "
                    "`bar_channels` [B,L+1,C]");
  command->add_flag("--bands", options->bands,
                    "Also write `band` [B,L+1,C,X...], that of every point, beside --bars");
  command->add_flag("--anywhere", options->anywhere,
                    "For --bars: the input states are from anywhere in a trajectory, not from its "
                    "beginning");
  command->add_flag("--json", options->json, "Print the summary as JSON");
  command->footer(
      "An older prediction is replaced once the new one is complete; other files are not. "
      "Predictions that are not finite are written as they are, and counted.\n"
      "Example:\n  stap predict my-run --input states.h5 --steps 13\n"
      "  stap predict my-run --input states.h5 --steps 13 --out out.h5 --members --bars");
  command->callback([options, &globals] { run_predict(*options, globals, std::cout); });
}

}  // namespace stap::app
