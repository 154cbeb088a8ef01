#include <fmt/format.h>

#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/study/identity.h"

namespace stap {
namespace {

using config::Value;

template <class T>
Value list_of(const std::vector<T>& values) {
  return Value(Value::List(values.begin(), values.end()));
}

// The entries of a list, each read by `read`.
template <class T, class Read>
std::vector<T> entries(const Value& map, const char* key, const std::string& where,
                       const Read& read) {
  const Value* list = map.find(key);
  if (list == nullptr || !list->is_list()) throw_bad_field(key, where);
  std::vector<T> result;
  for (const Value& entry : *list->list()) {
    const std::optional<T> value = read(entry);
    if (!value) throw_bad_field(key, where);
    result.push_back(*value);
  }
  return result;
}

std::string text_or_empty(const Value& map, const char* key, const std::string& where) {
  return map.find(key) != nullptr ? field<std::string>(map, key, where) : std::string();
}

}  // namespace

Value to_value(const Identity& identity) {
  Value value;
  value.set("name", identity.name);
  value.set("channels", list_of(identity.channels));
  value.set("points", list_of(identity.grid.points));
  value.set("lengths", list_of(identity.grid.lengths));
  value.set("dt", identity.dt);
  value.set("steps", identity.steps);
  value.set("cluster", identity.cluster);
  value.set("parameters", Value(Value::List{}));
  value.set("pool_sha256", identity.pool_sha256);
  const auto set_known = [&](const char* key, const std::string& text) {
    if (!text.empty()) value.set(key, text);
  };
  set_known("test_sha256", identity.test_sha256);
  if (identity.test_trajectories > 0) value.set("test_trajectories", identity.test_trajectories);
  set_known("pool_file", identity.pool_file);
  set_known("test_file", identity.test_file);
  set_known("first_sha256", identity.first_sha256);
  set_known("first_file", identity.first_file);
  set_known("data_key", identity.data_key);
  return value;
}

Identity read_identity(const Value& value, const std::string& where) {
  Identity identity;
  identity.name = field<std::string>(value, "name", where);
  identity.channels = entries<std::string>(value, "channels", where, [](const Value& v) {
    return v.text() != nullptr ? std::optional(*v.text()) : std::nullopt;
  });
  auto points = entries<std::size_t>(value, "points", where,
                                     [](const Value& v) { return v.integer<std::uint64_t>(); });
  auto lengths = entries<double>(value, "lengths", where, [](const Value& v) { return v.real(); });
  try {
    identity.grid = make_grid(identity.channels.size(), std::move(points), std::move(lengths));
  } catch (const Error& error) {
    throw Error(ErrorKind::data, fmt::format("{}: {}", where, error.what()));
  }
  identity.dt = field<double>(value, "dt", where);
  identity.steps = field<std::uint64_t>(value, "steps", where);
  identity.cluster = field<std::uint64_t>(value, "cluster", where);
  identity.pool_sha256 = field<std::string>(value, "pool_sha256", where);
  identity.test_sha256 = text_or_empty(value, "test_sha256", where);
  if (value.find("test_trajectories") != nullptr)
    identity.test_trajectories = field<std::uint64_t>(value, "test_trajectories", where);
  identity.pool_file = text_or_empty(value, "pool_file", where);
  identity.test_file = text_or_empty(value, "test_file", where);
  identity.first_sha256 = text_or_empty(value, "first_sha256", where);
  identity.first_file = text_or_empty(value, "first_file", where);
  identity.data_key = text_or_empty(value, "data_key", where);
  return identity;
}

}  // namespace stap
