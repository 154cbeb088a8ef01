#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "stap/config/value.h"
#include "stap/core/error.h"

namespace stap::config {
namespace {

nlohmann::ordered_json to_json(const Value& value) {
  switch (value.kind()) {
    case Kind::null:
      return nullptr;
    case Kind::boolean:
      return *value.boolean();
    case Kind::integer:
      if (const auto number = value.integer<std::int64_t>()) return *number;
      return *value.integer<std::uint64_t>();
    case Kind::real:
      return *value.real();
    case Kind::text:
      return *value.text();
    case Kind::list: {
      auto list = nlohmann::ordered_json::array();
      for (const Value& item : *value.list()) list.push_back(to_json(item));
      return list;
    }
    case Kind::map: {
      auto map = nlohmann::ordered_json::object();
      for (const Value::Member& member : *value.map()) map[member.key] = to_json(member.value);
      return map;
    }
  }
  return nullptr;
}

// Takes the texts out of it: some are long.
Value from_json(nlohmann::ordered_json& json) {
  using Type = nlohmann::ordered_json::value_t;
  switch (json.type()) {
    case Type::boolean:
      return json.get<bool>();
    case Type::number_integer:
      return json.get<std::int64_t>();
    case Type::number_unsigned:
      return json.get<std::uint64_t>();
    case Type::number_float:
      return json.get<double>();
    case Type::string:
      return std::move(json.get_ref<std::string&>());
    case Type::array: {
      Value::List list;
      for (auto& item : json) list.push_back(from_json(item));
      return list;
    }
    case Type::object: {
      Value::Map map;
      for (auto& [key, item] : json.items()) map.push_back({key, from_json(item)});
      return map;
    }
    default:
      return {};
  }
}

}  // namespace

std::string json_text(const Value& value, int indent) {
  // Text that is not UTF-8 gets replacement characters instead of an exception.
  return to_json(value).dump(indent > 0 ? indent : -1, ' ', false,
                             nlohmann::ordered_json::error_handler_t::replace);
}

Value parse_json(std::string_view text, std::string_view source_name) {
  try {
    auto json = nlohmann::ordered_json::parse(text);
    return from_json(json);
  } catch (const nlohmann::ordered_json::exception& error) {
    throw Error(ErrorKind::data, fmt::format("{}: bad JSON: {}", source_name, error.what()));
  }
}

}  // namespace stap::config
