#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stap/config/family.h"

namespace stap::config {

/// Where keys of this name are: "train.epochs"; those of entries of one family once.
std::vector<std::string> paths_of(std::span<const Family> families, std::string_view key);

}  // namespace stap::config
