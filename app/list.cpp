#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "help.h"
#include "stap/core/error.h"
#include "stap/report/charts.h"
#include "stap/results/text_style.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"

namespace stap::app {
namespace {

struct ListOptions {
  std::string family;  ///< empty: all
  bool json = false;
};

// Of `stap plot`: no section of a configuration, so only listed by name.
config::Family chart_family() {
  config::Family charts{.name = "charts",
                        .text = "the figures of reports and of 'stap plot'",
                        .named = true,
                        .entries = {}};
  for (const ChartRow& row : chart_rows()) charts.entries.push_back({row.id, row.text});
  return charts;
}

config::Family preset_family() {
  config::Family all{.name = "presets",
                     .text = "for 'stap run', 'sweep', 'generate' and 'check'",
                     .named = true,
                     .entries = {}};
  for (const Preset& preset : presets())
    all.entries.push_back({preset.name, preset_summary(preset)});
  return all;
}

std::vector<config::Family> wanted(const std::string& name) {
  std::vector<config::Family> result;
  std::vector<std::string> known;
  if (name == "charts") return {chart_family()};
  if (name == "presets") return {preset_family()};
  for (const config::Family& family : study_families()) {
    if (name.empty() || family.name == name) result.push_back(family);
    known.push_back(family.name);
  }
  known.insert(known.end(), {"charts", "presets"});
  if (result.empty())
    throw Error(ErrorKind::config, fmt::format("there is no family '{}'{}", name,
                                               config::hint(name, known, "families")));
  return result;
}

config::Value to_json(const config::Family& family) {
  config::Value::List entries;
  for (const config::Entry& entry : family.entries) {
    config::Value row;
    row.set("name", entry.name);
    row.set("text", entry.text);
    entries.push_back(std::move(row));
  }
  config::Value result;
  result.set("family", family.name);
  result.set("text", family.text);
  result.set("named", family.named);
  result.set("entries", config::Value(std::move(entries)));
  return result;
}

void show(const config::Family& family, std::size_t columns, std::ostream& out) {
  std::vector<HelpItem> items;
  if (family.named)
    for (const config::Entry& entry : family.entries) items.push_back({entry.name, entry.text});
  out << wrapped(family.name + ": " + family.text, columns, 2) << item_lines(items, columns);
}

void run_list(const ListOptions& options, std::ostream& out) {
  const std::vector<config::Family> chosen = wanted(options.family);
  if (options.json) {
    config::Value::List list;
    for (const config::Family& family : chosen) list.push_back(to_json(family));
    out << config::json_text(config::Value(std::move(list))) << '\n';
    return;
  }
  const std::size_t columns = help_columns();
  for (const config::Family& family : chosen) show(family, columns, out);
  if (!options.family.empty()) return;
  out << '\n';
  show(preset_family(), columns, out);
}

}  // namespace

void add_list(CLI::App& program, const Globals&) {
  const auto options = std::make_shared<ListOptions>();
  CLI::App* command =
      program.add_subcommand("list", "List presets, and what a configuration can choose from");
  command->add_option("family", options->family, "Only this section, 'charts' or 'presets'")
      ->type_name("FAMILY");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Example:\n  stap list\n  stap list pde");
  command->callback([options] { run_list(*options, std::cout); });
}

}  // namespace stap::app
