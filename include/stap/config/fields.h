#pragma once

// A field table says all there is to say about one plain Options struct; parsing, checks,
// `describe`, the effective config and the JSON Schema come from it.
//
//   struct BurgersOptions {                                   // the public header
//     enum class Limiter { minmod, none };
//     std::size_t points = 256;
//     double viscosity = 0.01;
//     Limiter limiter = Limiter::minmod;
//   };
//   const config::Fields<BurgersOptions>& burgers_fields();
//   const config::Fields<BurgersOptions>& burgers_fields() {  // the .cpp
//     using Limiter = BurgersOptions::Limiter;
//     static const config::Fields<BurgersOptions> fields{
//         {"points", &BurgersOptions::points, "number of grid cells", config::at_least(8)},
//         {"viscosity", &BurgersOptions::viscosity, "nu; the diffusion is nu/pi",
//          config::at_least(0), "length^2/time"},
//         {"limiter", &BurgersOptions::limiter, "slope limiter",
//          config::choices<Limiter>({{"minmod", Limiter::minmod}, {"none", Limiter::none}})},
//     };
//     return fields;
//   }
//
// Before the constraint a row may say what its key affects (affects.h), else it is what its section
// does.
//
//   BurgersOptions options = config::read(burgers_fields(), value, "pde");  // throws, or:
//   config::parse(burgers_fields(), value, "pde", options, complaints);       // collects
//
// A missing key keeps the struct's default. Members may be bool, int, std::int64_t, std::uint64_t,
// std::size_t, double, std::string, an enum (with choices), std::filesystem::path (relative to the
// file that names it; made absolute), std::vector<double>, std::vector<std::size_t>,
// std::vector<std::string> ({here}: the file's folder), config::Arguments, config::Quantity,
// config::Quantities, or a struct with Fields of its own: {"steps", &O::steps, "text",
// steps_fields()}. family.h gathers entries (name + fields) for `list`, `check` and `schema`.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "stap/config/affects.h"
#include "stap/config/arguments.h"
#include "stap/config/complaints.h"
#include "stap/config/constraint.h"
#include "stap/config/quantity.h"
#include "stap/config/value.h"

namespace stap::config {

enum class Type {
  boolean,
  integer,
  real,
  text,
  path,
  choice,
  reals,
  integers,
  texts,
  quantity,
  quantities,
  section
};

/// "integer", "list of real numbers", ...
std::string_view to_string(Type type);

class Table;

/// One field of some Options struct, the struct's type erased.
struct FieldInfo {
  std::string name;
  Type type = Type::text;
  std::string text;  ///< one line
  std::string unit;  ///< may be empty
  Constraint allowed;
  const Table* section = nullptr;  ///< the fields of a section; it must live as long
  std::optional<Affects> affects;  ///< empty: what its section does
  std::function<Value(const void* options)> get;
  std::function<void(void* options, const Value&, const std::string& path, Complaints&)> read;
  bool later = false;  ///< came after documents without it, which did what its default says
};

/// The fields of an Options struct, its type erased.
class Table {
 public:
  const std::vector<FieldInfo>& fields() const { return fields_; }
  /// A new Options for parse() and to_value(): with its defaults, or a copy.
  std::shared_ptr<void> make(const void* copied = nullptr) const { return make_(copied); }

 protected:
  /// Throws Error(internal) if two fields have one name.
  Table(std::vector<FieldInfo> fields,
        std::function<std::shared_ptr<void>(const void* copied)> make_options);

 private:
  std::vector<FieldInfo> fields_;
  std::function<std::shared_ptr<void>(const void* copied)> make_;
};

template <class Options>
class Fields;

/// Reads a map into the options (of the table's type): unknown keys (with a suggestion), wrong
/// types and values out of range become complaints and leave the default. Null is an empty map.
void parse(const Table& table, const Value& value, const std::string& path, void* options,
           Complaints& complaints);
/// The effective config: every field with its value, but for those that came `later` at their
/// defaults.
Value to_value(const Table& table, const void* options);

template <class Options>
void parse(const Fields<Options>& fields, const Value& value, const std::string& path,
           Options& options, Complaints& complaints) {
  parse(static_cast<const Table&>(fields), value, path, static_cast<void*>(&options), complaints);
}
template <class Options>
Value to_value(const Fields<Options>& fields, const Options& options) {
  return to_value(static_cast<const Table&>(fields), static_cast<const void*>(&options));
}
/// Options from a map. Throws Error(config) with all complaints.
template <class Options>
Options read(const Fields<Options>& fields, const Value& value, const std::string& path) {
  Options options{};
  Complaints complaints;
  parse(fields, value, path, options, complaints);
  complaints.throw_if_any();
  return options;
}

/// One line of `describe`.
struct Row {
  std::string name;  ///< "points"; fields of a section as "section.field"
  std::string type;
  std::string preset;  ///< the default, as YAML on one line
  std::string unit;
  std::string allowed;
  std::string text;
  std::string affects;  ///< "training"
};
/// `section`: what its keys affect that do not say it.
std::vector<Row> describe(const Table& table, Affects section = Affects::problem);

/// JSON Schema (draft 2020-12) of the map: type, properties, additionalProperties: false.
Value schema(const Table& table);

namespace detail {

// What a member of each supported type is called, reads as, and looks like as a Value.
template <class T>
inline constexpr Type kType = Type::choice;
template <>
inline constexpr Type kType<bool> = Type::boolean;
template <>
inline constexpr Type kType<int> = Type::integer;
template <>
inline constexpr Type kType<std::int64_t> = Type::integer;
template <>
inline constexpr Type kType<std::uint64_t> = Type::integer;
template <>
inline constexpr Type kType<double> = Type::real;
template <>
inline constexpr Type kType<std::string> = Type::text;
template <>
inline constexpr Type kType<std::filesystem::path> = Type::path;
template <>
inline constexpr Type kType<std::vector<double>> = Type::reals;
template <>
inline constexpr Type kType<std::vector<std::size_t>> = Type::integers;
template <>
inline constexpr Type kType<std::vector<std::string>> = Type::texts;
template <>
inline constexpr Type kType<Arguments> = Type::texts;
template <>
inline constexpr Type kType<Quantity> = Type::quantity;
template <>
inline constexpr Type kType<Quantities> = Type::quantities;
static_assert(std::is_same_v<std::size_t, std::uint64_t>);

void read_member(bool&, const Constraint&, const Value&, const std::string& path, Complaints&);
void read_member(int&, const Constraint&, const Value&, const std::string& path, Complaints&);
void read_member(std::int64_t&, const Constraint&, const Value&, const std::string& path,
                 Complaints&);
void read_member(std::uint64_t&, const Constraint&, const Value&, const std::string& path,
                 Complaints&);
void read_member(double&, const Constraint&, const Value&, const std::string& path, Complaints&);
void read_member(std::string&, const Constraint&, const Value&, const std::string& path,
                 Complaints&);
void read_member(std::filesystem::path&, const Constraint&, const Value&, const std::string& path,
                 Complaints&);
void read_member(std::vector<double>&, const Constraint&, const Value&, const std::string& path,
                 Complaints&);
void read_member(std::vector<std::size_t>&, const Constraint&, const Value&,
                 const std::string& path, Complaints&);
void read_member(std::vector<std::string>&, const Constraint&, const Value&,
                 const std::string& path, Complaints&);
void read_member(Arguments&, const Constraint&, const Value&, const std::string& path, Complaints&);
/// The code of a choice, or empty (and a complaint).
std::optional<std::int64_t> read_choice(const Constraint&, const Value&, const std::string& path,
                                        Complaints&);
Value choice_value(const Constraint&, std::int64_t code);
/// The word that stands for this number, or the number.
Value number_or_word(const Constraint&, std::uint64_t number);

template <class T>
Value member_value(const T& member) {
  return Value(member);
}
inline Value member_value(const std::filesystem::path& member) {
  return Value(member.string());
}
template <class T>
Value member_value(const std::vector<T>& members) {
  return Value(Value::List(members.begin(), members.end()));
}
inline Value member_value(const Arguments& member) {
  return member_value(member.words);
}

}  // namespace detail

/// A row of a Fields table.
template <class Options>
struct Field : FieldInfo {
  template <class T>
  Field(std::string field_name, T Options::*member, std::string help, Constraint constraint = {},
        std::string of_unit = "")
      : FieldInfo{std::move(field_name),
                  detail::kType<T>,
                  std::move(help),
                  std::move(of_unit),
                  std::move(constraint),
                  nullptr,
                  {},
                  {},
                  {}} {
    static_assert(std::is_enum_v<T> || detail::kType<T> != Type::choice, "unsupported member type");
    if constexpr (std::is_same_v<T, std::uint64_t> || std::is_same_v<T, std::vector<std::size_t>>)
      if (!allowed.low) allowed.low = 0;
    if constexpr (std::is_enum_v<T>) {
      get = [member, allow = allowed](const void* options) {
        return detail::choice_value(
            allow, static_cast<std::int64_t>(static_cast<const Options*>(options)->*member));
      };
      read = [member, allow = allowed](void* options, const Value& value, const std::string& path,
                                       Complaints& complaints) {
        if (const auto code = detail::read_choice(allow, value, path, complaints))
          static_cast<Options*>(options)->*member = static_cast<T>(*code);
      };
    } else {
      if constexpr (std::is_same_v<T, std::uint64_t>)
        get = [member, allow = allowed](const void* options) {
          return detail::number_or_word(allow, static_cast<const Options*>(options)->*member);
        };
      else
        get = [member](const void* options) {
          return detail::member_value(static_cast<const Options*>(options)->*member);
        };
      read = [member, allow = allowed](void* options, const Value& value, const std::string& path,
                                       Complaints& complaints) {
        detail::read_member(static_cast<Options*>(options)->*member, allow, value, path,
                            complaints);
      };
    }
  }

  /// The same of a key that affects something else than its section does.
  template <class T>
  Field(std::string field_name, T Options::*member, std::string help, Affects what,
        Constraint constraint = {}, std::string of_unit = "")
      : Field(std::move(field_name), member, std::move(help), std::move(constraint),
              std::move(of_unit)) {
    affects = what;
  }

  /// A section: a struct with fields of its own, which must live as long as this table.
  template <class T>
  Field(std::string field_name, T Options::*member, std::string help, const Fields<T>& inner,
        std::optional<Affects> what = {})
      : FieldInfo{
            std::move(field_name), Type::section, std::move(help), "", {}, &inner, what, {}, {}} {
    get = [member, &inner](const void* options) {
      return to_value(inner, static_cast<const Options*>(options)->*member);
    };
    read = [member, &inner](void* options, const Value& value, const std::string& path,
                            Complaints& complaints) {
      parse(inner, value, path, static_cast<Options*>(options)->*member, complaints);
    };
  }
};

/// A row of a key that came later than its entry: effective documents leave it out at its default,
/// so that what was made before it stays what it is.
template <class Options>
Field<Options> later(Field<Options> field) {
  static_cast<FieldInfo&>(field).later = true;
  return field;
}

template <class Options>
class Fields : public Table {
 public:
  Fields(std::initializer_list<Field<Options>> rows) : Fields(std::vector(rows)) {}
  explicit Fields(const std::vector<Field<Options>>& rows)
      : Table({rows.begin(), rows.end()}, [](const void* copied) -> std::shared_ptr<void> {
          return copied ? std::make_shared<Options>(*static_cast<const Options*>(copied))
                        : std::make_shared<Options>();
        }) {}
};

}  // namespace stap::config
