#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stap/config/complaints.h"
#include "stap/config/constraint.h"
#include "stap/config/value.h"
#include "stap/core/parameters.h"

namespace stap::config {

/// A number, or how it is drawn for each initial condition:
///
///   0.01
///   {between: [0.001, 0.1], draw: log}      draw: uniform unless it says log
///   {from: [1, 2, 4]}
struct Quantity {
  double value = 0.0;
  std::optional<ParameterDraw> draw{};  ///< its name is for whoever has the quantity

  Quantity() = default;
  Quantity(double number) : value(number) {}

  /// The greatest value that it may have.
  double greatest() const { return draw ? draw->greatest() : value; }

  bool operator==(const Quantity&) const = default;
};

/// Such ones by name: a map, or a list of "name=value" where all are numbers.
struct Quantities {
  std::vector<std::string> fixed{};  ///< "name=value"
  std::vector<ParameterDraw> varied{};

  bool operator==(const Quantities&) const = default;
};

/// As above. A fixed one stays a number, and only fixed ones a list.
Value to_value(const Quantity& quantity);
Value to_value(const Quantities& quantities);
/// JSON Schema of them; `number`: that of a fixed one.
Value quantity_schema(Value number);
Value quantities_schema();

// For field tables (fields.h).
namespace detail {

void read_member(Quantity&, const Constraint&, const Value&, const std::string& path, Complaints&);
void read_member(Quantities&, const Constraint&, const Value&, const std::string& path,
                 Complaints&);
inline Value member_value(const Quantity& member) {
  return to_value(member);
}
inline Value member_value(const Quantities& member) {
  return to_value(member);
}

}  // namespace detail

}  // namespace stap::config
