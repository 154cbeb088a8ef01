#include <nlohmann/json.hpp>

#include "stap/config/value.h"

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

}  // namespace

std::string json_text(const Value& value, int indent) {
  // Text that is not UTF-8 gets replacement characters instead of an exception.
  return to_json(value).dump(indent > 0 ? indent : -1, ' ', false,
                             nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace stap::config
