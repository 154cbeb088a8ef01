#pragma once

// A family is a section of the config document: named (`pde: {name: burgers, ...}`, one of several
// entries) or plain (`train: {...}`, one struct). The owner of a family keeps a table of its own
// rows and adds what it needs to make one, e.g.
//
//   struct PdeRow : config::Entry {
//     std::unique_ptr<Solver> (*make)(const config::Value& options);
//   };
//   std::span<const PdeRow> pde_table() {
//     static const PdeRow rows[] = {
//         {{"burgers", "viscous Burgers equation", &burgers_fields()},
//          [](const config::Value& v) {
//            return make_burgers(config::read(burgers_fields(), v, "pde"));
//          }},
//     };
//     return rows;
//   }
//   // use: family = named_family("pde", "the equation", pde_table());
//   //      choice = choose(family, section, complaints);
//   //      solver = pde_table()[choice->index].make(choice->options);

#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stap/config/fields.h"

namespace stap::config {

/// One thing a user can name.
struct Entry {
  std::string name;
  std::string text;               ///< one line
  const Table* fields = nullptr;  ///< static; not null
};

struct Family {
  std::string name;  ///< the section's key
  std::string text;  ///< one line
  bool named = false;
  std::vector<Entry> entries;  ///< exactly one, called like the family, unless named
};

/// Throws Error(internal) if a name occurs twice or a field is called `name`, which selects the
/// entry.
Family named_family(std::string name, std::string text, std::vector<Entry> entries);
/// The same from a table whose rows derive from Entry.
template <class Rows>
Family named_family(std::string name, std::string text, const Rows& rows) {
  return named_family(std::move(name), std::move(text),
                      std::vector<Entry>(std::begin(rows), std::end(rows)));
}
Family plain_family(std::string name, std::string text, const Table& fields);

/// Which entry a section names, and its map without `name`.
struct Choice {
  std::size_t index = 0;
  Value options;
};
/// Empty, and a complaint that lists the choices, if `name` is missing or unknown. Options are not
/// checked here.
std::optional<Choice> choose(const Family& family, const Value& section, Complaints& complaints);

/// Checks a whole document against its families: unknown sections and all that the field tables
/// say. Returns the effective document: the given sections, every field with its value.
Value check(std::span<const Family> families, const Value& document, Complaints& complaints);

/// JSON Schema (draft 2020-12) of the document; named sections by oneOf with a constant name.
Value schema(std::span<const Family> families);

}  // namespace stap::config
