#include "couple/spool_problem.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "couple/spool_format.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/seal.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

template <class Item>
Value list_of(const std::vector<Item>& items) {
  Value::List list(items.begin(), items.end());
  if constexpr (std::is_same_v<Item,
                               double>)  // a guard may be infinite, which JSON has no word for
    for (Value& one : list)
      if (!std::isfinite(*one.real())) one = Value(fmt::format("{}", *one.real()));
  return Value(std::move(list));
}

const Value::List& list_in(const Value& map, const char* key, const fs::path& file) {
  const Value* value = map.find(key);
  if (value == nullptr || !value->is_list()) throw_bad_field(key, file);
  return *value->list();
}

std::vector<double> reals_in(const Value& map, const char* key, const fs::path& file) {
  std::vector<double> numbers;
  for (const Value& one : list_in(map, key, file)) {
    const double infinite = std::numeric_limits<double>::infinity();
    const auto number = one == Value("inf")    ? std::optional(infinite)
                        : one == Value("-inf") ? std::optional(-infinite)
                                               : one.real();
    if (!number) throw_bad_field(key, file);
    numbers.push_back(*number);
  }
  return numbers;
}

Value to_value(const Outline& outline) {
  Value value;
  value.set("name", outline.name);
  value.set("channels", list_of(outline.channels));
  value.set("points", list_of(outline.grid.points));
  value.set("lengths", list_of(outline.grid.lengths));
  if (outline.grid.walled()) value.set("walls", list_of(wall_names(outline.grid)));
  value.set("dt", outline.dt);
  value.set("guard_min", list_of(outline.guard_min));
  value.set("guard_max", list_of(outline.guard_max));
  Value::List parameters;
  for (const Parameter& parameter : outline.parameters) {
    Value& one = parameters.emplace_back();
    one.set("name", parameter.name);
    if (parameter.varies)
      one.set("varies", true);
    else
      one.set("value", parameter.value);
  }
  value.set("parameters", Value(std::move(parameters)));
  return value;
}

Outline read_outline(const Value& value, const fs::path& file) {
  Outline outline;
  outline.name = field<std::string>(value, "name", file);
  for (const Value& channel : list_in(value, "channels", file)) {
    if (channel.text() == nullptr) throw_bad_field("channels", file);
    outline.channels.push_back(*channel.text());
  }
  std::vector<std::size_t> sizes;
  for (const Value& points : list_in(value, "points", file)) {
    const auto number = points.integer<std::uint64_t>();
    if (!number || *number > (1u << 24)) throw_bad_field("points", file);
    sizes.push_back(*number);
  }
  outline.grid =
      make_grid(outline.channels.size(), std::move(sizes), reals_in(value, "lengths", file));
  if (value.find("walls") != nullptr)
    outline.grid = with_walls(std::move(outline.grid), config::texts_in(value.find("walls")));
  outline.dt = field<double>(value, "dt", file);
  outline.guard_min = reals_in(value, "guard_min", file);
  outline.guard_max = reals_in(value, "guard_max", file);
  for (const Value& one : list_in(value, "parameters", file))
    if (auto name = field<std::string>(one, "name", file); one.find("varies") != nullptr)
      outline.parameters.push_back({.name = std::move(name), .varies = true});
    else
      outline.parameters.push_back({std::move(name), field<double>(one, "value", file)});
  return outline;
}

}  // namespace

std::string sealed_text(const Value& value) {
  return seal_json(config::json_text(value) + "\n");
}

// The format first: files of spool/1 had no seal.
Value sealed_value(const std::string& text, const fs::path& file) {
  const bool whole = is_whole_json(text);
  const auto damaged = [&] {
    return Error(ErrorKind::data,
                 fmt::format("{} is damaged: its checksum does not fit", file.string()));
  };
  if (!whole && text.starts_with(kJsonSeal)) throw damaged();
  Value value = config::parse_json(text, file.string());
  check_format(field<std::string>(value, "format", file), kSpoolFormat, file);
  if (!whole) throw damaged();
  return value;
}

std::string problem_text(const SpoolProblem& problem) {
  Value value;
  value.set("format", kSpoolFormat);
  value.set("outline", to_value(problem.outline));
  for (const char* section : {"pde", "solver"})
    if (const Value* found = problem.recipe.find(section)) value.set(section, *found);
  value.set("failures", problem.failures.string());
  return sealed_text(value);
}

SpoolProblem read_problem(const std::string& text, const std::string& id, const fs::path& file) {
  const Value value = sealed_value(text, file);
  SpoolProblem problem;
  for (const char* section : {"outline", "solver"})
    if (const Value* found = value.find(section); found == nullptr || !found->is_map())
      throw_bad_field(section, file);
  problem.outline = read_outline(*value.find("outline"), file);
  for (const char* section : {"pde", "solver"})
    if (const Value* found = value.find(section)) problem.recipe.set(section, *found);
  problem.failures = field<std::string>(value, "failures", file);
  if (problem_id(problem.outline) != id)
    throw Error(ErrorKind::data,
                fmt::format("{} is about another problem than its name says", file.string()));
  return problem;
}

}  // namespace stap
