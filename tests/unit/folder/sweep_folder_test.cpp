#include "stap/folder/sweep_folder.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace stap {
namespace {

using Texts = std::vector<std::string>;

Texts names_of(const std::vector<SweepRun>& runs) {
  Texts names;
  for (const SweepRun& run : runs) names.push_back(run.name);
  return names;
}

std::vector<SweepRun> runs_over(const std::string& axis) {
  return expand_grid({}, {parse_axis(axis)});
}

// A sweep that a version began which took values as they were written is not begun anew.
TEST(SweepNames, RunsThatAreThereKeepTheirNames) {
  const test::TemporaryFolder folder;
  write_sweep(folder.path(), {{"network.modes=[8, 8]", {}}}, false);
  std::vector<SweepRun> runs = runs_over("network.modes=[8, 8],[4, 4],[2,2],[1, 1]");
  const Texts fresh = names_of(runs);
  // Begun before another grid was run there, which sweep.json then tells of.
  std::filesystem::create_directory(folder.path("network.modes=[1, 1]"));

  keep_names(runs, folder.path());

  EXPECT_EQ(names_of(runs), (Texts{"network.modes=[8, 8]", fresh[1], "network.modes=[2,2]",
                                   "network.modes=[1, 1]"}));
  EXPECT_EQ(fresh[1].find(' '), std::string::npos);
}

TEST(SweepNames, AFreshFolderChangesNone) {
  const test::TemporaryFolder folder;
  std::vector<SweepRun> runs = runs_over("network.modes=[8, 8],[4,4]");
  const Texts fresh = names_of(runs);

  keep_names(runs, folder.path());

  EXPECT_EQ(names_of(runs), fresh);
}

}  // namespace
}  // namespace stap
