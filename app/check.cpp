#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "duration.h"
#include "help.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/core/symmetry.h"
#include "stap/folder/run_folder.h"
#include "stap/nn/engine.h"
#include "stap/study/affecting.h"
#include "stap/study/axes.h"
#include "stap/study/data_check.h"
#include "stap/study/presets.h"
#include "stap/study/spending.h"
#include "stap/study/study.h"
#include "work_plan.h"

namespace stap::app {
namespace {

struct CheckOptions {
  std::string file;
  std::vector<std::string> overlays;   ///< --with
  std::vector<std::string> overrides;  ///< key.path=value
  std::vector<std::string> grid;       ///< key=a,b,c
  bool json = false;
};

// What one or all runs of a sweep amount to; of a sweep, the study is that of the first run.
struct Checked {
  Study study;
  config::Complaints complaints;
  std::vector<Study> foreign{};  // those that ask a solver of the user's own
  WorkPlan plan{};
};

// Files of data are looked at once, however many runs of a sweep share them.
Checked check_run(const config::Value& document, std::set<std::string>& looked_at) {
  Checked result;
  Study& study = result.study;
  study = read_study(document, Purpose::check, result.complaints);
  if (!result.complaints.empty() || study.dt <= 0) return result;
  if (looked_at.insert(config::yaml_text(problem_part(study.effective))).second)
    check_data(study, result.complaints);
  return result;
}

Checked check_runs(const std::vector<SweepRun>& runs) {
  std::set<std::string> looked_at;
  Checked all = check_run(runs.front().document, looked_at);
  if (asks_own_solver(all.study)) all.foreign.push_back(all.study);
  if (all.complaints.empty()) add_to_plan(all.study, all.plan);
  for (const SweepRun& run : std::span(runs).subspan(1)) {
    if (all.complaints.full()) break;
    const Checked one = check_run(run.document, looked_at);
    if (asks_own_solver(one.study)) all.foreign.push_back(one.study);
    if (one.complaints.empty()) add_to_plan(one.study, all.plan);
    for (const config::Complaint& complaint : one.complaints.list()) {
      // A mistake in what they share is that of all runs.
      const auto& known = all.complaints.list();
      if (std::ranges::none_of(known, [&](const auto& k) { return k.line() == complaint.line(); }))
        all.complaints.add(complaint);
    }
  }
  return all;
}

// The axes as YAML comments.
std::string axes_text(const std::vector<GridAxis>& axes, std::size_t runs) {
  std::string text = fmt::format("# a sweep of {}:\n", counted(runs, "run", "runs"));
  for (const GridAxis& axis : axes)
    text += fmt::format("#   {}: {}\n", axis.key, fmt::join(axis.values, ", "));
  return text + "# the first of them:\n";
}

// What the solver will be asked, each line behind `mark`, and what `networks` will take, if that is
// known better than from a measurement; nothing for built-in equations.
std::string spending_lines(const std::vector<Study>& studies,
                           const std::vector<std::filesystem::path>& journals,
                           const std::string& mark, const std::string& networks = "") {
  std::string text;
  for (const ExpectedSpending& spending : expected_spending(studies, journals)) {
    std::string lines =
        mark + spending_text(spending, known_step_seconds(studies[spending.first], journals)) +
        (networks.empty() ? training_text(spending) : "");
    for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; ++at)
      lines.insert(at + 1, mark);
    text += lines + "\n";
  }
  return text.empty() ? text : text + networks;
}

config::Value spending_json(const std::vector<Study>& studies) {
  config::Value::List list;
  for (const ExpectedSpending& spending : expected_spending(studies))
    list.push_back(to_value(spending, known_step_seconds(studies[spending.first])));
  return config::Value(std::move(list));
}

config::Value plan_json(const WorkPlan& plan, int threads) {
  config::Value value;
  value.set("runs", plan.runs);
  value.set("solver_steps", plan.bought);
  value.set("test_set_steps", plan.test);
  value.set("warm_up_steps", plan.warm_up);
  value.set("unspent_steps", plan.unspent);
  value.set("disk_bytes", plan.disk);
  value.set("networks", networks_json(plan, threads));
  return value;
}

config::Value to_json(const Checked& checked) {
  config::Value::List list;
  for (const config::Complaint& complaint : checked.complaints.list()) {
    config::Value row;
    row.set("path", complaint.path);
    row.set("text", complaint.text);
    row.set("origin", complaint.origin);
    list.push_back(std::move(row));
  }
  config::Value result;
  result.set("ok", checked.complaints.empty());
  if (checked.complaints.empty()) result.set("config", checked.study.effective);
  result.set("problems", config::Value(std::move(list)));
  return result;
}

// What a study of this configuration needs, for a user who plans; empty unless it is a whole one.
// Files have the size they have.
std::string memory_text(const Study& study, const Globals& globals) {
  if (!study.complete()) return {};
  const StudyOptions& o = study.options;
  const NetworkSpec network = study_network(study);
  const double cluster = static_cast<double>(network.grid.values() * sizeof(double));
  const double data = cluster * static_cast<double>(o.pool + o.test * (o.pattern_steps() + 1));
  const std::string pool =
      fmt::format("memory: about {:.2g} GiB for pool and test set", data / (1 << 30));
  // A configuration for another machine is a good one all the same.
  if (const std::string problem = cuda_problem(); uses_gpu(study.compute) && !problem.empty())
    return fmt::format("{}; device cuda is not available here: {}", pool, problem);
  const RowChanges changes{parse_symmetries(study.train.symmetries, study.grid, study.channels,
                                            names_of(varied_parameters(study.pde)))
                               .size(),
                           study.train.noise > 0};
  const double training = static_cast<double>(
      training_bytes(study.compute, network, o.members, changes, globals.threads));
  return fmt::format("{}, {:.2g} GiB for training {} networks ({})", pool, training / (1 << 30),
                     o.members, device_text(study.compute, study.network.family));
}

// Of a plan, as its first study's networks were measured.
std::string training_line(const std::optional<double>& seconds) {
  return seconds ? fmt::format("#   and about {} of training\n", duration_text(*seconds)) : "";
}

// Of runs that are continued: what networks will take, by the last round.
std::string computing_text(const std::vector<Study>& studies,
                           const std::vector<std::filesystem::path>& folders) {
  double left = 0, last = 0;
  for (std::size_t r = 0; r < studies.size(); ++r) {
    const RunFolder run(folders[r]);
    std::map<std::size_t, double> by_round;
    try {
      for (const Timing& timing : run.read_timings())
        if (timing.phase == "train" || timing.phase == "evaluate" || timing.phase == "select")
          by_round[timing.round] += timing.seconds;
    } catch (const Error&) {  // whoever needs the file will complain
    }
    if (by_round.empty()) continue;
    const auto& [round, seconds] = *by_round.rbegin();
    last = seconds;
    left += seconds * static_cast<double>(studies[r].options.rounds -
                                          std::min(studies[r].options.rounds, round));
  }
  if (left <= 0) return {};
  return fmt::format("  and {:.3g} s for networks ({:.3g} s in the last round)\n", left, last);
}

void run_check(const CheckOptions& options, const Globals& globals, std::ostream& out) {
  config::Value document = load_config(options.file, options.overlays);
  apply_settings(document, options.overrides);
  apply_compute(globals, document);

  const bool sweep = document.find("sweep") != nullptr || !options.grid.empty();
  const std::vector<GridAxis> axes = take_axes(document, options.overrides, options.grid);
  const std::vector<SweepRun> runs = expand_grid(document, axes);
  Checked checked = check_runs(runs);
  const auto training =
      checked.complaints.empty() ? training_seconds(checked.plan, globals.threads) : std::nullopt;
  if (options.json) {
    config::Value json = to_json(checked);
    if (sweep) {
      config::Value::List names;
      for (const SweepRun& run : runs) names.emplace_back(run.name);
      json.set("runs", config::Value(std::move(names)));
    }
    if (checked.complaints.empty() && !checked.foreign.empty())
      json.set("spending", spending_json(checked.foreign));
    if (checked.complaints.empty() && checked.plan.runs > 0)
      json.set("plan", plan_json(checked.plan, globals.threads));
    out << config::json_text(json) << '\n';
  }
  checked.complaints.throw_if_any();
  if (!options.json)
    out << spending_lines(checked.foreign, {}, "# ", training_line(training))
        << (sweep ? axes_text(axes, runs.size()) : "")
        << config::yaml_text(checked.study.effective);
  Console console(globals);
  std::vector<std::string> notes{left_out_note(load_config(options.file), runs.back().document),
                                 pool_note(checked.study), hidden_channels_note(checked.study),
                                 memory_text(checked.study, globals)};
  std::ranges::move(network_texts(checked.plan, globals.threads), std::back_inserter(notes));
  notes.push_back(plan_text(checked.plan, training));
  for (const std::string& note : notes)
    if (!note.empty()) console.note(note);
}

}  // namespace

void add_with(CLI::App& command, std::vector<std::string>& overlays) {
  command
      .add_option("--with", overlays,
                  "File or preset whose settings replace those of CONFIG, such as 20-rounds; may "
                  "be given several times")
      ->allow_extra_args(false)  // one name each, or settings would be taken for more
      ->type_name("OVERLAY");
}

void add_grid(CLI::App& command, std::vector<std::string>& axes) {
  command
      .add_option("--grid", axes,
                  "key=a,b,c or key=0..4; may be given several times, for all combinations. "
                  "Replaces an axis of the configuration")
      ->allow_extra_args(false)  // one axis each, or settings would be taken for more
      ->type_name("AXIS");
}

void show_spending(const std::vector<Study>& studies,
                   const std::vector<std::filesystem::path>& folders, Console& console) {
  std::vector<std::filesystem::path> journals;
  for (const std::filesystem::path& folder : folders) journals.push_back(folder / "journal.jsonl");
  std::string text = spending_lines(studies, journals, "", computing_text(studies, folders));
  if (text.empty()) return;
  text.pop_back();  // the last line break
  console.note(text);
}

void add_check(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<CheckOptions>();
  CLI::App* command = program.add_subcommand(
      "check", "Check a configuration: all mistakes, or what it will do and cost");
  command->add_option("file", options->file, "YAML file, preset ('stap list') or run folder")
      ->required()
      ->type_name("CONFIG");
  command
      ->add_option("override", options->overrides,
                   "key=value, such as train.epochs=20 ('stap describe SECTION')")
      ->type_name("SETTING");
  add_with(*command, options->overlays);
  add_grid(*command, options->grid);
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "Prints the complete configuration, which can be used as a file, and then how many runs and "
      "solver steps it means, and how much memory, time and disk.\n"
      "Example:\n  stap check demo\n"
      "  stap check run.yaml train.epochs=10 'network.modes=[16, 16]'\n"
      "  stap check demo --grid method=random,sbal+stap --grid seed=0..4");
  command->callback([options, &globals] { run_check(*options, globals, std::cout); });
}

}  // namespace stap::app
