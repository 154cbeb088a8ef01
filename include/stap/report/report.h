#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stap/acquire/ledger.h"
#include "stap/report/chart.h"
#include "stap/report/field.h"
#include "stap/report/picture.h"
#include "stap/results/cost_analysis.h"
#include "stap/results/table.h"

// What a report shows, gathered from the folders of runs and sweeps. Only files are read; analyses
// are shown where they exist and none is computed.
namespace stap {

struct ReportOptions {
  std::vector<RunResult> read{};  ///< of its runs, those that were read just now
  std::string baseline{};         ///< a row that others are compared with; empty: the first
};

/// A run of the given folders, whether or not anything of it can be shown.
struct ReportRun {
  /// stopped: not finished, and nobody works on it: it was asked to stop, or its process is gone.
  enum class State { finished, unfinished, stopped, failed, damaged, not_begun };

  std::string folder;
  State state = State::not_begun;
  std::string words{};  ///< how far it has come, or what is wrong with it
  std::string problem{}, label{};
  std::optional<std::uint64_t> seed{};
  Manifest manifest{};
  std::string host{};
  double time = 0;  ///< of its last sign of life, seconds since 1970; 0: not known
};
std::string_view to_string(ReportRun::State state);

/// The first chart is the one that is drawn; a script offers the others in its place.
struct ReportChart {
  std::string id;  ///< of its row in charts.h
  std::vector<Chart> variants;
};
/// What a sweep's analysis says about a method's cost, or a run's about its own.
struct ReportCost {
  CostAnalysis cost{};
  std::string baseline{};  ///< the row that E is over; empty: there is none
  std::vector<std::optional<double>> efficiency_by_seed{};
};
/// A row of a problem's table.
struct ReportMethod {
  std::string label, method;
  std::size_t group = 0;     ///< its colour
  double initial_steps = 0;  ///< solver steps before anything was chosen, mean over seeds
  double solver_steps = 0;   ///< and after the last round that was evaluated
  Ledger ledger{};           ///< all purchases of all seeds; the first reasons only
  std::optional<ReportCost> cost{};
  std::string shown{};  ///< folder of the run whose steps and states are shown
  std::uint64_t shown_seed = 0;
  std::vector<ReportChart> charts{};                             ///< of one run
  std::vector<std::pair<std::string, PictureChart>> pictures{};  ///< likewise, by their ids
};
struct ReportProblem {
  ProblemTable table;
  std::vector<ReportMethod> methods;  ///< one for each of its rows
  std::vector<ReportChart> charts{};
  double dt = 0;                     ///< of a learned step; 0: not known
  std::vector<std::size_t> grid{};   ///< points by axis; empty: not known
  std::vector<std::string> notes{};  ///< what was left out of what is shown
  std::string again{}, again_out{};  ///< "stap sweep demo" and its folder: a study with more seeds;
                                     ///< empty: no command says that
  std::vector<Field> fields{};       ///< best, median and worst, of some of the methods
  bool fields_left_out = false;      ///< trajectories, as there is no room for them
};
struct Report {
  std::vector<std::string> folders;  ///< as they were given
  std::vector<RunResult> results{};  ///< of all runs that can be read
  std::vector<ReportProblem> problems{};
  std::vector<ReportRun> runs{};  ///< all of them, in the order of the folders
  std::vector<std::string> notes{};
};

/// Reads runs and sweeps. What is damaged, empty or not begun is listed with its reason and does
/// not stop the rest. Throws Error(data) if there is nothing at all to show, Error(config) for a
/// baseline that is no row.
Report gather_report(std::span<const std::filesystem::path> folders,
                     const ReportOptions& options = {});

/// What the page says first, as sentences: the finding, its numbers, what it cost, what failed.
struct Finding {
  std::string problem;  ///< empty: about all of them
  std::string text;
};
std::vector<Finding> findings(const Report& report);

}  // namespace stap
