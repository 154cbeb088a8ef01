#include "stap/config/family.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/scalar.h"
#include "stap/config/keys.h"
#include "stap/core/error.h"

namespace stap::config {
namespace {

template <class Items>
std::vector<std::string> names(const Items& items) {
  std::vector<std::string> result;
  for (const auto& item : items) result.push_back(item.name);
  return result;
}

/// The entry's schema, with `name` as its first property; required unless it is what no name means.
Value named_schema(const Entry& entry, bool required) {
  Value name;
  name.set("const", entry.name);
  Value properties;
  properties.set("name", std::move(name));
  Value result = schema(*entry.fields);
  for (const Value::Member& member : *result.find("properties")->map())
    properties.set(member.key, member.value);
  result.set("type", "object");
  result.set("description", entry.text);
  result.set("properties", std::move(properties));
  if (required) result.set("required", Value(Value::List{"name"}));
  return result;
}

// Hands every key of the families to `visit`: its path and its own name.
template <class Visit>
void visit_keys(const Table& table, const std::string& prefix, const Visit& visit) {
  for (const FieldInfo& field : table.fields())
    if (field.section)
      visit_keys(*field.section, prefix + field.name + ".", visit);
    else
      visit(prefix + field.name, field.name);
}
template <class Visit>
void visit_keys(std::span<const Family> families, const Visit& visit) {
  for (const Family& family : families)
    for (const Entry& entry : family.entries) visit_keys(*entry.fields, family.name + ".", visit);
}

// A key that is not in its section is what users forget first.
std::string section_hint(std::span<const Family> families, const std::string& given,
                         const std::vector<std::string>& sections) {
  std::vector<std::string> paths = paths_of(families, given);
  if (paths.empty() && suggest(given, sections).empty()) {
    std::vector<std::string> keys;
    visit_keys(families, [&](const std::string&, const std::string& key) { keys.push_back(key); });
    paths = paths_of(families, suggest(given, keys));
  }
  return paths.empty() ? hint(given, sections, "sections")
                       : fmt::format("; did you mean '{}'?", fmt::join(paths, "' or '"));
}

}  // namespace

std::vector<std::string> paths_of(std::span<const Family> families, std::string_view key) {
  std::vector<std::string> paths;
  visit_keys(families, [&](const std::string& path, const std::string& name) {
    if (name == key && std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
  });
  return paths;
}

std::string entry_fault(const Entry& entry) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  };
  if (entry.name.empty() || !std::ranges::all_of(entry.name, fits))
    return fmt::format("has the name '{}', expected letters, digits, '-', '_' and '.'", entry.name);
  if (entry.fields == nullptr) return "has no field table";
  if (std::ranges::count(entry.fields->fields(), "name", &FieldInfo::name) > 0)
    return "has a field 'name', which selects the entry";
  return "";
}

Family named_family(std::string name, std::string text, std::vector<Entry> entries,
                    Affects affects) {
  std::vector<std::string> sorted = names(entries);
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end())
    throw Error(ErrorKind::internal, fmt::format("family {} has two entries '{}'", name, *twice));
  for (const Entry& entry : entries)
    if (const std::string fault = entry_fault(entry); !fault.empty())
      throw Error(ErrorKind::internal, fmt::format("{}.{} {}", name, entry.name, fault));
  return {std::move(name), std::move(text), true, std::move(entries), affects};
}

Family plain_family(std::string name, std::string text, const Table& fields, Affects affects) {
  Entry entry{name, text, &fields};
  return {std::move(name), std::move(text), false, {std::move(entry)}, affects};
}

const Entry* Family::meant(const Value& section) const {
  if (!named) return &entries.front();
  const Value* given = section.find("name");
  const std::string* wanted = given != nullptr ? given->text() : &preset;
  for (const Entry& entry : entries)
    if (wanted != nullptr && entry.name == *wanted) return &entry;
  return nullptr;
}

std::optional<Section> read_section(const Family& family, const Value& section,
                                    Complaints& complaints) {
  if (!family.named)
    return Section{0, read(*family.entries[0].fields, section, family.name, complaints)};
  const std::string path = family.name + ".name";
  const std::vector<std::string> known = names(family.entries);
  if (!section.is_null() && !section.is_map()) {
    complaints.add(family.name,
                   fmt::format("is {}, expected a map such as {{name: {}}}", shown(section),
                               known.empty() ? "..." : known.front()),
                   section.origin());
    return std::nullopt;
  }
  const Value* name = section.find("name");
  const Entry* meant = family.meant(section);
  if (!name && !meant) {
    complaints.add(path, "is missing, expected one of " + fmt::format("{}", fmt::join(known, ", ")),
                   section.origin());
    return std::nullopt;
  }
  if (!meant) {
    const std::string* text = name->text();
    complaints.add(
        path,
        text ? fmt::format("is '{}', which is not known{}", *text, hint(*text, known, "names"))
             : fmt::format("is {}, expected one of {}", shown(*name), fmt::join(known, ", ")),
        name->origin());
    return std::nullopt;
  }
  Value options = section;
  options.erase("name");
  return Section{static_cast<std::size_t>(meant - family.entries.data()),
                 read(*meant->fields, options, family.name, complaints)};
}

Value section_value(const Entry& entry, const AnyOptions& options) {
  Value result;
  result.set("name", entry.name);
  Value fields = options.value();
  if (fields.is_null()) fields = AnyOptions(*entry.fields, entry.fields->make()).value();
  for (const Value::Member& member : *fields.map()) result.set(member.key, member.value);
  return result;
}

std::vector<std::optional<Section>> read_sections(std::span<const Family> families,
                                                  const Value& document, Complaints& complaints) {
  std::vector<std::optional<Section>> sections(families.size());
  if (!document.is_null() && !document.is_map()) {
    complaints.add("the document",
                   fmt::format("is {}, expected a map of sections", shown(document)),
                   document.origin());
    return sections;
  }
  const std::vector<std::string> known = names(families);
  if (document.is_map())
    for (const Value::Member& member : *document.map())
      if (std::ranges::count(known, member.key) == 0)
        complaints.add(
            member.key,
            complaints.full() ? "" : "is not known" + section_hint(families, member.key, known),
            member.origin);
  for (std::size_t f = 0; f < families.size(); ++f) {
    const Value* section = document.find(families[f].name);
    if (section || families[f].meant({}) != nullptr)
      sections[f] = read_section(families[f], section ? *section : Value(), complaints);
  }
  return sections;
}

Value effective(std::span<const Family> families,
                std::span<const std::optional<Section>> sections) {
  Value document{Value::Map{}};
  for (std::size_t f = 0; f < families.size(); ++f) {
    const Family& family = families[f];
    if (!sections[f]) continue;
    const Entry& entry = family.entries[sections[f]->entry];
    document.set(family.name, &entry == family.meant({})
                                  ? sections[f]->options.value()
                                  : section_value(entry, sections[f]->options));
  }
  return document;
}

Value check(std::span<const Family> families, const Value& document, Complaints& complaints) {
  return effective(families, read_sections(families, document, complaints));
}

Value schema(std::span<const Family> families) {
  Value properties{Value::Map{}};
  for (const Family& family : families) {
    Value section;
    if (family.named) {
      Value::List entries;
      for (const Entry& entry : family.entries)
        entries.push_back(named_schema(entry, entry.name != family.preset));
      section.set("oneOf", Value(std::move(entries)));
    } else {
      section = schema(*family.entries.front().fields);
    }
    section.set("description", family.text);
    properties.set(family.name, std::move(section));
  }
  Value result;
  result.set("$schema", "https://json-schema.org/draft/2020-12/schema");
  result.set("title", "stap configuration");
  result.set("type", Value(Value::List{"object", "null"}));
  result.set("properties", std::move(properties));
  result.set("additionalProperties", false);
  return result;
}

}  // namespace stap::config
