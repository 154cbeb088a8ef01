#include "report/gather.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/core/error.h"
#include "stap/folder/run_folder.h"
#include "stap/folder/sweep_folder.h"
#include "stap/results/learned_problem.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kReasons = 20;  // of refusals and failures, for each method

// Trailing separators would hide what is below what.
std::vector<fs::path> cleaned(std::span<const fs::path> folders) {
  std::vector<fs::path> paths;
  for (const fs::path& folder : folders) {
    fs::path path = folder.lexically_normal();
    if (!path.has_filename() && path.has_parent_path()) path = path.parent_path();
    paths.push_back(std::move(path));
  }
  return paths;
}

[[noreturn]] void throw_nothing(const Report& report) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> reasons;
  for (const ReportRun& run : report.runs)
    if (reasons.size() < kShown) reasons.push_back(run.words);
  const std::string more =
      report.runs.size() > kShown ? fmt::format(" (and {} more)", report.runs.size() - kShown) : "";
  throw Error(ErrorKind::data,
              fmt::format("there is nothing to show: {}{}", fmt::join(reasons, "; "), more));
}

// Whether all sums fit; none of what anybody can buy does not.
bool add_ledger(const Ledger& one, Ledger& sum) {
  for (std::size_t Ledger::*part : {&Ledger::budget, &Ledger::bought, &Ledger::warm_up,
                                    &Ledger::refused, &Ledger::refused_by_trust, &Ledger::failed,
                                    &Ledger::charged_failures, &Ledger::unspent, &Ledger::passes})
    if (__builtin_add_overflow(sum.*part, one.*part, &(sum.*part))) return false;
  sum.pool_exhausted = sum.pool_exhausted || one.pool_exhausted;
  return true;
}

// Where the solver steps of all seeds went. A damaged journal is told at the run.
void add_ledgers(const RunResult& run, ReportRun& about, Ledger& sum) {
  const RunFolder folder(run.folder);
  std::error_code error;
  if (!fs::exists(folder.journal_file(), error)) {
    about.words += "; there is no journal, so that its ledger is not shown";
    return;
  }
  try {
    const std::vector<Ledger> ledgers = folder.read_ledgers();
    Ledger with = sum;
    for (std::size_t i = 0; i < ledgers.size(); ++i) {
      if (!add_ledger(ledgers[i], with))
        throw Error(ErrorKind::data, fmt::format("{}: the ledger of purchase {} does not add up",
                                                 folder.journal_file().string(), i));
      for (const std::string& reason : ledgers[i].reasons)
        if (with.reasons.size() < kReasons)
          with.reasons.push_back(fmt::format("seed {}, purchase {}: {}", run.seed, i, reason));
    }
    sum = std::move(with);
  } catch (const Error& damage) {
    about.state = ReportRun::State::damaged;
    about.words = fmt::format("its errors are shown, but {}", damage.what());
  }
}

ReportMethod method_of(const MethodRuns& runs) {
  ReportMethod method{.label = runs.label, .method = runs.method, .group = runs.group};
  std::vector<const RunResult*> measured;
  for (const RunResult* run : runs.runs)
    if (!run->transitions.empty()) measured.push_back(run);
  for (const RunResult* run : measured) {
    const double share = 1.0 / static_cast<double>(measured.size());
    const std::size_t last = run->evaluated() - 1;
    method.initial_steps += share * static_cast<double>(run->solver_steps(0));
    method.solver_steps +=
        share * static_cast<double>(run->solver_steps(last) +
                                    (run->charge_warm_up ? run->chosen_warm_ups(last) : 0));
  }
  const auto finished =
      std::ranges::find_if(runs.runs, [](const RunResult* run) { return run->complete(); });
  const RunResult& shown = finished != runs.runs.end() ? **finished : *runs.runs.front();
  method.shown = shown.folder.string();
  method.shown_seed = shown.seed;
  return method;
}

// Grid and dt as the manifest has them: runs without a test set keep no states to tell them.
void describe_states(const RunResult& run, ReportProblem& problem) {
  const config::Value& identity = run.manifest.identity;
  if (const config::Value* dt = identity.find("dt")) problem.dt = dt->real().value_or(0);
  const config::Value* points = identity.find("points");
  if (points == nullptr || points->list() == nullptr) return;
  for (const config::Value& one : *points->list())
    problem.grid.push_back(one.integer<std::size_t>().value_or(0));
}

// As a shell takes it for one word.
std::string shell_word(const std::string& text) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._-/+=,").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, plain)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// How a sweep is continued with more seeds, or a run becomes one: by its preset, if all of it is
// that, else by the configuration of one of its runs.
void describe_study(const fs::path& folder, const std::string& shown,
                    const std::vector<RunResult>& results, ReportProblem& problem) {
  const RunResult& run = *std::ranges::find(results, fs::path(shown), &RunResult::folder);
  const std::string preset = preset_of(run, problem.table.problem);
  problem.again = "stap sweep " + (preset.empty() ? shell_word(shown) : preset);
  problem.again_out = shell_word(folder.string() + (is_sweep(folder) ? "" : "-sweep"));
}

}  // namespace

Report gather_report(std::span<const fs::path> given, const ReportOptions& options) {
  const std::vector<fs::path> folders = cleaned(given);
  Report report;
  gather_runs(folders, options.read, report);
  if (report.results.empty()) throw_nothing(report);
  const auto costs = gather_costs(folders, report);
  const auto index_of = [&](const RunResult* run) {
    return static_cast<std::size_t>(run - report.results.data());
  };
  const auto about = [&](const RunResult* run) -> ReportRun& {
    return *std::ranges::find(report.runs, run->folder.string(), &ReportRun::folder);
  };

  std::vector<ProblemTable> tables = make_tables(report.results, options.baseline);
  const std::vector<ProblemMethods> all = methods_of(report.results);
  for (std::size_t p = 0; p < all.size(); ++p) {
    ReportProblem problem{.table = std::move(tables[p]), .methods = {}};
    std::vector<std::string> row_of(report.results.size());
    for (const MethodRuns& runs : all[p].methods)
      for (const RunResult* run : runs.runs) row_of[index_of(run)] = runs.label;
    for (const TableRow& row : problem.table.rows) {
      const MethodRuns& runs = *std::ranges::find(all[p].methods, row.label, &MethodRuns::label);
      ReportMethod& method = problem.methods.emplace_back(method_of(runs));
      for (const RunResult* run : runs.runs) {
        ReportRun& its = about(run);
        its.problem = problem.table.problem;
        its.label = row.label;
        add_ledgers(*run, its, method.ledger);
        const auto& found = costs[index_of(run)];
        if (!found || method.cost) continue;
        method.cost = found->cost;
        if (found->baseline_run) method.cost->baseline = row_of[*found->baseline_run];
      }
    }
    describe_states(*all[p].methods.front().runs.front(), problem);
    if (folders.size() == 1 && all.size() == 1)
      describe_study(folders.front(), problem.methods.front().shown, report.results, problem);
    draw_problem(all[p], 1.0 / static_cast<double>(all.size()), problem);
    report.problems.push_back(std::move(problem));
  }
  return report;
}

}  // namespace stap
