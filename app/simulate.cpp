#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "given_parameters.h"
#include "help.h"
#include "interrupt.h"
#include "output_file.h"
#include "stap/core/error.h"
#include "stap/couple/by_hand.h"
#include "stap/data/store.h"
#include "stap/folder/bars_of.h"
#include "stap/folder/model_of.h"
#include "stap/folder/run_folder.h"
#include "stap/market/simulate.h"
#include "stap/nn/model_file.h"
#include "stap/study/axes.h"
#include "stap/study/data_check.h"
#include "stap/study/data_files.h"
#include "stap/study/data_request.h"
#include "stap/study/presets.h"
#include "stap/study/spending.h"
#include "stap/study/study.h"
#include "study_end.h"

namespace stap::app {
namespace {

namespace fs = std::filesystem;
using How = SimulationRules::How;
using Placing = SimulationRules::Placing;

struct SimulateOptions {
  std::string model;                   ///< a run folder or a model file
  std::vector<std::string> overrides;  ///< key=value, of the study
  std::string study;                   ///< whose solver it is
  std::string input, output;
  std::size_t steps = 0;
  std::vector<std::string> parameters;  ///< "NAME=VALUE"
  std::optional<double> tolerance, share;
  std::optional<std::size_t> verify, most;
  std::string placing = "planned";
  std::uint64_t seed = 0;
  bool anywhere = false;
  TimeLimitOptions time;
  bool json = false;
};

SimulationRules rules_of(const SimulateOptions& options) {
  if (options.share && options.tolerance)
    throw Error(ErrorKind::config, "--tolerance and --share are given, expected one of the two");
  if (!options.share && !options.tolerance)
    throw Error(ErrorKind::config,
                "say how much of the solver you want: --tolerance E (stay this close to its own "
                "trajectory) or --share S (this share of the steps)");
  if (options.verify && !options.tolerance)
    throw Error(ErrorKind::config, "--verify needs --tolerance E, of single steps");
  if (!options.share && options.placing != "planned")
    throw Error(ErrorKind::config, "--placing is about --share");
  SimulationRules rules;
  rules.how = options.share ? How::share : options.verify ? How::verify : How::tolerance;
  rules.steps = options.steps;
  rules.tolerance = options.tolerance.value_or(0.0);
  rules.share = options.share.value_or(0.0);
  rules.placing = options.placing == "planned" ? Placing::planned
                  : options.placing == "even"  ? Placing::even
                                               : Placing::random;
  rules.seed = options.seed;
  rules.draft = options.verify.value_or(0);
  rules.anywhere = options.anywhere;
  rules.most = options.most;
  return rules;
}

// The study whose solver is asked: that of the run, unless another one is named.
Study study_of(const SimulateOptions& options, const Globals& globals) {
  if (options.study.empty() && !fs::is_directory(options.model))
    throw Error(ErrorKind::config,
                fmt::format("{} is a model file, which has no solver: name its study with --study "
                            "FILE",
                            options.model));
  const std::string& name = options.study.empty() ? options.model : options.study;
  config::Value document = load_config(name);
  if (options.study.empty()) document = with_older_meaning(std::move(document));
  apply_settings(document, options.overrides);
  apply_compute(globals, document);
  Study study =
      make_study(only_run(std::move(document), options.overrides, name), Purpose::generate);
  study.failures = fs::path(options.output) / "failures";
  return study;
}

// The solver must be what the networks learned.
void check_solver(const Solver& solver, const StateInfo& learned, const std::string& model) {
  const auto& [equation, grid, dt] = learned;
  const auto close = [](double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); };
  const Grid& own = solver.grid();
  if (own.channels != grid.channels || own.points != grid.points || own.ends != grid.ends)
    throw Error(ErrorKind::config, fmt::format("{} takes states of {}, but {} has {}", model,
                                               grid.shape_text(), solver.name(), own.shape_text()));
  if (!equation.empty() && equation != solver.name())
    throw Error(ErrorKind::config, fmt::format("{} has learned {}, but the solver is that of {}",
                                               model, equation, solver.name()));
  for (std::size_t axis = 0; axis < grid.axes(); ++axis)
    if (!close(own.lengths[axis], grid.lengths[axis]))
      throw Error(ErrorKind::config,
                  fmt::format("{} was trained on a domain of {:g}, but that of {} is {:g}", model,
                              grid.lengths[axis], solver.name(), own.lengths[axis]));
  if (dt > 0 && !close(solver.dt(), dt))
    throw Error(ErrorKind::config, fmt::format("{} makes steps of {:g}, but {} makes steps of {:g}",
                                               model, dt, solver.name(), solver.dt()));
}

// Where the solver is not asked about the problem that the run learned; empty: it is, or nobody
// knows.
std::string other_problem(SimulateOptions options, const Globals& globals, const Study& study) {
  if (!fs::is_directory(options.model) || (options.study.empty() && options.overrides.empty()))
    return {};
  options.study.clear();
  options.overrides.clear();
  config::Value here, there;
  here.set("pde", data_request(study).pde);
  there.set("pde", data_request(study_of(options, globals)).pde);
  const auto differing = differences(here, there, options.model);
  if (differing.empty()) return {};
  return fmt::format(
      "the solver is not asked about what the networks learned, and error bars are about that: {}",
      fmt::join(differing, "; "));
}

// What the results depend on besides the options.
config::Value about(const Study& study, const Solver& solver, const std::string& weights) {
  const DataRequest request = data_request(study);
  config::Value value;
  value.set("weights", weights);
  value.set("solver", solver.name());
  value.set("pde", request.pde);
  if (!request.fixed_sha256.empty()) value.set("fixed_sha256", request.fixed_sha256);
  return value;
}

// What it may cost, before it does.
std::string cost_text(const SimulateOptions& options, const SimulationRules& rules,
                      std::size_t rows, const Study& study) {
  const std::size_t most = most_solver_steps(rules, rows);
  std::string text = fmt::format(
      "at most {} for {} of {}", counted(most, "solver step", "solver steps"),
      counted(rows, "trajectory", "trajectories"), counted(rules.steps, "step", "steps"));
  const fs::path journal = fs::path(options.output) / "journal.jsonl";
  if (const auto known = known_step_seconds(study, {&journal, 1})) {
    const double total = known->seconds * static_cast<double>(most);
    text += fmt::format(", {:.3g} s of solver time ({:.3g} s a step, {})", total, known->seconds,
                        known->source);
  }
  return text;
}

void print_summary(const SimulateOptions& options, const SimulationRules& rules, std::size_t rows,
                   const Simulated& done, std::ostream& out) {
  const std::size_t all = rows * rules.steps;
  if (options.json) {
    config::Value value;
    value.set("folder", options.output);
    value.set("finished", done.finished);
    value.set("rows", rows);
    value.set("steps", rules.steps);
    value.set("solver_steps", done.paid);
    value.set("by_solver", done.by_solver);
    value.set("most", most_solver_steps(rules, rows));
    value.set("failed", done.failed);
    value.set("refused", done.refused);
    value.set("beyond", done.beyond);
    value.set("seconds", done.seconds);
    out << config::json_text(value) << std::endl;
    return;
  }
  if (!done.finished) return;
  out << fmt::format(
      "{}/simulation.h5: {} of {}; the solver made {} of {} steps{}; {:.3g} s\n", options.output,
      counted(rows, "trajectory", "trajectories"), counted(rules.steps, "step", "steps"),
      done.by_solver, all,
      done.paid == done.by_solver ? "" : fmt::format(" and was asked for {}", done.paid),
      done.seconds);
  if (done.paid > done.failed)
    out << fmt::format("{}/transitions.h5: what it made, for a later run (first.path)\n",
                       options.output);
}

void run_simulate(SimulateOptions options, const Globals& globals, std::ostream& out) {
  disable_store_exit_handler();
  if (options.output.empty()) options.output = stem_of(options.input) + "-simulated";
  const SimulationRules rules = rules_of(options);
  const fs::path file = model_of(options.model);
  check_output(options.output, OutputKind::folder, {options.input, file, options.model});
  SimulationRequest request{.rules = rules};
  if (rules.how == How::tolerance) {
    FoundBars found = find_bars(options.model);
    if (!found.bars) throw Error(ErrorKind::data, found.absent);
    request.bars = std::move(found.bars);
  }
  const Surrogate surrogate = load_surrogate(file, compute_options(globals), globals.threads);
  const Grid& grid = surrogate.grid();
  if (surrogate.cluster != 1)
    throw Error(ErrorKind::config,
                fmt::format("{} makes {} steps at once, and 'stap simulate' takes networks that "
                            "make one: train with study.cluster=1",
                            options.model, surrogate.cluster));
  const Study study = study_of(options, globals);
  if (study.solver.row != nullptr && study.solver.row->name == kByHand)
    throw Error(ErrorKind::config,
                "a simulation needs a solver that answers by itself, but this one is asked by "
                "hand: give a --study whose solver is a program or a worker");
  const std::shared_ptr<const Solver> solver = make_solver(study, globals.threads);
  check_solver(*solver, model_info(options.model, surrogate, grid), options.model);
  check_described(options.input, grid, solver->dt(), "the model");
  request.initial = read_initial(options.input, grid, 1);
  clear_masked(study.fixed.get(), request.initial.values());
  check_initial(request.initial, options.input);
  const std::vector<ParameterDraw>& draws = surrogate.committee->told().parameters;
  request.parameters =
      given_parameters(options.parameters, draws, options.input, request.initial.count());
  request.about = about(study, *solver, digest(read_model(file)));

  const InterruptGuard interrupt(time_limit(options.time));
  Console console(globals);
  if (const std::string older = about_older_networks(options.model); !older.empty())
    console.warning(older);
  if (const std::string other = other_problem(options, globals, study); !other.empty())
    console.warning(other);
  for (const std::string& text : outside_ranges(request.parameters, draws))
    console.warning(fmt::format(
        "{}, which the networks were trained for: what they make of it is extrapolated", text));
  if (request.bars && rules.steps > request.bars->steps)
    console.note(
        fmt::format("error bars reach {} steps from a state of the solver, so it makes at "
                    "least {} of {} steps",
                    request.bars->steps, rules.steps - request.bars->steps, rules.steps));
  const std::size_t rows = request.initial.count();
  console.note(cost_text(options, rules, rows, study));
  if (rules.how == How::share && rules.placing == Placing::planned)
    console.note(
        "the networks plan where it helps most, again after each of them, which takes long where "
        "steps are many: '--placing even' plans nothing");
  show_spools(std::span(&study, 1), console);
  const StateInfo info{solver->name(), grid, solver->dt()};
  const Simulated done = simulate(request, *surrogate.committee, solver, info, options.output,
                                  console, interrupt.stop());
  console.finish();
  if (!done.trouble.empty() && done.by_solver > 0)
    console.warning(fmt::format("{}; the surrogate went on alone there", done.trouble));
  if (done.finished && done.beyond > 0)
    console.warning(fmt::format(
        "{} not within the tolerance: the solver's steps were used up or "
        "could not be made",
        done.beyond == 1 ? "1 trajectory is" : fmt::format("{} trajectories are", done.beyond)));
  if (!done.finished && interrupt.requested())
    console.note(
        fmt::format("stopped; run the same command again to continue in {}", options.output));
  print_summary(options, rules, rows, done, out);
  if (done.finished && done.by_solver == 0 && !done.trouble.empty())
    throw Error(ErrorKind::solver,
                fmt::format("the solver made none of the steps it was asked for, so the surrogate "
                            "made them all; {}",
                            done.trouble));
  if (done.finished) return;
  if (interrupt.requested()) interrupt.end_program();
  end_in_time(options.output, command_text(globals), console);
}

}  // namespace

void add_simulate(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<SimulateOptions>();
  CLI::App* command = program.add_subcommand(
      "simulate", "Simulate with the surrogate, and your solver where it matters");
  command
      ->add_option("model", options->model, "Folder of a run (its newest networks), or model file")
      ->required()
      ->type_name("MODEL");
  command
      ->add_option("setting", options->overrides, "key=value of the study, such as solver.slots=8")
      ->type_name("SETTING");
  command
      ->add_option("--study", options->study,
                   "Study whose solver is asked (default: that of the run; a model file has none)")
      ->type_name("CONFIG");
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
      ->add_option("--tolerance", options->tolerance,
                   "Stay this close to the solver's own trajectory, sqrt(sum e^2/Nx), where the "
                   "error bars hold ('stap calibrate' first)")
      ->type_name("E");
  command
      ->add_option("--share", options->share,
                   "Instead: have the solver make this share of the steps, where they help most")
      ->type_name("S");
  command
      ->add_option("--placing", options->placing,
                   "For --share: where networks plan it, at even distances, or at random")
      ->capture_default_str()
      ->check(CLI::IsMember({"planned", "even", "random"}))
      ->type_name("WHERE");
  command->add_option("--seed", options->seed, "Of random places")->type_name("N");
  command
      ->add_option("--verify", options->verify,
                   "With --tolerance, of each step: draft up to K steps and have the solver check "
                   "all of them at the same time; no calibration is needed")
      ->check(CLI::Range(std::size_t{1}, std::size_t{4096}))
      ->type_name("K");
  command
      ->add_option("--most", options->most,
                   "Ask for this many solver steps at most, shared equally among trajectories")
      ->check(CLI::Range(std::size_t{0}, std::size_t{1} << 40))
      ->type_name("N");
  command->add_flag("--anywhere", options->anywhere,
                    "The input states are from anywhere in a trajectory, not from its beginning");
  command
      ->add_option("--out,--output", options->output,
                   "Folder for simulation.h5, transitions.h5 and the journal (default: the input's "
                   "name with -simulated)")
      ->type_name("FOLDER");
  add_time_limit(*command, options->time);
  command->add_flag("--json", options->json, "Print the summary as JSON");
  command->footer(
      "simulation.h5 holds `trajectory` [B,L+1,C,X...], `by_solver` [B,L] (who made each step), "
      "`predicted_error` [B,L+1] and `solver_steps` [B,L] (what each cost). The solver's answers "
      "are also in transitions.h5, for a later run (first.path).\n"
      "Stopped or killed, it keeps all answers; run the same command again to continue.\n"
      "Example:\n  stap simulate my-run --input states.h5 --steps 26 --tolerance 0.01\n"
      "  stap simulate my-run --input states.h5 --steps 26 --share 0.1 --output hybrid");
  command->callback([options, &globals] { run_simulate(*options, globals, std::cout); });
}

}  // namespace stap::app
