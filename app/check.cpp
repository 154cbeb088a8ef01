#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "commands.h"
#include "families.h"
#include "stap/core/error.h"
#include "stap/ic/ic.h"
#include "stap/nn/fno.h"
#include "stap/pde/pde.h"

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

// What one section's table cannot know: whether the sections fit each other.
void check_together(const config::Value& effective, config::Problems& problems) {
  const config::Value* pde = effective.find("pde");
  if (pde == nullptr) return;
  auto part = [&](const char* path, const auto& make) {
    try {
      return make();
    } catch (const Error& e) {
      problems.add(path, e.what());
    }
    return decltype(make()){};
  };
  const auto solver = part("pde", [&] {
    const config::Choice choice = *config::choose(families()[0], *pde, problems);
    return pde_table()[choice.index].make(choice.options, 1);
  });
  if (!solver) return;
  if (const config::Value* initial = effective.find("initial"))
    part("initial", [&] {
      const config::Choice choice = *config::choose(families()[1], *initial, problems);
      return sampler_table()[choice.index].make(choice.options, solver->grid());
    });
  if (const config::Value* network = effective.find("network"))
    part("", [&] {  // its message names the key
      return make_shape(solver->grid(), config::read(fno_fields(), *network, "network"));
    });
}

}  // namespace

void run_check(const CheckOptions& options, std::ostream& out) {
  config::Value document = config::read_yaml(options.file);
  for (const std::string& assignment : options.overrides)
    config::apply_override(document, assignment);

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
  command->add_option("file", options->file, "YAML file")->required();
  command->add_option("override", options->overrides, "key.path=value, one YAML value each");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Example:\n  stap check run.yaml train.epochs=10 'network.modes=[16, 16]'");
  command->callback([options] { run_check(*options, std::cout); });
}

}  // namespace stap::app
