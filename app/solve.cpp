#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "interrupt.h"
#include "stap/core/error.h"
#include "stap/data/store.h"
#include "stap/data/trajectory_file.h"
#include "stap/pde/pde.h"

namespace stap::app {
namespace {

// Rows handed to the solver at once: enough for any number of threads, few enough that progress
// and Ctrl-C are served in time.
constexpr std::size_t kRowsAtOnce = 256;

struct Problem {
  std::unique_ptr<Solver> solver;
  config::Value options;  ///< effective, with the equation's name
};

Problem make_problem(const SolveOptions& options, const Globals& globals) {
  config::Value section;
  section.set("name", options.pde);
  for (const std::string& assignment : options.overrides)
    config::apply_override(section, assignment);
  config::Value document;
  document.set("pde", section);

  const config::Family family = config::named_family("pde", "the equation", pde_table());
  config::Problems problems;
  config::Value effective = config::check(std::span(&family, 1), document, problems);
  problems.throw_if_any();
  const std::optional<config::Choice> choice = config::choose(family, section, problems);
  problems.throw_if_any();
  return {pde_table()[choice->index].make(choice->options, globals.threads),
          *effective.find("pde")};
}

// All rows on their way: the current state of each, NaN from where it ended.
struct Rows {
  States<double> states;
  std::vector<RowEnd> ends;

  bool alive(std::size_t row) const { return ends[row].status == Answer::Status::ok; }
  std::size_t count(Answer::Status status) const {
    return static_cast<std::size_t>(std::count_if(
        ends.begin(), ends.end(), [&](const RowEnd& end) { return end.status == status; }));
  }
};

// Advances rows first .. last-1 that are still alive by learned step `step` (1 .. L).
void advance(const Solver& solver, std::size_t step, std::size_t first, std::size_t last,
             Rows& rows) {
  std::vector<Query> queries;
  for (std::size_t row = first; row < last; ++row)
    if (rows.alive(row))
      queries.push_back({.id = row,
                         .state = rows.states.row(row),
                         .time = static_cast<double>(step - 1) * solver.dt(),
                         .params = {}});
  std::vector<Answer> answers(queries.size());
  solver.solve(queries, answers);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const std::span<double> state = rows.states.row(queries[i].id);
    if (answers[i].status == Answer::Status::ok) {
      std::copy(answers[i].state.begin(), answers[i].state.end(), state.begin());
    } else {
      std::fill(state.begin(), state.end(), std::numeric_limits<double>::quiet_NaN());
      rows.ends[queries[i].id] = {answers[i].status, answers[i].reason,
                                  static_cast<std::int64_t>(step)};
    }
  }
}

// False if it was interrupted.
bool advance_all(const Solver& solver, std::size_t steps, Rows& rows, TrajectoryWriter& writer,
                 Observer& observer, const InterruptGuard& interrupt) {
  const std::size_t count = rows.states.count();
  writer.put(0, rows.states.view());
  for (std::size_t step = 1; step <= steps; ++step) {
    for (std::size_t first = 0; first < count; first += kRowsAtOnce) {
      const std::size_t last = std::min(count, first + kRowsAtOnce);
      advance(solver, step, first, last, rows);
      if (interrupt.requested()) return false;
      observer.progress({.phase = "solving",
                         .done = (step - 1) * count + last,
                         .total = steps * count,
                         .unit = "solver steps"});
    }
    writer.put(step, rows.states.view());
  }
  return true;
}

void print_summary(const SolveOptions& options, const Rows& rows, double seconds,
                   std::ostream& out) {
  const std::size_t ok = rows.count(Answer::Status::ok);
  const std::size_t refused = rows.count(Answer::Status::refused);
  const std::size_t failed = rows.count(Answer::Status::failed);
  if (options.json) {
    config::Value summary;
    summary.set("output", options.output);
    summary.set("rows", rows.ends.size());
    summary.set("steps", options.steps);
    summary.set("ok", ok);
    summary.set("refused", refused);
    summary.set("failed", failed);
    summary.set("seconds", seconds);
    out << config::json_text(summary) << '\n';
    return;
  }
  out << fmt::format("{}: {} rows of {} steps: {} ok, {} refused, {} failed; {:.3g} s\n",
                     options.output, rows.ends.size(), options.steps, ok, refused, failed, seconds);
}

// What happened first, for a user who has not opened the file yet.
std::string first_trouble(const Rows& rows) {
  for (std::size_t row = 0; row < rows.ends.size(); ++row)
    if (!rows.alive(row))
      return fmt::format("row {} was {} at step {}: {}", row, to_string(rows.ends[row].status),
                         rows.ends[row].failed_step, rows.ends[row].reason);
  return {};
}

}  // namespace

void run_solve(const SolveOptions& options, const Globals& globals, std::ostream& out) {
  disable_store_exit_handler();
  const Problem problem = make_problem(options, globals);
  States<double> initial = read_states(options.input, problem.solver->grid());
  Rows rows{std::move(initial), {}};
  rows.ends.resize(rows.states.count());

  const auto start = std::chrono::steady_clock::now();
  const InterruptGuard interrupt;
  std::optional<TrajectoryWriter> writer(
      std::in_place, options.output, problem.solver->grid(), rows.states.count(), options.steps,
      TrajectoryInfo{.pde = problem.solver->name(),
                     .dt = problem.solver->dt(),
                     .options = config::yaml_text(problem.options)});
  Console console(globals);
  if (!advance_all(*problem.solver, options.steps, rows, *writer, console, interrupt)) {
    writer.reset();  // takes its temporary file along
    console.warning(fmt::format("interrupted: {} was not written", options.output));
    interrupt.end_program();
  }
  writer->commit(rows.ends);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  print_summary(options, rows, seconds.count(), out);
  const std::string trouble = first_trouble(rows);
  if (rows.count(Answer::Status::ok) == 0)
    throw Error(ErrorKind::solver, fmt::format("no row could be solved to its end; {}", trouble));
  if (!trouble.empty()) console.warning(trouble);
}

void add_solve(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<SolveOptions>();
  CLI::App* command = program.add_subcommand(
      "solve", "Advance states by a built-in solver and store their trajectories");
  command->add_option("pde", options->pde, "Equation; 'stap list pde' names them")->required();
  command->add_option("option", options->overrides,
                      "key=value of the equation; 'stap describe NAME' shows them");
  command
      ->add_option("--input", options->input,
                   "HDF5 file with `states` [B,C,X...] or `trajectory` [B,T,C,X...] (its first "
                   "time is used)")
      ->required();
  command->add_option("--steps", options->steps, "Learned steps L to make")
      ->required()
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 40));
  command
      ->add_option("--output", options->output,
                   "HDF5 file to write: `trajectory` [B,L+1,C,X...], `status`, `reason`, "
                   "`failed_step`; an old one is replaced when all is done")
      ->required();
  command->add_flag("--json", options->json, "Print the summary as JSON");
  command->footer(
      "Rows that cannot be solved are marked in the file; only if none can is the exit code 7.\n"
      "Example:\n  stap solve burgers --input states.h5 --steps 13 --output out.h5 viscosity=0.02");
  command->callback([options, &globals] { run_solve(*options, globals, std::cout); });
}

}  // namespace stap::app
