#include "stap/nn/options.h"

#include <gtest/gtest.h>

#include "stap/nn/fno.h"

namespace stap {
namespace {

template <class Options>
std::size_t complaints_of(const config::Fields<Options>& fields, const config::Value& value) {
  Options options;
  config::Complaints complaints;
  config::parse(fields, value, "x", options, complaints);
  return complaints.list().size();
}

TEST(NetworkOptions, DefaultsAreAllowed) {
  EXPECT_EQ(complaints_of(fno_fields(), config::to_value(fno_fields(), FnoOptions{})), 0u);
  EXPECT_EQ(complaints_of(network_fields(), config::to_value(network_fields(), NetworkOptions{})),
            0u);
  EXPECT_EQ(complaints_of(fit_fields(), config::to_value(fit_fields(), FitOptions{})), 0u);
}

TEST(NetworkOptions, ImpossibleValuesAreRefused) {
  for (const char* text : {"modes: [3]", "modes: [0]", "modes: [2, 2, 2]", "width: 0", "layers: 0",
                           "lifting: 0", "projection: 0"})
    EXPECT_EQ(complaints_of(fno_fields(), config::parse_yaml(text, "t")), 1u) << text;
  EXPECT_EQ(complaints_of(network_fields(), config::parse_yaml("target: rate", "t")), 1u);
  for (const char* text : {"epochs: 0", "batch: 0", "batch: 33", "learning_rate: 0", "beta1: 1",
                           "beta2: -0.1", "epsilon: 0", "noise: -0.1", "noise: .inf"})
    EXPECT_EQ(complaints_of(fit_fields(), config::parse_yaml(text, "t")), 1u) << text;
}

}  // namespace
}  // namespace stap
