#include "stap/folder/run_id.h"

#include <cmath>
#include <cstdint>
#include <span>

#include <fmt/format.h>

#include "stap/core/sha256.h"
#include "stap/study/affecting.h"

namespace stap {

using config::Value;

namespace {

// One text of a value, however its numbers were written: 2 and 2.0 are the same.
void add_text(const Value& value, std::string& all) {
  if (const Value::Map* map = value.map()) {
    all += '{';
    for (const Value::Member& member : *map) {
      all += member.key + ":";
      add_text(member.value, all);
    }
    all += '}';
  } else if (const Value::List* list = value.list()) {
    all += '[';
    for (const Value& one : *list) add_text(one, all);
    all += ']';
  } else if (const auto whole = value.integer<std::uint64_t>()) {
    all += std::to_string(*whole);
  } else if (const auto real = value.real(); real && std::isfinite(*real)) {
    all += fmt::format("{:.17g}", *real);
  } else {
    all += config::json_text(value, 0);  // JSON has no numbers that are not finite: null
  }
  all += ',';
}

}  // namespace

Value essential_config(const Value& document) {
  using enum config::Affects;
  return not_affecting(document, {source, rounds, device, solver, machine});
}

Value essential_identity(Value identity) {
  for (const char* key : {"pool_file", "test_file", "first_file", "data_key"}) identity.erase(key);
  return identity;
}

std::string run_id(const Value& document, const Value& identity) {
  constexpr std::size_t kDigits = 16;
  std::string all;
  add_text(essential_config(document), all);
  add_text(essential_identity(identity), all);
  return sha256_hex(std::as_bytes(std::span(all))).substr(0, kDigits);
}

}  // namespace stap
