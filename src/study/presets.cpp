#include "stap/study/presets.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/config/complaints.h"
#include "stap/config/files.h"
#include "stap/config/key_index.h"
#include "stap/core/error.h"
#include "stap/study/method.h"
#include "stap/study/study.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr std::string_view kOverlays = "overlays/";  // may be left out
constexpr const char* kRunConfig = "config.yaml";    // of a run folder
constexpr const char* kFamilyKey = "network.name";

// Far beyond any sensible set of files; without them two lines a file could ask for 2^40 readings.
constexpr std::size_t kMaxExtends = 16;     // deep
constexpr std::size_t kMaxDocuments = 100;  // in all

// Where a name leads: a file, or else a preset, or else the configuration in a run folder.
struct Place {
  std::string title;  // for messages, and to find circles
  fs::path file;      // empty for presets
  const Preset* preset = nullptr;
};

// `from`: the document that says it, null for a name given by the user. `said`: where.
Place find_place(const std::string& name, const Place* from, const std::string& said) {
  const bool files = from == nullptr || from->preset == nullptr;
  const fs::path path = from == nullptr ? fs::path(name) : from->file.parent_path() / name;
  std::error_code ignored;
  const auto file = [&](const fs::path& there) {
    return Place{fs::weakly_canonical(there, ignored).string(), there, nullptr};
  };
  std::error_code problem;
  const fs::file_status there = files ? fs::status(path, problem) : fs::file_status();
  if (fs::is_regular_file(there)) return file(path);
  if (const Preset* preset = find_preset(name)) return {"preset " + preset->name, {}, preset};
  if (fs::is_directory(there)) {
    if (fs::is_regular_file(path / kRunConfig, ignored)) return file(path / kRunConfig);
    const fs::path study = path / "study.yaml";  // as 'stap init' writes it
    throw Error(ErrorKind::config,
                fmt::format("{}there is no file {} in the folder {}: {}",
                            said.empty() ? "" : said + ": ", kRunConfig, path.string(),
                            fs::is_regular_file(study, ignored)
                                ? "did you mean " + study.string() + "?"
                                : "give a run folder, a YAML file or a preset"));
  }
  // A pipe, a device; a loop of links, a folder that may not be looked into.
  if (files && fs::exists(there))
    throw Error(ErrorKind::config, fmt::format("{}{} is no regular file, expected a YAML file",
                                               said.empty() ? "" : said + ": ", path.string()));
  if (files && there.type() == fs::file_type::none)
    throw Error(ErrorKind::config,
                fmt::format("{}cannot read {}: {}", said.empty() ? "" : said + ": ", path.string(),
                            problem.message()));
  std::vector<std::string> known;
  for (const Preset& preset : presets())
    known.push_back(preset.name.starts_with(kOverlays) ? preset.name.substr(kOverlays.size())
                                                       : preset.name);
  throw Error(ErrorKind::config,
              fmt::format("{}there is {}no preset '{}'{}", said.empty() ? "" : said + ": ",
                          files ? "no file and " : "", name, config::hint(name, known, "presets")));
}

std::vector<Value> names_in(const Value& extends) {
  std::vector<Value> names = extends.is_list() ? *extends.list() : std::vector<Value>{extends};
  for (const Value& name : names)
    if (name.text() == nullptr || name.text()->empty())
      throw Error(ErrorKind::config,
                  fmt::format("{}: extends is not the name of a preset or a file, or a list of "
                              "them, as in extends: paper/burgers",
                              name.origin().text()));
  return names;
}

// The configuration that a run keeps says its format; nothing else does.
void drop_format(Value& document) {
  const Value* format = document.find("format");
  if (format == nullptr) return;
  const std::string* text = format->text();
  const std::string shown = text != nullptr ? *text : config::json_text(*format, 0);
  check_format(shown, kRunFormat, format->origin().text(), ErrorKind::config);
  document.erase("format");
  document = with_older_meaning(std::move(document));
}

struct Loading {
  std::vector<std::string> open;  // the documents that are being loaded, outermost first
  std::size_t documents = 0;      // so far
};

Value load(const Place& source, Loading& loading) {
  std::vector<std::string>& open = loading.open;
  const auto begin = std::find(open.begin(), open.end(), source.title);
  if (begin != open.end())
    throw Error(ErrorKind::config, fmt::format("a configuration extends itself: {} -> {}",
                                               fmt::join(begin, open.end(), " -> "), source.title));
  if (open.size() == kMaxExtends)
    throw Error(ErrorKind::config, fmt::format("{}: configurations extend each other more than {} "
                                               "deep",
                                               source.title, kMaxExtends));
  if (++loading.documents > kMaxDocuments)
    throw Error(ErrorKind::config,
                fmt::format("{}: a configuration extends more than {} documents, counted as often "
                            "as they are named",
                            source.title, kMaxDocuments));
  open.push_back(source.title);
  Value own = source.preset != nullptr ? config::parse_yaml(source.preset->text, source.title)
                                       : config::read_yaml(source.file.string());
  // Laid over or under others, anything else would take their place without a word.
  if (!own.is_null() && !own.is_map())
    throw Error(ErrorKind::config, fmt::format("{}: the document is {}, expected a map of sections",
                                               own.origin().text(), config::to_string(own.kind())));
  drop_format(own);
  Value document;
  if (const Value* extends = own.find("extends"))
    for (const Value& name : names_in(*extends))
      overlay(document, load(find_place(*name.text(), &source, name.origin().text()), loading));
  own.erase("extends");
  overlay(document, own);
  open.pop_back();
  return document;
}

void merge(Value& into, const Value& over);

void merge(Value::Member& into, const Value::Member& over) {
  const bool replaced = !into.value.is_map() || !(over.value.is_map() || over.value.is_null());
  merge(into.value, over.value);
  if (replaced) into.origin = over.origin;
}

void merge(Value& into, const Value& over) {
  if (over.is_null() && into.is_map()) return;
  // How a number is drawn is one value, of which no part is kept (config::Quantity).
  const bool drawn = over.find("between") != nullptr || over.find("from") != nullptr;
  if (!over.is_map() || !into.is_map() || drawn) {
    into = over;
    return;
  }
  config::KeyIndex keys;
  Value::Map members = *into.map();  // not by set(), which would forget where a key was written
  for (const Value::Member& member : *over.map()) {
    const std::size_t there = keys.find(members, member.key);
    if (there == members.size())
      members.push_back(member);
    else
      merge(members[there], member);
  }
  const config::Origin origin = into.origin();
  into = Value(std::move(members));
  into.set_origin(origin);
}

// Sections that say which method exclude each other: takes out of the document what `section` takes
// the place of, and keeps what it adds to.
void make_room(Value& document, std::string_view section) {
  const bool part = section == "base" || section == "steps";
  if (!part && section != "method" && section != "planner") return;
  if (section != "method") expand_method(document);
  if (!part)
    for (const char* key : {"base", "steps"}) document.erase(key);
  if (section != "planner") document.erase("planner");
}

// What a section without a name means is in `preset`.
Value name_in(const Value* section, const config::Family& family) {
  const Value* given = section != nullptr ? section->find("name") : nullptr;
  return given != nullptr ? *given : Value(family.preset);
}

// Takes the options of the old entry out of a section that is to name another one.
void change_name(Value& document, const config::Family& family, const Value& name) {
  const Value* old = document.find(family.name);
  if (old == nullptr || name_in(old, family) == name) return;
  if (old->find("name") == nullptr && family.preset.empty()) return;
  Value::Map kept;
  if (family.shared != nullptr && old->is_map())
    for (const Value::Member& member : *old->map())
      if (std::ranges::count(family.shared->fields(), member.key, &config::FieldInfo::name) > 0)
        kept.push_back(member);
  if (kept.empty())
    document.erase(family.name);
  else
    document.set(family.name, Value(std::move(kept)));
}

}  // namespace

const Preset* find_preset(const std::string& name) {
  for (const std::string& candidate : {name, std::string(kOverlays) + name})
    for (const Preset& preset : presets())
      if (preset.name == candidate) return &preset;
  return nullptr;
}

std::string preset_summary(const Preset& preset) {
  std::istringstream lines(preset.text);
  std::string summary;
  for (std::string line; std::getline(lines, line) && line.starts_with("# ");) {
    const bool goes_on = line.size() > 2 && line[2] >= 'a' && line[2] <= 'z';
    if (!summary.empty() && !goes_on) break;
    summary += (summary.empty() ? "" : " ") + line.substr(2);
  }
  return summary;
}

Value load_config(const std::string& name, const std::vector<std::string>& overlays) {
  Loading loading;
  Value document = load(find_place(name, nullptr, ""), loading);
  for (const std::string& over : overlays)
    overlay(document, load(find_place(over, nullptr, "--with"), loading));
  return document;
}

Value load_preset(const Preset& preset) {
  Loading loading;
  return load({"preset " + preset.name, {}, &preset}, loading);
}

void overlay(Value& document, const Value& over) {
  // Anything but two maps is for the check of the result to complain about.
  if (document.is_map() && over.is_map()) {
    const std::vector<config::Family> families = study_families();
    for (const Value::Member& section : *over.map()) {
      make_room(document, section.key);
      const Value* name = section.value.find("name");
      const auto family = std::ranges::find(families, section.key, &config::Family::name);
      if (name != nullptr && family != families.end() && family->named)
        change_name(document, *family, *name);
    }
  }
  merge(document, over);
}

std::string full_key(const std::string& key) {
  if (key.find('.') != std::string::npos) return key;
  for (const config::FieldInfo& field : study_fields().fields())
    if (field.name == key && key != "steps" && key != "initial") return "study." + key;
  for (const config::FieldInfo& field : compute_fields().fields())
    if (field.name == key) return "compute." + key;
  return key;
}

void apply_setting(Value& document, const std::string& assignment, const std::string& written) {
  const std::size_t equals = assignment.find('=');
  const std::string key = assignment.substr(0, equals);
  if (key == "extends" && config::find_path(document, "sweep.extends") != nullptr) {
    config::apply_override(document, "sweep." + assignment, assignment);
    return;
  }
  if (key == "extends")
    throw Error(ErrorKind::config,
                fmt::format("'{}': extends belongs into a file; here, use --with NAME, or 'stap "
                            "sweep --grid extends=NAME,...'",
                            assignment));
  // `test=50` is study.test, `test={name: file, ...}` the section: no key of study takes a map.
  const std::size_t begin =
      equals == std::string::npos ? equals : assignment.find_first_not_of(' ', equals + 1);
  const bool map = begin != std::string::npos && assignment[begin] == '{';
  const std::string full = map ? key : full_key(key);
  const std::size_t dot = full.find('.');
  // `steps=3` is a mistake, which the check of the result explains.
  if (dot != std::string::npos || full == "method") make_room(document, full.substr(0, dot));
  if (full == kFamilyKey && equals != std::string::npos && document.is_map())
    change_name(document, network_family(), Value(assignment.substr(equals + 1)));
  config::apply_override(
      document, equals == std::string::npos ? assignment : full + assignment.substr(equals),
      written.empty() ? assignment : written);
}

void apply_settings(Value& document, std::span<const std::string> assignments) {
  for (const bool names : {true, false})
    for (const std::string& assignment : assignments)
      if (assignment.starts_with(kFamilyKey + std::string("=")) == names)
        apply_setting(document, assignment);
}

std::string left_out_note(const Value& before, const Value& after) {
  const config::Family family = network_family();
  const Value *old = before.find(family.name), *now = after.find(family.name);
  if (old == nullptr || !old->is_map() || name_in(old, family) == name_in(now, family)) return {};
  std::vector<std::string> keys;
  for (const Value::Member& member : *old->map())
    if (member.key != "name" && (now == nullptr || now->find(member.key) == nullptr))
      keys.push_back(fmt::format("{}.{}", family.name, member.key));
  if (keys.empty()) return {};
  return fmt::format("{} is {}, so these options of {} are left out: {}", kFamilyKey,
                     *name_in(now, family).text(), *name_in(old, family).text(),
                     fmt::join(keys, ", "));
}

}  // namespace stap
