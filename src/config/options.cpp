#include "stap/config/options.h"

#include "stap/core/error.h"

namespace stap::config {

AnyOptions::AnyOptions(const Table& table, std::shared_ptr<const void> options)
    : table_(&table), options_(std::move(options)) {}

Value AnyOptions::value() const {
  return options_ ? to_value(*table_, options_.get()) : Value();
}

AnyOptions AnyOptions::with(std::string_view key, const Value& value) const {
  if (!options_) throw Error(ErrorKind::internal, "a field was set in options of no entry");
  Value one;
  one.set(key, value);
  const std::shared_ptr<void> changed = table_->make(options_.get());
  Complaints complaints;
  parse(*table_, one, "", changed.get(), complaints);
  complaints.throw_if_any();
  return {*table_, changed};
}

const void* AnyOptions::of(const Table& table) const {
  if (options_ && table_ != &table)
    throw Error(ErrorKind::internal, "options were read by the fields of another entry");
  return options_.get();
}

AnyOptions read(const Table& table, const Value& value, const std::string& path,
                Complaints& complaints) {
  const std::shared_ptr<void> options = table.make();
  parse(table, value, path, options.get(), complaints);
  return {table, options};
}

AnyOptions read(const Table& table, const Value& value, const std::string& path) {
  Complaints complaints;
  AnyOptions options = read(table, value, path, complaints);
  complaints.throw_if_any();
  return options;
}

}  // namespace stap::config
