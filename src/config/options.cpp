#include "stap/config/options.h"

#include "stap/core/error.h"

namespace stap::config {

AnyOptions::AnyOptions(const Table& table, std::shared_ptr<const void> options)
    : table_(&table), options_(std::move(options)) {}

Value AnyOptions::value() const {
  if (!options_) return {};
  return to_value(*table_, options_.get());
}

const void* AnyOptions::of(const Table& table) const {
  if (options_ && table_ != &table)
    throw Error(ErrorKind::internal, "options were read by the fields of another entry");
  return options_.get();
}

struct JoinedFields::Halves {
  std::shared_ptr<void> of[2];
};

JoinedFields::JoinedFields(const Table& first, const Table& second)
    : Table(
          [&] {
            std::vector<FieldInfo> fields;
            for (std::size_t k = 0; k < 2; ++k)
              for (FieldInfo field : (k == 0 ? first : second).fields()) {
                field.get = [k, get = field.get](const void* joined) {
                  return get(static_cast<const Halves*>(joined)->of[k].get());
                };
                field.read = [k, read = field.read](void* joined, const Value& value,
                                                    const std::string& path,
                                                    Complaints& complaints) {
                  read(static_cast<Halves*>(joined)->of[k].get(), value, path, complaints);
                };
                fields.push_back(std::move(field));
              }
            return fields;
          }(),
          [&first, &second](const void* copied) -> std::shared_ptr<void> {
            const auto* from = static_cast<const Halves*>(copied);
            return std::make_shared<Halves>(
                Halves{{first.make(from ? from->of[0].get() : nullptr),
                        second.make(from ? from->of[1].get() : nullptr)}});
          }),
      tables_{&first, &second} {}

AnyOptions JoinedFields::half(const AnyOptions& joined, std::size_t which) const {
  const auto* halves = static_cast<const Halves*>(joined.of(*this));
  return halves != nullptr ? AnyOptions(*tables_[which], halves->of[which]) : AnyOptions();
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
