#include <algorithm>
#include <array>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "stap/core/error.h"
#include "stap/pde/pde.h"
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
  for (const Preset& preset : presets()) known.push_back(preset.name);
  if (matches.empty())
    throw Error(ErrorKind::config, fmt::format("there is nothing called '{}'{}", name,
                                               config::hint(name, known, "names")));
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

void print_table(const std::vector<config::Row>& rows, std::ostream& out) {
  constexpr std::size_t columns = 7;
  using Line = std::array<std::string, columns>;
  std::vector<Line> lines{{"key", "type", "default", "unit", "allowed", "affects", "meaning"}};
  for (const config::Row& row : rows)
    lines.push_back({row.name, row.type, row.preset, row.unit, row.allowed, row.affects, row.text});

  std::array<std::size_t, columns> width{};
  for (std::size_t c = 0; c < columns; ++c) {
    // A column without a single entry is left out, title and all.
    const bool used = std::any_of(lines.begin() + 1, lines.end(),
                                  [&](const Line& line) { return !line[c].empty(); });
    if (used)
      for (const Line& line : lines) width[c] = std::max(width[c], line[c].size());
  }
  for (const Line& line : lines) {
    std::string text;
    for (std::size_t c = 0; c < columns; ++c)
      if (width[c] > 0) text += fmt::format("  {:<{}}", line[c], width[c]);
    text.erase(text.find_last_not_of(' ') + 1);
    out << text << '\n';
  }
}

void describe_preset(const Preset& preset, bool json, std::ostream& out) {
  if (json) {
    config::Value value;
    value.set("name", preset.name);
    value.set("text", preset_summary(preset));
    value.set("yaml", preset.text);
    out << config::json_text(config::Value(config::Value::List{value})) << '\n';
  } else {
    out << preset.name << ": " << preset_summary(preset) << "\n\n" << preset.text;
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
    out << (i > 0 ? "\n" : "") << matches[i].title << ": " << matches[i].text << "\n\n";
    if (matches[i].rows.empty())
      out << "  (no options)\n";
    else
      print_table(matches[i].rows, out);
    if (!matches[i].channels.empty())
      out << fmt::format("\n  channels: {}\n", fmt::join(matches[i].channels, ", "));
  }
}

}  // namespace

void add_describe(CLI::App& program, const Globals&) {
  const auto options = std::make_shared<DescribeOptions>();
  CLI::App* command =
      program.add_subcommand("describe", "Show the options of an entry: defaults, units, ranges");
  command->add_option("name", options->name, "Entry, family, family.entry, or preset")->required();
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Example:\n  stap describe train\n  stap describe studies/main");
  command->callback([options] { run_describe(*options, std::cout); });
}

}  // namespace stap::app
