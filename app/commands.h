#pragma once

// The program's subcommands, one file each. A new one: app/NAME.cpp with an options struct and
// run_NAME (does the work; results to `out`, throws stap::Error), which nobody else sees, and
// add_NAME (declares the arguments, see help.h, and calls run_NAME), declared here and added to the
// table in main.cpp.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "stap/config/value.h"
#include "stap/core/symmetry.h"
#include "stap/data/store.h"
#include "stap/nn/compute.h"
#include "stap/study/axes.h"

namespace stap {
enum class ErrorsOf;
struct Study;
struct Surrogate;
}  // namespace stap
namespace CLI {
class App;
}

namespace stap::app {

class Console;

/// Options of the program itself; set before any run_NAME is called.
struct Globals {
  bool quiet = false;
  int threads = 0;                ///< 0: all cores
  std::string device, precision;  ///< of ComputeOptions; empty: what the configuration says
  /// --device names more than one: "cuda:0", "cuda:1"; else empty.
  std::vector<std::string> devices;
  std::vector<std::string> words;  ///< the program's arguments, as given
};
/// The command as it was given, for a shell.
std::string command_text(const Globals& globals);

/// Thrown when all has been said and nothing is wrong: the program ends with this code.
struct EndWith {
  int code;
};
inline constexpr int kContinue = 8;   ///< stopped by a time limit: the same command continues
inline constexpr int kOtherPart = 9;  ///< the phase that --until names is done, the other is next

/// "cpu", "cuda", "auto", "cuda:1", or several: "cuda:0,1", "cpu,cpu". One GPU of several is made
/// the only one that can be seen. Throws Error(config).
void choose_devices(const std::string& text, Globals& globals);
/// What the options of the program say about computing, over `document`'s section `compute`.
void apply_compute(const Globals& globals, config::Value& document);
/// The same where there is no configuration.
ComputeOptions compute_options(const Globals& globals);

/// --grid key=a,b, which may be given several times; likewise --with NAME.
void add_grid(CLI::App& command, std::vector<std::string>& axes);
void add_with(CLI::App& command, std::vector<std::string>& overlays);

/// --stop-after and --notice.
struct TimeLimitOptions {
  std::string stop_after;  ///< "90s", "9m", "1h"; empty: never
  double notice = 100.0;   ///< seconds that SIGUSR1 leaves
};
void add_time_limit(CLI::App& command, TimeLimitOptions& options);

/// What the states of a run, or of the surrogate that a model file is, are; of networks that do not
/// say it only the grid, which is given.
StateInfo model_info(const std::filesystem::path& model, const Surrogate& surrogate,
                     const Grid& grid);

/// What `--images` averages over: the maps of a run's symmetries that leave the direction of time,
/// for clusters of `frames` states of the grid. Throws Error(config) where it states none, and for
/// a model file, which knows of none.
std::vector<StateMap> images_of(const std::filesystem::path& model, const Grid& grid,
                                std::size_t frames);
inline constexpr const char* kImagesHelp =
    "Average every step over the images of the state under the run's train.symmetries: more "
    "accurate, and slower by the number of images";

/// The option --model, a name of errors_of_infos(); `more` ends its text.
void add_model_option(CLI::App& command, const std::string& more, std::string& model);
/// A line that says whose errors were shown, and how to get the other ones.
std::string model_text(ErrorsOf whose);

/// Says where the queries of runs wait for servers; nothing where they run here.
void show_spools(std::span<const Study> studies, Console& console);
/// Says what runs in these folders will ask of a user's own solver; nothing where there are none.
void show_spending(const std::vector<Study>& studies,
                   const std::vector<std::filesystem::path>& folders, Console& console);

/// The arguments of `stap serve`, for that command or a program of its own, called `name`.
void declare_serve(CLI::App& command, const std::string& name, const Globals& globals);

void add_analyse(CLI::App& program, const Globals& globals);
void add_ask(CLI::App& program, const Globals& globals);
void add_calibrate(CLI::App& program, const Globals& globals);
void add_check(CLI::App& program, const Globals& globals);
void add_choose_network(CLI::App& program, const Globals& globals);
void add_describe(CLI::App& program, const Globals& globals);
void add_evaluate(CLI::App& program, const Globals& globals);
void add_export(CLI::App& program, const Globals& globals);
void add_export_model(CLI::App& program, const Globals& globals);
void add_fsck(CLI::App& program, const Globals& globals);
void add_generate(CLI::App& program, const Globals& globals);
void add_import(CLI::App& program, const Globals& globals);
void add_init(CLI::App& program, const Globals& globals);
void add_journal(CLI::App& program, const Globals& globals);
void add_list(CLI::App& program, const Globals& globals);
void add_man(CLI::App& program, const Globals& globals);
void add_plot(CLI::App& program, const Globals& globals);
void add_predict(CLI::App& program, const Globals& globals);
void add_queue(CLI::App& program, const Globals& globals);
void add_report(CLI::App& program, const Globals& globals);
void add_run(CLI::App& program, const Globals& globals);
void add_schema(CLI::App& program, const Globals& globals);
void add_serve(CLI::App& program, const Globals& globals);
void add_simulate(CLI::App& program, const Globals& globals);
void add_solve(CLI::App& program, const Globals& globals);
void add_solver(CLI::App& program, const Globals& globals);
void add_sweep(CLI::App& program, const Globals& globals);
void add_table(CLI::App& program, const Globals& globals);
void add_tell(CLI::App& program, const Globals& globals);
void add_unlock(CLI::App& program, const Globals& globals);
void add_version(CLI::App& program, const Globals& globals);
void add_watch(CLI::App& program, const Globals& globals);

}  // namespace stap::app
