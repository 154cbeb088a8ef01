#include "stap/ic/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stap/core/error.h"
#include "stap/ic/burgers.h"
#include "stap/ic/gaussian_field.h"
#include "stap/ic/ic.h"
#include "stap/ic/sines.h"
#include "support/refusals.h"

namespace stap {
namespace {

const Grid kLine = make_grid(1, {64}, {1.0});

TEST(Sampler, RefusesGridsAndOptionsThatDoNotFit) {
  const Grid square = make_grid(1, {8, 8}, {1, 1}), two = make_grid(2, {8}, {1});
  SinesOptions no_terms, upside_down;
  no_terms.terms = 0;
  upside_down.amplitude_low = 2;
  GaussianFieldOptions no_shift, half;
  no_shift.shift = 0;
  half.wave_vectors = GaussianFieldOptions::WaveVectors::half;
  BurgersAsCodedOptions unlikely, backwards, blunt;
  unlikely.window_probability = 1.5;
  backwards.warm_up = -1;
  blunt.window_width = 0;

  EXPECT_EQ(test::error_kind([&] { make_sines({}, square); }), ErrorKind::config);
  EXPECT_EQ(test::error_kind([&] { make_burgers_as_coded({}, two); }), ErrorKind::config);
  EXPECT_EQ(test::error_kind([&] { make_sines(no_terms, kLine); }), ErrorKind::config);
  EXPECT_EQ(test::error_kind([&] { make_sines(upside_down, kLine); }), ErrorKind::config);
  EXPECT_EQ(test::error_kind([&] { make_gaussian_field(no_shift, kLine); }), ErrorKind::config);
  EXPECT_EQ(test::error_kind([&] { make_gaussian_field(half, square); }), ErrorKind::config);
  EXPECT_EQ(test::error_kind([&] { make_burgers_as_coded(unlikely, kLine); }), ErrorKind::config);
  EXPECT_EQ(test::error_kind([&] { make_burgers_as_coded(backwards, kLine); }), ErrorKind::config);
  EXPECT_EQ(test::error_kind([&] { make_burgers_as_coded(blunt, kLine); }), ErrorKind::config);
}

// The benchmark page's values.
TEST(Sampler, DefaultsAreThoseOfTheBenchmarks) {
  EXPECT_EQ(make_sines({}, kLine)->warm_up(), 0.0);
  EXPECT_EQ(make_gaussian_field({}, kLine)->warm_up(), 0.0);
  EXPECT_EQ(make_burgers_as_coded({}, kLine)->warm_up(), 0.603);
}

TEST(SamplerTable, EveryEntryIsMadeFromItsDefaultsAndRefusesUnknownKeys) {
  const Grid gas = make_grid(4, {16, 16}, {1.0, 1.0});
  for (const SamplerRow& row : sampler_table()) {
    const Grid& grid = row.name == "gas-waves" ? gas : kLine;
    config::Value misspelt;
    misspelt.set("no_such_option", 1);

    EXPECT_EQ(row.make({}, {.grid = &grid})->name(), row.name);
    EXPECT_FALSE(row.text.empty());
    EXPECT_EQ(test::error_kind([&] { config::read(*row.fields, misspelt, "initial"); }),
              ErrorKind::config)
        << row.name;
  }
}

}  // namespace
}  // namespace stap
