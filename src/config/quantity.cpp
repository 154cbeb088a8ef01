// Numbers that may be drawn for each initial condition.
#include "stap/config/quantity.h"

#include <fmt/format.h>

#include "config/scalar.h"
#include "stap/config/fields.h"

namespace stap::config {
namespace {

using Draw = ParameterDraw::Kind;

// As it is written.
struct DrawOptions {
  std::vector<double> between, from;
  Draw draw = Draw::uniform;
};

Fields<DrawOptions> draw_fields(const Constraint& numbers) {
  return {{"between", &DrawOptions::between, "least and greatest value", numbers},
          {"draw", &DrawOptions::draw, "how values between them are drawn",
           choices<Draw>({{"uniform", Draw::uniform}, {"log", Draw::log}})},
          {"from", &DrawOptions::from, "values, each as likely", numbers}};
}

// What is wrong with it; empty: nothing.
std::string flaw_of(const DrawOptions& options, const Value& given) {
  const bool range = given.find("between") != nullptr, list = given.find("from") != nullptr;
  if (range == list)
    return fmt::format(
        "has {} 'between' {} 'from', expected one of them, for example {{between: "
        "[0.001, 0.1], draw: log}} or {{from: [1, 2, 4]}}",
        range ? "both" : "neither", range ? "and" : "nor");
  if (list) {
    if (given.find("draw") != nullptr)
      return "has 'draw', which is for 'between' and not for 'from'";
    return options.from.empty() ? "has an empty list 'from', expected at least one value" : "";
  }
  if (options.between.size() != 2)
    return fmt::format("has 'between' with {} values, expected the least and the greatest",
                       options.between.size());
  const double low = options.between[0], high = options.between[1];
  if (!(low < high))
    return fmt::format("lies between {:g} and {:g}, expected the least value before the greatest",
                       low, high);
  if (options.draw == Draw::log && !(low > 0))
    return fmt::format("is drawn as log from {:g} on, expected a least value above 0", low);
  return {};
}

std::optional<ParameterDraw> read_draw(const Constraint& allowed, const Value& value,
                                       const std::string& path, Complaints& complaints) {
  DrawOptions options;
  Complaints unfit;
  parse(draw_fields(allowed), value, path, options, unfit);
  if (unfit.empty())
    if (const std::string flaw = flaw_of(options, value); !flaw.empty())
      unfit.add(path, flaw, value.origin());
  const bool fits = unfit.empty();
  for (const Complaint& one : unfit.list()) complaints.add(one);
  if (!fits) return std::nullopt;
  if (!options.from.empty()) return ParameterDraw{{}, Draw::list, std::move(options.from)};
  return ParameterDraw{{}, options.draw, std::move(options.between)};
}

Value draw_value(const ParameterDraw& draw) {
  Value value;
  value.set(draw.kind == Draw::list ? "from" : "between", list_of(draw.values));
  if (draw.kind != Draw::list) value.set("draw", draw.kind == Draw::log ? "log" : "uniform");
  return value;
}

Value any_of(Value one, Value other) {
  Value either;
  either.set("anyOf", Value(Value::List{std::move(one), std::move(other)}));
  return either;
}

}  // namespace

Value to_value(const Quantity& quantity) {
  return quantity.draw ? draw_value(*quantity.draw) : Value(quantity.value);
}

Value to_value(const Quantities& quantities) {
  if (quantities.varied.empty()) return list_of(quantities.fixed);
  Value value;
  for (const std::string& text : quantities.fixed) {
    const std::size_t equals = text.find('=');
    value.set(text.substr(0, equals), resolve_plain(text.substr(equals + 1)));
  }
  for (const ParameterDraw& draw : quantities.varied) value.set(draw.name, draw_value(draw));
  return value;
}

Value quantity_schema(Value number) {
  Value draw = schema(draw_fields({}));
  draw.set("type", "object");
  return any_of(std::move(number), std::move(draw));
}

Value quantities_schema() {
  Value text, texts, number, map;
  text.set("type", "string");
  texts.set("type", "array");
  texts.set("items", std::move(text));
  number.set("type", "number");
  map.set("type", "object");
  map.set("additionalProperties", quantity_schema(std::move(number)));
  return any_of(std::move(texts), std::move(map));
}

namespace detail {

void read_member(Quantity& member, const Constraint& allowed, const Value& value,
                 const std::string& path, Complaints& complaints) {
  if (!value.is_map()) {
    member.draw.reset();
    read_member(member.value, allowed, value, path, complaints);
  } else if (auto draw = read_draw(allowed, value, path, complaints)) {
    member.draw = std::move(draw);
  }
}

void read_member(Quantities& member, const Constraint& allowed, const Value& value,
                 const std::string& path, Complaints& complaints) {
  if (!value.is_map()) {
    member.varied.clear();
    return read_member(member.fixed, allowed, value, path, complaints);
  }
  Quantities all;
  for (const Value::Member& one : *value.map()) {
    const std::string below = path + "." + one.key;
    if (!one.value.is_map()) {
      double number = 0.0;
      read_member(number, allowed, one.value, below, complaints);
      all.fixed.push_back(fmt::format("{}={}", one.key, number));
    } else if (auto draw = read_draw(allowed, one.value, below, complaints)) {
      draw->name = one.key;
      all.varied.push_back(std::move(*draw));
    }
  }
  if (all.varied.size() > kVariedMost)
    complaints.add(path,
                   fmt::format("has {} parameters that vary, expected at most {}",
                               all.varied.size(), kVariedMost),
                   value.origin());
  member = std::move(all);
}

}  // namespace detail

}  // namespace stap::config
