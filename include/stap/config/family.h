#pragma once

// A family is a section of the config document: named (`pde: {name: burgers, ...}`, one of several
// entries) or plain (`train: {...}`, one struct). `list`, `describe`, `check` and `schema` walk
// families; the owner of a named one keeps its rows in a registry (registry.h).

#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stap/config/options.h"

namespace stap::config {

/// One thing a user can name.
struct Entry {
  std::string name;               ///< letters, digits, '-', '_' and '.'
  std::string text;               ///< one line
  const Table* fields = nullptr;  ///< static; not null; none of them called `name`
};

struct Family {
  std::string name;  ///< the section's key
  std::string text;  ///< one line
  bool named = false;
  std::vector<Entry> entries;          ///< exactly one, called like the family, unless named
  Affects affects = Affects::problem;  ///< what keys affect that do not say it; all, to be safe
  /// The entry that a section without a name means, and which effective documents do not name; so a
  /// plain family may become a named one. Empty: sections have names, and may be absent.
  std::string preset{};
  /// Fields that every entry has, and that a section keeps when it names another one. Null: none.
  const Table* shared = nullptr;

  /// The entry that a section, or one that is absent, names or means; null if there is none.
  const Entry* meant(const Value& section) const;
};

/// Throws Error(internal) if a name occurs twice or an entry is not as it must be.
Family named_family(std::string name, std::string text, std::vector<Entry> entries,
                    Affects affects = Affects::problem);
/// The same from a table whose rows derive from Entry.
template <class Rows>
Family named_family(std::string name, std::string text, const Rows& rows,
                    Affects affects = Affects::problem) {
  return named_family(std::move(name), std::move(text),
                      std::vector<Entry>(std::begin(rows), std::end(rows)), affects);
}
Family plain_family(std::string name, std::string text, const Table& fields,
                    Affects affects = Affects::problem);

/// What is wrong with an entry as a row of a named family; empty if nothing.
std::string entry_fault(const Entry& entry);

/// A section, read: which of the family's entries it names, and its options.
struct Section {
  std::size_t entry = 0;
  AnyOptions options;
};
/// Empty, and a complaint that lists the choices, if `name` is missing or unknown.
std::optional<Section> read_section(const Family& family, const Value& section,
                                    Complaints& complaints);
/// The section of an entry of a named family: `name`, then every field with its value.
Value section_value(const Entry& entry, const AnyOptions& options);

/// A whole document: one element a family, empty for a named one that is not given or cannot be
/// read. Unknown sections and all that the field tables say become complaints.
std::vector<std::optional<Section>> read_sections(std::span<const Family> families,
                                                  const Value& document, Complaints& complaints);
/// The effective document: the sections that are there, every field with its value.
Value effective(std::span<const Family> families, std::span<const std::optional<Section>> sections);
/// Both at once.
Value check(std::span<const Family> families, const Value& document, Complaints& complaints);

/// What is left of an effective document without the keys that do not count; sections of which
/// nothing is left go, too. Keys that no table knows count as their section does.
/// `unknown_sections`: whether those stay.
Value counting(std::span<const Family> families, const Value& document, bool unknown_sections,
               const std::function<bool(Affects)>& counts);

/// JSON Schema (draft 2020-12) of the document; named sections by oneOf with a constant name.
Value schema(std::span<const Family> families);

}  // namespace stap::config
