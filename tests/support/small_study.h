#pragma once

#include <string>
#include <vector>

namespace stap::test {

/// Settings that make the demo preset take about a second.
inline std::vector<std::string> small_study() {
  return {"pde.points=32",
          "network.modes=[8]",
          "network.width=8",
          "network.lifting=16",
          "network.projection=16",
          "train.epochs=12",
          "study.steps=5",
          "pool=40",
          "test=8",
          "study.initial=3",
          "rounds=2",
          "budget=9",
          "checkpoint_epochs=2"};
}

}  // namespace stap::test
