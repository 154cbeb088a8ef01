// What a shell offers; its side of it is in app/completion.
#include "complete.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "help.h"
#include "stap/folder/fsck.h"
#include "stap/folder/sweep_folder.h"
#include "stap/pde/pde.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"

namespace stap::app {
namespace {

namespace fs = std::filesystem;

struct Candidate {
  std::string word, text = {};
};
using Candidates = std::vector<Candidate>;

Candidates words_of(std::string_view list, std::string_view between) {
  Candidates words;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(between), list.size());
    words.push_back({std::string(list.substr(0, end))});
    list.remove_prefix(std::min(end + between.size(), list.size()));
  }
  return words;
}

// Entries of the folder that `begun` stands in; those that cannot be what is asked for are left
// out, but for folders on the way.
Candidates paths_of(const std::string& begun, std::string_view what) {
  const std::size_t slash = begun.rfind('/');
  const std::string before = slash == std::string::npos ? "" : begun.substr(0, slash + 1);
  std::string folder = before.empty() ? "." : before;
  if (const char* home = std::getenv("HOME"); home != nullptr && folder.starts_with("~/"))
    folder.replace(0, 1, home);
  Candidates paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    const std::string name = path.filename().string();
    if (name.starts_with('.') && begun.size() == before.size()) continue;
    std::error_code unknown;
    const bool is_folder = entry->is_directory(unknown);
    const bool run = is_folder && (what == "RUN" || what == "MODEL" || what == "CONFIG");
    if (what == "RUN" && is_folder && is_sweep(path))
      paths.push_back({before + name, "sweep"});
    else if (run && is_run(path))
      paths.push_back({before + name, "run"});
    else if (is_folder)
      paths.push_back({before + name + "/"});
    else if (what == "FILE" || (what == "MODEL" && path.extension() == ".safetensors") ||
             ((what == "CONFIG" || what == "OVERLAY") && path.extension() == ".yaml"))
      paths.push_back({before + name});
  }
  return paths;
}

void add(Candidates& all, Candidates more) {
  std::ranges::move(more, std::back_inserter(all));
}

Candidates preset_names(bool overlays) {
  constexpr std::string_view kOverlays = "overlays/";
  Candidates names;
  for (const Preset& preset : presets()) {
    const bool over = preset.name.starts_with(kOverlays);
    if (over == overlays)
      names.push_back({preset.name.substr(over ? kOverlays.size() : 0), preset_summary(preset)});
  }
  return names;
}

Candidates entries_of(std::string_view family_name) {
  Candidates entries;
  for (const config::Family& family : study_families())
    if (family.named && (family_name.empty() || family.name == family_name))
      for (const config::Entry& entry : family.entries) entries.push_back({entry.name, entry.text});
  return entries;
}

Candidates family_names() {
  Candidates names;
  for (const config::Family& family : study_families()) names.push_back({family.name, family.text});
  return names;
}

// "sbal+stap" and the like, and planners.
Candidates methods() {
  Candidates all = entries_of("planner");
  for (const Candidate& base : entries_of("base")) {
    all.push_back(base);
    for (const Candidate& steps : entries_of("steps"))
      all.push_back({base.word + "+" + steps.word, steps.text});
  }
  return all;
}

// A key with what it may be, once for all entries of a family that have it.
struct Key {
  Candidate name;
  Candidates values;
};
std::vector<Key> keys() {
  std::vector<Key> all{{{"method", "short for base and steps, for example sbal+stap"}, methods()}};
  std::set<std::string> known;
  for (const config::Family& family : study_families()) {
    if (family.named)
      all.push_back({{family.name + ".name", family.text}, entries_of(family.name)});
    for (const config::Entry& entry : family.entries)
      for (const config::Row& row : config::describe(*entry.fields, family.affects)) {
        std::string name = family.name + "." + row.name;
        if (full_key(row.name) == name) name = row.name;
        if (!known.insert(name).second) continue;
        all.push_back({{name, row.text},
                       words_of(row.type == "boolean"  ? "true | false"
                                : row.type == "choice" ? row.allowed
                                                       : "",
                                " | ")});
      }
  }
  return all;
}

// "key=" or, behind it, the value; of an axis the last of its values.
Candidates settings(const std::string& begun, bool axis) {
  const std::size_t equals = begun.find('=');
  Candidates all;
  for (const Key& key : keys()) {
    if (equals == std::string::npos) {
      all.push_back({key.name.word + "=", key.name.text});
    } else if (key.name.word == begun.substr(0, equals)) {
      const std::size_t comma = axis ? begun.rfind(',') : std::string::npos;
      const std::string before = begun.substr(0, (comma == std::string::npos ? equals : comma) + 1);
      for (const Candidate& value : key.values) all.push_back({before + value.word, value.text});
    }
  }
  return all;
}

// Options of the equation that `solve` was given.
Candidates options_of_equation(const std::vector<std::string>& given) {
  Candidates all;
  if (const PdeRow* row = given.empty() ? nullptr : pde_table().find(given.front()))
    for (const config::Row& field : config::describe(*row->fields, config::Affects::problem))
      all.push_back({field.name + "=", field.text});
  return all;
}

Candidates values_of(const std::string& value, const std::string& begun,
                     const std::vector<std::string>& given) {
  if (value.find('|') != std::string::npos) return words_of(value, "|");
  if (value == "SETTING") return settings(begun, false);
  if (value == "AXIS") return settings(begun, true);
  if (value == "OPTION") return options_of_equation(given);
  if (value == "EQUATION") return entries_of("pde");
  if (value == "FAMILY") return family_names();
  Candidates all;
  if (value == "ENTRY") {
    add(all, family_names());
    add(all, entries_of(""));
    add(all, preset_names(false));
  } else if (value == "CONFIG" || value == "OVERLAY") {
    add(all, preset_names(value == "OVERLAY"));
    add(all, paths_of(begun, value));
  } else if (value == "RUN" || value == "MODEL" || value == "FILE" || value == "FOLDER") {
    add(all, paths_of(begun, value));
  }
  return all;
}

const CLI::Option* find_option(const CLI::App* command, std::string_view word) {
  for (const CLI::App* at = command; at != nullptr; at = at->get_parent())
    for (const CLI::Option* option : at->get_options())
      for (const std::string& name : option->get_lnames())
        if (word == "--" + name) return option;
  return nullptr;
}

// Where a word stands behind those before it.
struct Place {
  const CLI::App* command = nullptr;
  const CLI::Option* option = nullptr;  ///< whose value it is
  std::vector<std::string> given;       ///< arguments of the command
};
Place place_behind(const CLI::App& program, std::span<const std::string> words) {
  Place place{&program, nullptr, {}};
  for (const std::string& word : words) {
    if (std::exchange(place.option, nullptr) != nullptr) continue;
    if (word.starts_with("--")) {
      const CLI::Option* option = find_option(place.command, word);
      if (option != nullptr && option->get_expected_max() > 0) place.option = option;
      continue;
    }
    const auto subs = place.command->get_subcommands({});
    const auto sub = std::ranges::find(subs, word, &CLI::App::get_name);
    if (sub != subs.end())
      place.command = *sub;
    else
      place.given.push_back(word);
  }
  return place;
}

Candidates candidates(const CLI::App& program, std::span<const std::string> before,
                      const std::string& begun) {
  const Place place = place_behind(program, before);
  if (place.option != nullptr) return values_of(value_name(*place.option), begun, place.given);
  Candidates all;
  if (begun.starts_with("--") && begun.find('=') != std::string::npos) {
    const std::string name = begun.substr(0, begun.find('=') + 1);
    if (const CLI::Option* option = find_option(place.command, name.substr(0, name.size() - 1)))
      for (Candidate& value :
           values_of(value_name(*option), begun.substr(name.size()), place.given))
        all.push_back({name + value.word, value.text});
    return all;
  }
  if (begun.starts_with("-")) {
    for (const CLI::App* at = place.command; at != nullptr; at = at->get_parent())
      for (const CLI::Option* option : at->get_options())
        for (const std::string& name : option->get_lnames())
          all.push_back({"--" + name, option->get_description()});
    return all;
  }
  for (const CLI::App* sub : place.command->get_subcommands({}))
    if (!sub->get_group().empty()) all.push_back({sub->get_name(), sub->get_description()});
  const auto arguments = place.command->get_options(
      [](const CLI::Option* option) { return option->get_positional(); });
  if (!arguments.empty()) {
    const CLI::Option* argument = arguments[std::min(place.given.size(), arguments.size() - 1)];
    add(all, values_of(value_name(*argument), begun, place.given));
  }
  return all;
}

}  // namespace

void complete(const CLI::App& program, std::span<const std::string> words, std::ostream& out) {
  const std::string begun = words.empty() ? "" : words.back();
  try {
    std::set<std::string> said;
    for (const Candidate& one :
         candidates(program, words.first(words.empty() ? 0 : words.size() - 1), begun))
      if (one.word.starts_with(begun) && said.insert(one.word).second)
        out << one.word << (one.text.empty() ? "" : "\t" + one.text) << '\n';
  } catch (const std::exception&) {  // a shell that completes has no place for messages
  }
}

}  // namespace stap::app
