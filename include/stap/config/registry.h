#pragma once

// The table of a named family: built-in rows, and those that a program adds. A row is an entry and
// how to make what it names:
//
//   struct PdeRow : config::Entry {
//     std::function<std::unique_ptr<Solver>(const config::AnyOptions&, const MakeContext&)> make;
//   };
//   add_pde({{"mine", "my own equation", &mine_fields()},
//            [](const config::AnyOptions& options, const MakeContext& context) {
//              return make_mine(options.as(mine_fields()), context.threads);
//            }});
//
// Add rows before a study is read: configurations know the rows that are there when they are read.
// Adding is not safe beside other threads that use a table.

#include <cstddef>
#include <deque>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "stap/config/family.h"

namespace stap::config {

/// A row of a table with its options, read: what a section chose.
template <class Row>
struct Choice {
  const Row* row = nullptr;  ///< null: nothing was chosen
  AnyOptions options;

  explicit operator bool() const { return row != nullptr; }
  /// The section: `name`, then every option with its value.
  Value value() const { return section_value(*row, options); }
};

namespace detail {
/// Throws Error(config) if the row cannot join the entries.
void check_new_row(const Family& family, const std::vector<std::string>& reserved,
                   const Entry& row);
}  // namespace detail

template <class Row>
class Registry {
 public:
  /// `section`: the family's key. `affects`: what its keys do that do not say it. `reserved`: names
  /// that no row may have. `preset`: Family::preset.
  Registry(std::string section, std::string text, Affects affects,
           std::initializer_list<Row> built_in, std::vector<std::string> reserved = {},
           std::string preset = {})
      : section_(std::move(section)),
        text_(std::move(text)),
        affects_(affects),
        reserved_(std::move(reserved)),
        preset_(std::move(preset)),
        rows_(built_in) {}

  /// Throws Error(config) for a name that is taken, not a name, or reserved, for a row without a
  /// field table, and for a field called `name`. Rows never move.
  void add(Row row) {
    detail::check_new_row(family(), reserved_, row);
    rows_.push_back(std::move(row));
  }

  std::size_t size() const { return rows_.size(); }
  const Row& operator[](std::size_t i) const { return rows_[i]; }
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }
  /// Null if there is none of this name.
  const Row* find(std::string_view name) const {
    for (const Row& row : rows_)
      if (row.name == name) return &row;
    return nullptr;
  }

  Family family() const {
    Family family = named_family(section_, text_, rows_, affects_);
    family.preset = preset_;
    return family;
  }
  /// What a section chooses; nothing, and complaints, if it cannot be read.
  Choice<Row> choose(const Value& section, Complaints& complaints) const {
    const auto read = read_section(family(), section, complaints);
    return read ? Choice<Row>{&rows_[read->entry], read->options} : Choice<Row>{};
  }
  /// Throws Error(config) with all complaints.
  Choice<Row> choose(const Value& section) const {
    Complaints complaints;
    Choice<Row> choice = choose(section, complaints);
    complaints.throw_if_any();
    return choice;
  }

 private:
  std::string section_, text_;
  Affects affects_;
  std::vector<std::string> reserved_;
  std::string preset_;
  std::deque<Row> rows_;
};

}  // namespace stap::config
