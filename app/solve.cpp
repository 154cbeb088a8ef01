#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "interrupt.h"
#include "output_file.h"
#include "stap/core/error.h"
#include "stap/core/solver_queue.h"
#include "stap/data/store.h"
#include "stap/data/trajectory_file.h"
#include "stap/study/data_files.h"
#include "stap/study/study.h"

namespace stap::app {
namespace {

struct SolveOptions {
  std::string pde;
  std::vector<std::string> overrides;  ///< key=value
  std::string input, output;
  std::size_t steps = 0;
  bool json = false;
};

// How long an answer is waited for before Ctrl-C is looked at again.
constexpr std::chrono::milliseconds kWaitAtMost{200};

// The equation with the options given on the command line.
config::Choice<PdeRow> chosen_pde(const SolveOptions& options) {
  config::Value section;
  section.set("name", options.pde);
  for (const std::string& assignment : options.overrides)
    config::apply_override(section, assignment);
  return pde_table().choose(section);
}

// All rows on their way: the current state of each, NaN from where it ended.
struct Rows {
  States<double> states;
  std::vector<RowEnd> ends;
  RowParameters parameters;

  std::vector<double> parameters_of(std::size_t row) const {
    const std::span<const double> own = parameters.row(row);
    return {own.begin(), own.end()};
  }
  bool alive(std::size_t row) const { return ends[row].status == Answer::Status::ok; }
  std::size_t count(Answer::Status status) const {
    return static_cast<std::size_t>(std::count_if(
        ends.begin(), ends.end(), [&](const RowEnd& end) { return end.status == status; }));
  }
};

// Takes the answer to a row's learned step `step` (1 .. L).
void take(const Reply& reply, std::size_t step, Rows& rows) {
  const Answer& answer = reply.answer;
  const std::span<double> state = rows.states.row(reply.id);
  if (answer.status == Answer::Status::ok) {
    std::copy(answer.states.begin(), answer.states.end(), state.begin());
    return;
  }
  std::fill(state.begin(), state.end(), std::numeric_limits<double>::quiet_NaN());
  rows.ends[reply.id] = {answer.status, answer.reason, static_cast<std::int64_t>(step)};
}

// False if it was interrupted.
bool advance_all(const Solver& solver, std::size_t steps, Rows& rows, TrajectoryWriter& writer,
                 Observer& observer, const InterruptGuard& interrupt) {
  const std::size_t count = rows.states.count();
  const std::unique_ptr<SolverQueue> queue = solver.open();
  writer.put(0, rows.states.view());
  for (std::size_t step = 1; step <= steps; ++step) {
    for (std::size_t row = 0; row < count; ++row)
      if (rows.alive(row))
        queue->submit({.id = row,
                       .state = {rows.states.row(row).begin(), rows.states.row(row).end()},
                       .time = static_cast<double>(step - 1) * solver.dt(),
                       .params = rows.parameters_of(row)});
    while (queue->open() > 0) {
      const auto reply = queue->next(SolverQueue::Clock::now() + kWaitAtMost);
      if (interrupt.requested()) return false;
      if (reply) take(*reply, step, rows);
      if (!queue->ready())
        observer.progress({.phase = "solving",
                           .done = step * count - queue->open(),
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

void run_solve(SolveOptions options, const Globals& globals, std::ostream& out) {
  disable_store_exit_handler();
  if (options.output.empty()) options.output = stem_of(options.input) + "-solved.h5";
  check_output(options.output, OutputKind::trajectories, {options.input});
  const config::Choice<PdeRow> pde = chosen_pde(options);
  const auto solver = make_solver(pde, globals.threads);
  States<double> initial = read_states(options.input, solver->grid());
  Rows rows{std::move(initial), {}, {}};
  rows.ends.resize(rows.states.count());
  rows.parameters = read_parameters(options.input, solver->parameters(), rows.ends.size());

  const auto start = std::chrono::steady_clock::now();
  const InterruptGuard interrupt;
  std::optional<TrajectoryWriter> writer(std::in_place, options.output, solver->grid(),
                                         rows.states.count(), options.steps,
                                         TrajectoryInfo{.pde = solver->name(),
                                                        .dt = solver->dt(),
                                                        .options = config::yaml_text(pde.value()),
                                                        .parameters = rows.parameters});
  Console console(globals);
  if (!advance_all(*solver, options.steps, rows, *writer, console, interrupt)) {
    writer.reset();  // takes its temporary file along
    console.warning(fmt::format("interrupted: {} was not written", options.output));
    interrupt.end_program();
  }
  writer->commit(rows.ends);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  print_summary(options, rows, seconds.count(), out);
  const std::string trouble = first_trouble(rows);
  if (rows.count(Answer::Status::ok) == 0)
    throw Error(ErrorKind::solver, fmt::format("no row could be solved to the end; {}", trouble));
  if (!trouble.empty()) console.warning(trouble);
}

}  // namespace

void add_solve(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<SolveOptions>();
  CLI::App* command =
      program.add_subcommand("solve", "Solve trajectories with a built-in equation");
  command->add_option("pde", options->pde, "Equation ('stap list pde')")
      ->required()
      ->type_name("EQUATION");
  command
      ->add_option("option", options->overrides, "key=value of the equation ('stap describe NAME')")
      ->type_name("OPTION");
  command
      ->add_option("--input", options->input,
                   "Initial states: HDF5 file with `states` [B,C,X...] or `trajectory` "
                   "[B,T,C,X...] (its first time); `parameters` [B,P] where some vary")
      ->required()
      ->type_name("FILE");
  command->add_option("--steps", options->steps, "Number of steps to make, L")
      ->required()
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 40))
      ->type_name("L");
  command
      ->add_option("--out,--output", options->output,
                   "HDF5 file to write: `trajectory` [B,L+1,C,X...], `status`, `reason`, "
                   "`failed_step` (default: the input's name with -solved.h5)")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print the summary as JSON");
  command->footer(
      "An older file of 'stap solve' is replaced once the new one is complete; other files are "
      "not. Rows that cannot be solved are marked in the file; the exit code is 7 only if none "
      "can.\n"
      "Example:\n  stap solve burgers --input states.h5 --steps 13 --out out.h5 viscosity=0.02");
  command->callback([options, &globals] { run_solve(*options, globals, std::cout); });
}

}  // namespace stap::app
