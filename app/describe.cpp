#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "help.h"
#include "stap/core/error.h"
#include "stap/pde/pde.h"
#include "stap/results/text_style.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"

namespace stap::app {
namespace {

struct DescribeOptions {
  std::string name;  ///< an entry, a family, family.entry, or a preset
  bool json = false;
};

struct Match {
  std::string title;  ///< pde.burgers, or train
  std::string text;
  std::vector<config::Row> rows;
  std::vector<std::string> channels{};  ///< of a built-in solver's states
};

std::vector<std::string> channels_of(const config::Family& family, const config::Entry& entry) {
  const PdeRow* row = family.name == "pde" ? pde_table().find(entry.name) : nullptr;
  return row != nullptr && row->make ? row->make({}, {})->channels() : std::vector<std::string>();
}

/// A key by its path: train.epochs, or pde.viscosity of all equations that have it.
std::vector<Match> find_key(const std::string& path) {
  std::vector<Match> matches;
  for (const config::Family& family : study_families())
    for (const config::Entry& entry : family.entries)
      for (config::Row& row : config::describe(*entry.fields, family.affects))
        if (path == family.name + "." + row.name)
          matches.push_back({family.named ? family.name + "." + entry.name : family.name,
                             entry.text,
                             {std::move(row)}});
  return matches;
}

/// All entries that the name may mean: family.entry, an entry of any family, or a whole family.
std::vector<Match> find(const std::string& name) {
  std::vector<Match> matches;
  std::vector<std::string> known;
  for (const config::Family& family : study_families()) {
    known.push_back(family.name);
    for (const config::Entry& entry : family.entries) {
      const std::string title = family.named ? family.name + "." + entry.name : family.name;
      if (family.named) known.insert(known.end(), {entry.name, title});
      if (name == title || name == entry.name || name == family.name)
        matches.push_back({title, entry.text, config::describe(*entry.fields, family.affects),
                           channels_of(family, entry)});
    }
  }
  if (matches.empty()) matches = find_key(full_key(name));
  for (const Preset& preset : presets()) known.push_back(preset.name);
  if (matches.empty())
    throw Error(ErrorKind::config,
                fmt::format("there is no entry '{}'{}", name, config::hint(name, known, "names")));
  return matches;
}

config::Value to_json(const Match& match) {
  config::Value::List fields;
  for (const config::Row& row : match.rows) {
    config::Value field;
    field.set("name", row.name);
    field.set("type", row.type);
    field.set("default", row.preset);
    field.set("unit", row.unit);
    field.set("allowed", row.allowed);
    field.set("affects", row.affects);
    field.set("text", row.text);
    fields.push_back(std::move(field));
  }
  config::Value result;
  result.set("name", match.title);
  result.set("text", match.text);
  result.set("fields", config::Value(std::move(fields)));
  if (!match.channels.empty()) result.set("channels", config::list_of(match.channels));
  return result;
}

// "passes over the training set (integer >= 1, default 60; affects training)".
HelpItem item_of(const config::Row& row) {
  const std::string unit = row.unit.empty() ? "" : fmt::format(" [{}]", row.unit);
  const std::string allowed = row.allowed.empty() ? "" : " " + row.allowed;
  return {row.name, fmt::format("{}{} ({}{}, default {}; affects {})", row.text, unit, row.type,
                                allowed, row.preset.empty() ? "empty" : row.preset, row.affects)};
}

void describe_preset(const Preset& preset, bool json, std::ostream& out) {
  if (json) {
    config::Value value;
    value.set("name", preset.name);
    value.set("text", preset_summary(preset));
    value.set("yaml", preset.text);
    out << config::json_text(config::Value(config::Value::List{value})) << '\n';
  } else {
    out << wrapped(preset.name + ": " + preset_summary(preset), help_columns()) << '\n'
        << preset.text;
  }
}

void run_describe(const DescribeOptions& options, std::ostream& out) {
  if (const Preset* preset = find_preset(options.name))
    return describe_preset(*preset, options.json, out);
  const std::vector<Match> matches = find(options.name);
  if (options.json) {
    config::Value::List list;
    for (const Match& match : matches) list.push_back(to_json(match));
    out << config::json_text(config::Value(std::move(list))) << '\n';
    return;
  }
  for (std::size_t i = 0; i < matches.size(); ++i) {
    out << (i > 0 ? "\n" : "") << wrapped(matches[i].title + ": " + matches[i].text, help_columns())
        << '\n';
    std::vector<HelpItem> items;
    for (const config::Row& row : matches[i].rows) items.push_back(item_of(row));
    out << (items.empty() ? "  (no options)\n" : item_lines(items, help_columns()));
    if (!matches[i].channels.empty())
      out << fmt::format("\n  channels: {}\n", fmt::join(matches[i].channels, ", "));
  }
}

}  // namespace

void add_describe(CLI::App& program, const Globals&) {
  const auto options = std::make_shared<DescribeOptions>();
  CLI::App* command =
      program.add_subcommand("describe", "Explain an entry and its keys: defaults, units, ranges");
  command
      ->add_option(
          "name", options->name,
          "Section (train), key (train.epochs), entry (burgers, pde.burgers) or preset (demo)")
      ->required()
      ->type_name("ENTRY");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Example:\n  stap describe train\n  stap describe studies/main");
  command->callback([options] { run_describe(*options, std::cout); });
}

}  // namespace stap::app
