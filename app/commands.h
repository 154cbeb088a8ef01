#pragma once

// The program's subcommands, one file each. A new one: app/NAME.cpp with an options struct,
// run_NAME (does the work; results to `out`, throws stap::Error) and add_NAME (declares the
// arguments and calls run_NAME), declared here and added to the list in main.cpp.

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "stap/config/value.h"
#include "stap/data/import.h"
#include "stap/data/store.h"
#include "stap/nn/compute.h"
#include "stap/study/axes.h"

namespace CLI {
class App;
}

namespace stap::app {

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
inline constexpr int kContinue = 8;   ///< stopped by a time limit: the same command goes on
inline constexpr int kOtherPart = 9;  ///< --until: as far as it should come; the other part is next

/// "cpu", "cuda", "auto", "cuda:1", or several: "cuda:0,1", "cpu,cpu". One GPU of several is made
/// the only one that can be seen. Throws Error(config).
void choose_devices(const std::string& text, Globals& globals);
/// What the options of the program say about computing, over `document`'s section `compute`.
void apply_compute(const Globals& globals, config::Value& document);
/// The same where there is no configuration.
ComputeOptions compute_options(const Globals& globals);

struct ListOptions {
  std::string family;  ///< empty: all
  bool json = false;
};
void run_list(const ListOptions& options, std::ostream& out);
void add_list(CLI::App& program, const Globals& globals);

struct DescribeOptions {
  std::string name;  ///< an entry, a family, family.entry, or a preset
  bool json = false;
};
void run_describe(const DescribeOptions& options, std::ostream& out);
void add_describe(CLI::App& program, const Globals& globals);

/// --with NAME, which may be given several times.
void add_with(CLI::App& command, std::vector<std::string>& overlays);

struct CheckOptions {
  std::string file;
  std::vector<std::string> overlays;   ///< --with
  std::vector<std::string> overrides;  ///< key.path=value
  bool json = false;
};
void run_check(const CheckOptions& options, const Globals& globals, std::ostream& out);
void add_check(CLI::App& program, const Globals& globals);

struct SolveOptions {
  std::string pde;
  std::vector<std::string> overrides;  ///< key=value
  std::string input, output;
  std::size_t steps = 0;
  bool json = false;
};
void run_solve(const SolveOptions& options, const Globals& globals, std::ostream& out);
void add_solve(CLI::App& program, const Globals& globals);

/// --stop-after and --notice.
struct TimeLimitOptions {
  std::string stop_after;  ///< "90s", "9m", "1h"; empty: never
  double notice = 100.0;   ///< seconds that SIGUSR1 leaves
};
void add_time_limit(CLI::App& command, TimeLimitOptions& options);

struct GenerateOptions {
  std::string config;                  ///< file or preset
  std::vector<std::string> overlays;   ///< --with
  std::vector<std::string> overrides;  ///< key=value
  std::string folder;
  TimeLimitOptions time;
  bool json = false;
};
void run_generate(const GenerateOptions& options, const Globals& globals, std::ostream& out);
void add_generate(CLI::App& program, const Globals& globals);

struct StudyCommandOptions {
  std::string config;                  ///< file or preset; a sweep over `extends` needs none
  std::vector<std::string> overlays;   ///< --with
  std::vector<std::string> overrides;  ///< key=value
  bool sweep = false;                  ///< more than one run may come of it
  std::vector<std::string> grid;       ///< sweep only: key=a,b,c
  std::string folder;
  TimeLimitOptions time;
  std::string until;  ///< "bought", "trained"; empty: to the end
  std::string shard;  ///< sweep only: "2/6", "auto"; empty: all of it
  bool no_report = false;
};
void run_study(const StudyCommandOptions& options, const Globals& globals, std::ostream& out);
void add_run(CLI::App& program, const Globals& globals);
void add_sweep(CLI::App& program, const Globals& globals);

struct AskOptions {
  std::string folder;                 ///< of a run or a sweep
  std::string output = "queries.h5";  ///< a file, or a folder
  std::size_t limit = 0;              ///< 0: all
};
void run_ask(const AskOptions& options, const Globals& globals, std::ostream& out);
void add_ask(CLI::App& program, const Globals& globals);

struct TellOptions {
  std::string folder;   ///< of a run or a sweep
  std::string answers;  ///< a file, or a folder
};
void run_tell(const TellOptions& options, const Globals& globals, std::ostream& out);
void add_tell(CLI::App& program, const Globals& globals);

struct UnlockOptions {
  std::string folder;  ///< of a run, a sweep or generated data
  bool force = false;
};
void run_unlock(const UnlockOptions& options, std::ostream& out);
void add_unlock(CLI::App& program, const Globals& globals);

struct TableOptions {
  std::vector<std::string> folders;
  std::string baseline;
  std::string metric;  ///< a name of metric_infos() or "all"; empty: what fits the format
  std::string model = "members";  ///< or "mean"
  bool paper = false;
  bool json = false, latex = false;
  std::string csv;  ///< "runs", "summary" or empty. At most one of the three; none: text
};
void run_table(const TableOptions& options, std::ostream& out);
void add_table(CLI::App& program, const Globals& globals);

struct QueueOptions {
  std::string folder;  ///< of a run or a sweep
  bool json = false;
};
void run_queue(const QueueOptions& options, std::ostream& out);
void add_queue(CLI::App& program, const Globals& globals);

struct WatchOptions {
  std::string folder;
  int port = 0;  ///< 0: any
  bool no_open = false;
  bool wait = false;  ///< for the folder
  bool stay = false;  ///< when the runs have ended
};
void run_watch(const WatchOptions& options, const Globals& globals, std::ostream& out);
void add_watch(CLI::App& program, const Globals& globals);

struct PredictOptions {
  std::string model;  ///< a model file or a run folder
  std::string input, output;
  std::size_t steps = 0;
  bool members = false;
  bool json = false;
};
/// A run knows its equation and step, a model file alone only its grid, which is given.
StateInfo model_info(const std::filesystem::path& model, const Grid& grid);
void run_predict(const PredictOptions& options, const Globals& globals, std::ostream& out);
void add_predict(CLI::App& program, const Globals& globals);

struct EvaluateOptions {
  std::string model;  ///< a model file or a run folder
  std::string test;   ///< empty: the run's own
  bool json = false;
};
void run_evaluate(const EvaluateOptions& options, const Globals& globals, std::ostream& out);
void add_evaluate(CLI::App& program, const Globals& globals);

struct AnalyseOptions {
  std::vector<std::string> folders;  ///< of runs or sweeps
  std::string baseline = "random";   ///< a method
  std::optional<double> efficiency, solver_seconds;
  bool json = false;
};
void run_analyse(const AnalyseOptions& options, const Globals& globals, std::ostream& out);
void add_analyse(CLI::App& program, const Globals& globals);

struct ReportCommandOptions {
  std::vector<std::string> folders;  ///< of runs or sweeps
  std::string output;                ///< empty: in the first folder
  std::string baseline;              ///< a row; empty: the first
  bool csv = false, json = false;    ///< at most one: printed, and no page is written
};
void run_report(const ReportCommandOptions& options, std::ostream& out);
void add_report(CLI::App& program, const Globals& globals);

struct PlotOptions {
  std::string folder;  ///< of a run or a sweep
  std::string figure, output;
  std::string metric = "rmse", model = "members";
  std::string width, height, font = "8pt";  ///< empty: what suits the figure
  std::string problem;                      ///< empty: the only one
  std::vector<std::string> methods;         ///< labels; empty: all
  std::optional<std::uint64_t> seed;        ///< none: the first
  bool seeds = false;                       ///< draw single seeds
  std::string kind = "worst", channel;      ///< of a trajectory; empty: the first
  std::optional<double> time;               ///< none: the last
};
void run_plot(const PlotOptions& options, std::ostream& out);
void add_plot(CLI::App& program, const Globals& globals);

struct ExportOptions {
  std::string run, format, output;
  bool json = false;
};
void run_export(const ExportOptions& options, std::ostream& out);
void add_export(CLI::App& program, const Globals& globals);

struct FsckOptions {
  std::vector<std::string> places;  ///< runs, sweeps, data folders, files
  bool repair = false, json = false;
};
void run_fsck(const FsckOptions& options, const Globals& globals, std::ostream& out);
void add_fsck(CLI::App& program, const Globals& globals);

struct JournalOptions {
  std::string place;  ///< a run folder or a journal
  std::string type;   ///< of lines; empty: all
};
void run_journal_print(const JournalOptions& options, std::ostream& out);
void add_journal(CLI::App& program, const Globals& globals);

struct SolverCheckOptions {
  std::string config;                  ///< file, preset or run folder
  std::vector<std::string> overlays;   ///< --with
  std::vector<std::string> overrides;  ///< key=value
  std::size_t calls = 0;               ///< at most; 0: as many as are usual
  bool json = false;
};
void run_solver_check(const SolverCheckOptions& options, const Globals& globals, std::ostream& out);
struct SolverReplayOptions {
  std::string bundle;                  ///< a folder
  std::vector<std::string> overrides;  ///< key=value
  bool keep = false;                   ///< the program's files, below the bundle
};
void run_solver_replay(const SolverReplayOptions& options, std::ostream& out);
void add_solver(CLI::App& program, const Globals& globals);

struct ServeCommandOptions {
  std::string folder;
  std::vector<std::string> settings;  ///< solver.key=value
  std::size_t slots = 0;              ///< 0: as the configuration says
  std::string stop_after, idle;       ///< "90s", "9m", "1h"; empty: never
};
void run_serve(const ServeCommandOptions& options, const Globals& globals, std::ostream& out);
/// The arguments of `stap serve`, for that command or a program of its own, called `name`.
void declare_serve(CLI::App& command, const std::string& name, const Globals& globals);
void add_serve(CLI::App& program, const Globals& globals);
class Console;
/// Says where the queries of runs wait for servers; nothing where they run here.
void show_spools(const std::vector<SweepRun>& runs, Console& console);

/// Says what runs will ask of a user's own solver; nothing where all equations are built in.
void show_spending(const std::vector<SweepRun>& runs, const std::string& folder, Console& console);

struct InitOptions {
  std::string folder, from, language;
  std::size_t points = 64;
};
void run_init(const InitOptions& options, std::ostream& out);
void add_init(CLI::App& program, const Globals& globals);

struct ImportCommandOptions {
  std::vector<std::string> files;
  std::string as, output, outputs;
  bool all_times = false;
  ImportOptions reading;
  bool json = false;
};
void run_import(const ImportCommandOptions& options, const Globals& globals, std::ostream& out);
void add_import(CLI::App& program, const Globals& globals);

void run_schema(std::ostream& out);
void add_schema(CLI::App& program, const Globals& globals);

}  // namespace stap::app
