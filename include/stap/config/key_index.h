#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "stap/config/value.h"

namespace stap::config {

/// Finds keys of a map that only grows, in constant time however many there are.
class KeyIndex {
 public:
  /// The place of the member with this key; map.size() if there is none. Of the same map every
  /// time, whose keys differ.
  std::size_t find(const Value::Map& map, const std::string& key);

 private:
  std::unordered_map<std::string, std::size_t> places_;  ///< of the first members
};

}  // namespace stap::config
