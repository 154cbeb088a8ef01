#include "stap/config/key_index.h"

#include <algorithm>

namespace stap::config {

std::size_t KeyIndex::find(const Value::Map& map, const std::string& key) {
  constexpr std::size_t kFew = 16;  // which are looked at faster than they are remembered
  if (map.size() <= kFew)
    return static_cast<std::size_t>(std::ranges::find(map, key, &Value::Member::key) - map.begin());
  for (std::size_t at = places_.size(); at < map.size(); ++at) places_.emplace(map[at].key, at);
  const auto found = places_.find(key);
  return found == places_.end() ? map.size() : found->second;
}

}  // namespace stap::config
