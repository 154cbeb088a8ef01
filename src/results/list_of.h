#pragma once

#include <vector>

#include "stap/config/value.h"

namespace stap {

template <class T>
config::Value list_of(const std::vector<T>& values) {
  return config::Value(config::Value::List(values.begin(), values.end()));
}

}  // namespace stap
