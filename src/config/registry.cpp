#include "stap/config/registry.h"

#include <algorithm>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap::config::detail {

void check_new_row(const Family& family, const std::vector<std::string>& reserved,
                   const Entry& row) {
  const std::string fault = entry_fault(row);
  const bool taken = std::ranges::count(family.entries, row.name, &Entry::name) > 0 ||
                     std::ranges::count(reserved, row.name) > 0;
  if (fault.empty() && !taken) return;
  throw Error(ErrorKind::config,
              fmt::format("the row '{}' cannot be added to {}: it {}", row.name, family.name,
                          taken ? "has a name that is taken: choose another" : fault));
}

}  // namespace stap::config::detail
