#include "families.h"

#include "stap/study/study.h"

namespace stap::app {

std::span<const config::Family> families() {
  return study_families();
}

}  // namespace stap::app
