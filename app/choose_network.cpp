#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "duration.h"
#include "help.h"
#include "interrupt.h"
#include "stap/core/error.h"
#include "stap/data/store.h"
#include "stap/folder/run_folder.h"
#include "stap/nn/engine.h"
#include "stap/results/network_choice.h"
#include "stap/run/network_trial.h"
#include "stap/study/affecting.h"
#include "stap/study/method.h"
#include "stap/study/presets.h"
#include "work_plan.h"

namespace stap::app {
namespace {

using config::Value;

struct ChooseNetworkOptions {
  std::string run;
  std::vector<std::string> settings, networks;
  std::size_t folds = 5, repeats = 2;
  bool json = false;
};

// A network that is tried: the run's study with its network, and what to write for it.
struct Variant {
  std::string name;
  std::vector<std::string> settings;  // none: the run's own
  Study study;
  NetworkSpec network;

  bool own() const { return settings.empty(); }
  std::size_t bytes(int threads) const {
    const RowChanges changes{make_symmetries(study).size(), study.train.noise > 0};
    return training_bytes(study.compute, network, study.options.members, changes, threads);
  }
};

// "dilated(width=32)" as settings.
std::vector<std::string> settings_of(const std::string& text) {
  std::vector<std::string> settings;
  try {
    const Value section = parse_choice(text);
    for (const Value::Member& member : *section.map())
      settings.push_back(fmt::format("network.{}={}", member.key,
                                     member.value.text() != nullptr
                                         ? *member.value.text()
                                         : config::json_text(member.value, 0)));
  } catch (const Error& error) {
    throw Error(ErrorKind::config,
                fmt::format("--network '{}': {}; expected a family or family(key=value,...), for "
                            "example dilated(width=32)",
                            text, error.what()));
  }
  return settings;
}

Variant variant_of(Value document, std::string name, std::vector<std::string> settings) {
  apply_settings(document, settings);
  Study study = make_study(std::move(document), Purpose::train);
  NetworkSpec network = study_network(study);
  device_text(study.compute, study.network.family);  // refuses what has no body there
  return {std::move(name), std::move(settings), std::move(study), std::move(network)};
}

// The run's configuration with settings that change how networks are trained, and nothing else.
Value document_of(const ChooseNetworkOptions& options, const Globals& globals) {
  if (!std::filesystem::is_directory(options.run))
    throw Error(ErrorKind::config,
                fmt::format("{} is no folder of a run: give the --out of 'stap run'", options.run));
  const Value before = load_config(options.run);
  Value document = before;
  apply_settings(document, options.settings);
  using enum config::Affects;
  for (const std::string& setting : options.settings)
    if (full_key(setting).starts_with("network."))
      throw Error(ErrorKind::config,
                  fmt::format("'{}': networks are given with --network, for example --network "
                              "'dilated(width=32)'",
                              setting));
  const auto fixed = [](const Value& d) {
    return config::yaml_text(affecting(d, {problem, data, test, source, method, later, rounds}));
  };
  if (fixed(make_study(before, Purpose::look).effective) !=
      fixed(make_study(document, Purpose::look).effective))
    throw Error(ErrorKind::config,
                fmt::format("{}: only how networks are trained can be set here (train, "
                            "study.members, seed, compute), as the data are those of {}",
                            fmt::join(options.settings, " "), options.run));
  apply_compute(globals, document);
  return document;
}

// The run's own network first.
std::vector<Variant> variants_of(const ChooseNetworkOptions& options, const Globals& globals,
                                 Console& console) {
  const Value document = document_of(options, globals);
  std::vector<Variant> variants;
  const auto add = [&](std::string name, std::vector<std::string> settings) {
    Variant variant = variant_of(document, std::move(name), std::move(settings));
    const auto same = [&](const Variant& other) { return other.network == variant.network; };
    if (std::ranges::none_of(variants, same)) variants.push_back(std::move(variant));
  };
  add("", {});
  const FamilyRow* own = variants.front().network.family.row;
  variants.front().name = own->name;
  for (const std::string& text : options.networks) add(text, settings_of(text));
  if (!options.networks.empty()) return variants;
  for (const FamilyRow& row : family_table()) {
    if (&row == own) continue;
    try {
      add(row.name, {"network.name=" + row.name});
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::config) throw;
      console.note(fmt::format("{} is left out: {}", row.name, error.what()));
    }
  }
  return variants;
}

std::string estimate_text(const std::vector<Variant>& variants, const TransitionSet& set,
                          std::size_t splits, int threads) {
  double all = 0;
  for (const Variant& variant : variants) {
    const auto step = training_step_seconds(variant.study, threads);
    if (!step) return "how long it will take is not known";
    const FitLength length = fit_length(variant.study.train, set.count());
    all += *step * static_cast<double>(length.steps) * static_cast<double>(splits);
  }
  return fmt::format("about {} for {}", duration_text(all),
                     counted(variants.size() * splits, "training", "trainings"));
}

std::string table_text(const std::vector<Variant>& variants, std::span<const NetworkScore> scores,
                       std::span<const NetworkTrial> trials, const NetworkChoice& choice,
                       int threads) {
  std::size_t width = 8;
  for (const NetworkScore& score : scores) width = std::max(width, score.name.size() + 13);
  std::string text =
      fmt::format("{:<{}}{:>10}{:>16}{:>14}{:>11}{:>12}{:>9}\n", "network", width, "error",
                  "log, 95 %", "single steps", "training", "step", "memory");
  for (std::size_t n = 0; n < choice.order.size(); ++n) {
    const std::size_t i = choice.order[n];
    const Comparison& c = choice.to_first[n];
    double single = 0;
    for (const TrialErrors& e : trials[i].errors) single += std::log(e.single);
    single = std::exp(single / static_cast<double>(trials[i].errors.size()));
    const auto error = [](double e) {
      return std::isfinite(e) ? fmt::format("{:.3g}", e) : std::string("diverged");
    };
    text += fmt::format(
        "{:<{}}{:>10}{:>16}{:>14}{:>11}{:>12}{:>9}\n",
        scores[i].name + (scores[i].own ? " (this run's)" : ""), width, error(scores[i].error()),
        n == 0 || scores[i].diverged() ? "-"
                                       : fmt::format("{:+.3f} ± {:.3f}", c.paired.mean, c.half),
        error(single), duration_text(scores[i].training_seconds),
        milliseconds_text(scores[i].step_seconds),
        bytes_text(static_cast<double>(variants[i].bytes(threads))));
  }
  return text;
}

Value result_json(const ChooseNetworkOptions& options, const std::vector<Variant>& variants,
                  std::span<const NetworkScore> scores, std::span<const NetworkTrial> trials,
                  const NetworkChoice& choice, bool rollouts, const std::string& words,
                  int threads) {
  const auto number = [](double value) { return std::isfinite(value) ? Value(value) : Value(); };
  Value result;
  result.set("format", "network-choice/1");
  result.set("run", options.run);
  result.set("folds", options.folds);
  result.set("repeats", options.repeats);
  result.set("judged_on", rollouts ? "rollouts" : "single steps");
  Value::List list;
  for (std::size_t n = 0; n < choice.order.size(); ++n) {
    const std::size_t i = choice.order[n];
    Value row;
    row.set("network", scores[i].name);
    row.set("own", scores[i].own);
    row.set("settings", config::list_of(variants[i].settings));
    row.set("weights", parameter_count(variants[i].network));
    row.set("error", number(scores[i].error()));
    row.set("log_difference", number(choice.to_first[n].paired.mean));
    row.set("log_difference_95", number(choice.to_first[n].half));
    Value::List rollout, single;
    for (const TrialErrors& e : trials[i].errors) {
      rollout.push_back(e.rollout ? number(*e.rollout) : Value());
      single.push_back(number(e.single));
    }
    row.set("rollout_errors", Value(std::move(rollout)));
    row.set("single_step_errors", Value(std::move(single)));
    row.set("training_bytes", variants[i].bytes(threads));
    row.set("training_seconds", scores[i].training_seconds);
    row.set("step_seconds", scores[i].step_seconds);
    list.push_back(std::move(row));
  }
  result.set("networks", Value(std::move(list)));
  result.set("clear", choice.clear);
  result.set("recommendation", words);
  return result;
}

void run_choose_network(const ChooseNetworkOptions& options, const Globals& globals,
                        std::ostream& out) {
  disable_store_exit_handler();
  Console console(globals);
  const std::vector<Variant> variants = variants_of(options, globals, console);
  if (variants.size() < 2)
    throw Error(ErrorKind::config,
                "there is no other network to compare this run's with: give one with --network, "
                "for example --network 'dilated(width=32)'");
  const RunFolder folder(options.run);
  if (!std::filesystem::exists(folder.transitions_file()))
    throw Error(ErrorKind::data, fmt::format("{} is missing: nothing was bought yet in this run",
                                             folder.transitions_file().string()));
  const TransitionSet set = folder.read_transitions();
  const Study& study = variants.front().study;
  const std::size_t steps = study.options.pattern_steps();
  const std::vector<TrialSplit> splits = trial_splits(
      set, steps, options.folds, options.repeats, Rng(study.options.seed).split("network trial"));
  const bool rollouts =
      std::ranges::none_of(splits, [](const TrialSplit& split) { return split.whole.empty(); });
  if (study.options.stages > 1)
    console.note("study.stages: networks are trained for the first stage only");
  const bool length_given = std::ranges::any_of(
      options.settings, [](const std::string& s) { return full_key(s).starts_with("train."); });
  if (study.options.warm_start && set.acquisitions > 1 && !length_given) {
    const FitOptions& train = study.train;
    const bool steps_count = train.steps > 0;
    console.note(fmt::format(
        "study.warm_start: this run's networks were trained in {} rounds, these are trained for "
        "one; which is better may depend on that. As long as the run's: train.{}={}",
        set.acquisitions, steps_count ? "steps" : "epochs",
        (steps_count ? train.steps : train.epochs) * static_cast<int>(set.acquisitions)));
  }
  console.note(estimate_text(variants, set, splits.size(), globals.threads));

  const InterruptGuard interrupt;
  const std::vector<double> deviations = trial_deviations(study, set, variants.front().network);
  std::vector<NetworkTrial> trials;
  std::vector<NetworkScore> scores;
  try {
    for (const Variant& variant : variants) {
      trials.push_back(try_network(variant.study, variant.network, set, splits, deviations,
                                   variant.name, console, globals.threads, interrupt.stop()));
      NetworkScore score{.name = variant.name, .own = variant.own(), .errors = {}};
      for (const TrialErrors& e : trials.back().errors)
        score.errors.push_back(rollouts ? *e.rollout : e.single);
      score.training_seconds = trials.back().training_seconds;
      score.step_seconds = trials.back().step_seconds;
      scores.push_back(std::move(score));
    }
  } catch (const Stopped&) {
    console.finish();
    interrupt.end_program();
  }
  console.finish();

  const NetworkChoice choice = choose_network(scores, options.folds);
  const Variant& best = variants[choice.order.front()];
  const std::string words = choice_text(scores, choice);
  if (options.json) {
    out << config::json_text(result_json(options, variants, scores, trials, choice, rollouts, words,
                                         globals.threads))
        << '\n';
    return;
  }
  std::size_t whole = 0;
  for (const TrialSplit& split : splits) whole += split.whole.size() / steps;
  out << fmt::format(
      "{}: {} transitions, {}; every candidate held back {}\n"
      "error of {}, averaged model{}\n\n",
      options.run, set.count(),
      counted(whole / options.repeats, "whole trajectory", "whole trajectories"),
      options.repeats == 1 ? "once" : fmt::format("{} times", options.repeats),
      rollouts ? fmt::format("rollouts of {}", counted(study.options.steps, "step", "steps"))
               : std::string("single steps"),
      deviations.empty() ? "" : ", in deviations of the data");
  out << table_text(variants, scores, trials, choice, globals.threads) << '\n' << words << '\n';
  if (!best.own() && !scores[choice.order.front()].diverged())
    out << fmt::format("{}: {}\n", choice.clear ? "setting" : "to try it",
                       fmt::join(best.settings, " "));
}

}  // namespace

void add_choose_network(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<ChooseNetworkOptions>();
  CLI::App* command = program.add_subcommand(
      "choose-network", "Find out which network suits a run's data, without the solver");
  command->add_option("run", options->run, "Folder of a run")->required()->type_name("RUN");
  command
      ->add_option("setting", options->settings,
                   "How networks are trained, if not as in the run: train.steps=2000, "
                   "study.members=1; seed=1 draws other splits")
      ->type_name("SETTING");
  command
      ->add_option("--network", options->networks,
                   "A network to compare with the run's own: a family, or family(key=value,...); "
                   "may be given several times (default: every other family)")
      ->allow_extra_args(false)
      ->type_name("NETWORK");
  command
      ->add_option("--folds", options->folds,
                   "Parts of the data, each held back once while networks are trained on the rest")
      ->check(CLI::Range(2, 100))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--repeats", options->repeats, "How often, with other parts")
      ->check(CLI::Range(1, 100))
      ->capture_default_str()
      ->type_name("N");
  command->add_flag("--json", options->json, "Print the result as JSON");
  command->footer(
      "Networks are trained from fresh weights on what the run has bought, as those of one of its "
      "rounds, and judged on candidates that were held back: by rollouts where whole trajectories "
      "were bought, else by single steps. The test set is not used. Nothing is bought and no file "
      "is written.\n"
      "Example:\n  stap choose-network my-run\n"
      "  stap choose-network my-run --network 'dilated(width=32)' train.steps=2000");
  command->callback([options, &globals] { run_choose_network(*options, globals, std::cout); });
}

}  // namespace stap::app
