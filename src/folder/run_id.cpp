#include "stap/folder/run_id.h"

#include <span>

#include "stap/core/sha256.h"

namespace stap {

using config::Value;

Value essential_config(Value document) {
  document.erase("compute");
  document.erase("solver");  // how a solver is reached is no part of what it is
  for (const char* section : {"initial", "test", "first"})
    if (Value* source = document.find(section); source != nullptr)
      for (const char* key : {"path", "argv", "scratch", "seconds"}) source->erase(key);
  if (Value* study = document.find("study"); study != nullptr) study->erase("rounds");
  return document;
}

Value essential_identity(Value identity) {
  for (const char* key : {"pool_file", "test_file", "first_file", "data_key"}) identity.erase(key);
  return identity;
}

std::string run_id(const Value& document, const Value& identity) {
  constexpr std::size_t kDigits = 16;
  // As it reads from a file: a number may be written in more than one way.
  const auto text = [](const Value& value) {
    return value.is_null() ? std::string()
                           : config::yaml_text(config::parse_yaml(config::yaml_text(value), ""));
  };
  const std::string all =
      text(essential_config(document)) + "\n" + text(essential_identity(identity));
  return sha256_hex(std::as_bytes(std::span(all))).substr(0, kDigits);
}

}  // namespace stap
