#include "stap/config/family.h"

#include <algorithm>

#include <fmt/format.h>

#include "config/scalar.h"
#include "stap/core/error.h"

namespace stap::config {
namespace {

template <class Items>
std::vector<std::string> names(const Items& items) {
  std::vector<std::string> result;
  for (const auto& item : items) result.push_back(item.name);
  return result;
}

/// The entry's schema, with `name` as its first property and required.
Value named_schema(const Entry& entry) {
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
  result.set("required", Value(Value::List{"name"}));
  return result;
}

/// Checks a section and returns it with every field.
std::optional<Value> check_section(const Family& family, const Value& section,
                                   Complaints& complaints) {
  const auto choice = choose(family, section, complaints);
  if (!choice) return std::nullopt;
  const Entry& entry = family.entries[choice->index];
  Value effective;
  if (family.named) effective.set("name", entry.name);
  const auto options = entry.fields->make();
  parse(*entry.fields, choice->options, family.name, options.get(), complaints);
  const Value fields = to_value(*entry.fields, options.get());
  for (const Value::Member& member : *fields.map()) effective.set(member.key, member.value);
  return effective;
}

}  // namespace

Family named_family(std::string name, std::string text, std::vector<Entry> entries) {
  std::vector<std::string> sorted = names(entries);
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end())
    throw Error(ErrorKind::internal, fmt::format("family {} has two entries '{}'", name, *twice));
  for (const Entry& entry : entries)
    if (std::ranges::count(entry.fields->fields(), "name", &FieldInfo::name) > 0)
      throw Error(
          ErrorKind::internal,
          fmt::format("{}.{} has a field 'name', which selects the entry", name, entry.name));
  return {std::move(name), std::move(text), true, std::move(entries)};
}

Family plain_family(std::string name, std::string text, const Table& fields) {
  Entry entry{name, text, &fields};
  return {std::move(name), std::move(text), false, {std::move(entry)}};
}

std::optional<Choice> choose(const Family& family, const Value& section, Complaints& complaints) {
  if (!family.named) return Choice{0, section};
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
  if (!name) {
    complaints.add(path, "is missing, expected one of " + fmt::format("{}", fmt::join(known, ", ")),
                   section.origin());
    return std::nullopt;
  }
  const std::string* text = name->text();
  const auto found = text ? std::ranges::find(known, *text) : known.end();
  if (found == known.end()) {
    complaints.add(
        path,
        text ? fmt::format("is '{}', which is not known{}", *text, hint(*text, known, "names"))
             : fmt::format("is {}, expected one of {}", shown(*name), fmt::join(known, ", ")),
        name->origin());
    return std::nullopt;
  }
  Choice choice{static_cast<std::size_t>(found - known.begin()), section};
  choice.options.erase("name");
  return choice;
}

Value check(std::span<const Family> families, const Value& document, Complaints& complaints) {
  if (!document.is_null() && !document.is_map()) {
    complaints.add("the document",
                   fmt::format("is {}, expected a map of sections", shown(document)),
                   document.origin());
    return Value(Value::Map{});
  }
  const std::vector<std::string> known = names(families);
  if (document.is_map())
    for (const Value::Member& member : *document.map())
      if (std::ranges::count(known, member.key) == 0)
        complaints.add(member.key, "is not known" + hint(member.key, known, "sections"),
                       member.origin);
  Value effective{Value::Map{}};
  for (const Family& family : families) {
    const Value* section = document.find(family.name);
    if (family.named && !section) continue;
    if (auto checked = check_section(family, section ? *section : Value(), complaints))
      effective.set(family.name, *std::move(checked));
  }
  return effective;
}

Value schema(std::span<const Family> families) {
  Value properties{Value::Map{}};
  for (const Family& family : families) {
    Value section;
    if (family.named) {
      Value::List entries;
      for (const Entry& entry : family.entries) entries.push_back(named_schema(entry));
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
