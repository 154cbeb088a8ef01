#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "commands.h"
#include "families.h"
#include "stap/run/presets.h"
#include "stap/run/study.h"

namespace stap::app {
namespace {

config::Value to_json(const config::Value& effective, const config::Problems& problems) {
  config::Value::List list;
  for (const config::Problem& problem : problems.list()) {
    config::Value row;
    row.set("path", problem.path);
    row.set("text", problem.text);
    row.set("origin", problem.origin);
    list.push_back(std::move(row));
  }
  config::Value result;
  result.set("ok", problems.empty());
  if (problems.empty()) result.set("config", effective);
  result.set("problems", config::Value(std::move(list)));
  return result;
}

}  // namespace

void add_with(CLI::App& command, std::vector<std::string>& overlays) {
  command
      .add_option("--with", overlays,
                  "File or preset laid over the configuration, such as 20-rounds; may be given "
                  "several times")
      ->allow_extra_args(false);  // one name each, or settings would be taken for more
}

void run_check(const CheckOptions& options, std::ostream& out) {
  config::Value document = load_config(options.file, options.overlays);
  for (const std::string& assignment : options.overrides) apply_setting(document, assignment);
  expand_method(document);

  config::Problems problems;
  const config::Value effective = config::check(families(), document, problems);
  if (problems.empty()) check_together(effective, problems);
  if (options.json) out << config::json_text(to_json(effective, problems)) << '\n';
  problems.throw_if_any();
  if (!options.json) out << config::yaml_text(effective);
}

void add_check(CLI::App& program, const Globals&) {
  const auto options = std::make_shared<CheckOptions>();
  CLI::App* command = program.add_subcommand(
      "check", "Check a configuration; print all problems, or what it amounts to");
  command->add_option("file", options->file, "YAML file or name of a preset")->required();
  command->add_option("override", options->overrides, "key.path=value, one YAML value each");
  add_with(*command, options->overlays);
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Example:\n  stap check run.yaml train.epochs=10 'network.modes=[16, 16]'");
  command->callback([options] { run_check(*options, std::cout); });
}

}  // namespace stap::app
