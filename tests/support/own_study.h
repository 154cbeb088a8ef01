// A small study of a solver of one's own: a command that copies its input.
#pragma once

#include <string>
#include <vector>

#include "stap/config/files.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"

namespace stap::test {

inline Study own_study(const std::vector<std::string>& settings = {}) {
  config::Value document = config::parse_yaml(R"(
pde: {name: external, label: mine, points: [16], dt: 0.25}
solver: {name: command, argv: [/bin/cp, "{input}", "{output}"], slots: 2}
initial: {name: sines, warm_up: 0}
network: {modes: [4], width: 4}
study: {steps: 5, pool: 30, test: 4, initial: 3, rounds: 2, budget: 7}
compute: {device: cpu}
method: random
)",
                                              "the study of the test");
  for (const std::string& setting : settings) apply_setting(document, setting);
  return make_study(std::move(document));
}

}  // namespace stap::test
