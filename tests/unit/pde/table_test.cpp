#include <gtest/gtest.h>

#include "stap/core/error.h"
#include "stap/pde/pde.h"

namespace stap {
namespace {

TEST(PdeTable, EveryEntryIsMadeFromItsDefaults) {
  for (const PdeRow& row : pde_table()) {
    if (row.outline) continue;  // its solver is not ours
    const auto solver = row.make({}, {.threads = 1});

    EXPECT_EQ(solver->name(), row.name);
    EXPECT_FALSE(row.text.empty());
  }
}

// How a warm-up solver is made: the same options with another dt.
TEST(PdeTable, EveryEntryHasDtAsAnOption) {
  for (const PdeRow& row : pde_table()) {
    if (row.outline) continue;
    const double twice =
        2 * row.make({}, {.threads = 1})->dt();  // where dt is a multiple of a step, this is
    config::Value options;
    options.set("dt", twice);

    EXPECT_EQ(row.make(config::read(*row.fields, options, "pde"), {.threads = 1})->dt(), twice)
        << row.name;
  }
}

TEST(PdeTable, EveryEntryRefusesUnknownKeys) {
  for (const PdeRow& row : pde_table()) {
    config::Value options;
    options.set("no_such_option", 1);

    EXPECT_THROW(config::read(*row.fields, options, "pde"), Error) << row.name;
  }
}

}  // namespace
}  // namespace stap
