#include "stap/core/version.h"

namespace stap {

std::string_view version() {
  return STAP_VERSION;
}

}  // namespace stap
