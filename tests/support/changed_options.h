#pragma once

#include <string_view>

#include "stap/config/fields.h"
#include "stap/config/options.h"

namespace stap::test {

/// Options of an entry with another value in one field.
inline config::AnyOptions changed(const config::Table& fields, const config::AnyOptions& options,
                                  std::string_view key, const config::Value& value) {
  config::Value all = options.value();
  all.set(key, value);
  return config::read(fields, all, "options");
}

}  // namespace stap::test
