#pragma once

#include <string>

#include "stap/config/value.h"

namespace stap {

/// JSON of one line that may stand between <script> and </script>: without any `<`, U+2028 and
/// U+2029.
std::string script_json(const config::Value& value);

}  // namespace stap
