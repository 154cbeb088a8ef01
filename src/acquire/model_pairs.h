#pragma once

#include <vector>

namespace stap {

/// R(a,b,S) asks how much closer to a's rollout b's comes when a makes the steps of S. A model is a
/// member or kMean.
struct ModelPair {
  int a = 0, b = 0;
};
/// All ordered pairs of different members (for a = b, R is 0).
std::vector<ModelPair> ordered_pairs(int members);
/// The mean model with every member.
std::vector<ModelPair> mean_field_pairs(int members);

}  // namespace stap
