// Equations and initial conditions as a configuration names them.
#pragma once

#include <string>

#include "stap/ic/ic.h"
#include "stap/pde/pde.h"

namespace stap::test {

/// Of a section such as "{name: burgers, points: 16}".
inline config::Choice<PdeRow> pde(const std::string& section) {
  return pde_table().choose(config::parse_yaml(section, "test"));
}
inline config::Choice<SamplerRow> initial(const std::string& section) {
  return sampler_table().choose(config::parse_yaml(section, "test"));
}

}  // namespace stap::test
