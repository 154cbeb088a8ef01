#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "stap/config/fields.h"

namespace stap::config {

/// The options of one entry, read once, their type forgotten; copies share them. An empty one
/// stands for the defaults of the entry that gets it.
class AnyOptions {
 public:
  AnyOptions() = default;
  /// `options`: made by table.make().
  AnyOptions(const Table& table, std::shared_ptr<const void> options);

  /// As the struct they were read into. Throws Error(internal) if another table read them.
  template <class Options>
  Options as(const Fields<Options>& fields) const {
    const void* there = of(fields);
    return there ? *static_cast<const Options*>(there) : Options{};
  }
  /// Every field with its value, but for those that came `later` at their defaults; null if empty.
  Value value() const;
  /// The struct, of a type that `table` knows; null if empty. Throws as as() does.
  const void* of(const Table& table) const;

 private:
  const Table* table_ = nullptr;
  std::shared_ptr<const void> options_;
};

template <class Options>
AnyOptions any_options(const Fields<Options>& fields, const Options& options) {
  return {fields, fields.make(&options)};
}

/// The fields of two structs in one map, those of `first` before the others. Both must live as
/// long.
class JoinedFields : public Table {
 public:
  JoinedFields(const Table& first, const Table& second);

  /// What this table has read, each half as its own table would have.
  AnyOptions first(const AnyOptions& joined) const { return half(joined, 0); }
  AnyOptions second(const AnyOptions& joined) const { return half(joined, 1); }

 private:
  struct Halves;
  AnyOptions half(const AnyOptions& joined, std::size_t which) const;

  const Table* tables_[2];
};

/// The options of an entry with these fields, from a map.
AnyOptions read(const Table& table, const Value& value, const std::string& path,
                Complaints& complaints);
/// Throws Error(config) with all complaints.
AnyOptions read(const Table& table, const Value& value, const std::string& path);

}  // namespace stap::config
