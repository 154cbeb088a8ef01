#pragma once

#include <string>
#include <vector>

#include "stap/config/value.h"

namespace stap {

/// For each document " key=value" of every leaf that is not the same in all of them, but those that
/// the method and the seed set; of an option of a family of networks: in all of that family.
std::vector<std::string> what_differs(const std::vector<const config::Value*>& documents);

}  // namespace stap
