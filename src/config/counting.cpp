// What a document's keys affect, and the parts of it that count.
#include <algorithm>

#include "stap/config/family.h"

namespace stap::config {
namespace {

class Counting {
 public:
  Counting(Affects section, const std::function<bool(Affects)>& counts)
      : section_(section), counts_(counts) {}

  // `around`: what keys of the map affect that do not say it. `table`: null if nobody knows them.
  Value part(const Value& map, const Table* table, Affects around) const {
    Value::Map kept;
    for (const Value::Member& member : *map.map()) {
      const FieldInfo* field = nullptr;
      if (table != nullptr)
        for (const FieldInfo& one : table->fields())
          if (one.name == member.key) field = &one;
      const Affects affects = field != nullptr ? field->affects.value_or(around) : around;
      if (field != nullptr && field->section != nullptr && member.value.is_map()) {
        Value inner = part(member.value, field->section, affects);
        if (!inner.map()->empty()) kept.push_back({member.key, std::move(inner)});
      } else if (counts_(affects) && (affects != Affects::source || counts_(section_))) {
        kept.push_back(member);
      }
    }
    return Value(std::move(kept));
  }

 private:
  Affects section_;
  const std::function<bool(Affects)>& counts_;
};

}  // namespace

std::string_view to_string(Affects affects) {
  constexpr std::string_view kNames[] = {"problem", "data",   "test",   "source", "training",
                                         "seed",    "method", "later",  "rounds", "record",
                                         "device",  "solver", "machine"};
  return kNames[static_cast<std::size_t>(affects)];
}

Value counting(std::span<const Family> families, const Value& document, bool unknown_sections,
               const std::function<bool(Affects)>& counts) {
  Value::Map kept;
  if (!document.is_map()) return Value(std::move(kept));
  for (const Value::Member& section : *document.map()) {
    const auto family = std::ranges::find(families, section.key, &Family::name);
    if (family == families.end() || !section.value.is_map()) {
      if (family == families.end() ? unknown_sections : counts(family->affects))
        kept.push_back(section);
      continue;
    }
    const Entry* entry = family->meant(section.value);
    Value part =
        Counting(family->affects, counts)
            .part(section.value, entry != nullptr ? entry->fields : nullptr, family->affects);
    if (!part.map()->empty() || counts(family->affects))
      kept.push_back({section.key, std::move(part)});
  }
  return Value(std::move(kept));
}

}  // namespace stap::config
