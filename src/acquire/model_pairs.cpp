#include "acquire/model_pairs.h"

#include "stap/core/committee.h"

namespace stap {

std::vector<ModelPair> ordered_pairs(int members) {
  std::vector<ModelPair> pairs;
  for (int a = 0; a < members; ++a)
    for (int b = 0; b < members; ++b)
      if (a != b) pairs.push_back({a, b});
  return pairs;
}

std::vector<ModelPair> mean_field_pairs(int members) {
  std::vector<ModelPair> pairs;
  for (int b = 0; b < members; ++b) pairs.push_back({kMean, b});
  return pairs;
}

}  // namespace stap
