// Masks and fixed fields of a problem of one's own, as its configuration names them.
#include <gtest/gtest.h>

#include "stap/core/error.h"
#include "stap/data/npy.h"
#include "stap/study/data_request.h"
#include "support/contains.h"
#include "support/own_study.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

class FixedFiles : public testing::Test {
 protected:
  std::string file(const std::string& name, std::vector<std::size_t> shape,
                   std::vector<double> values) const {
    write_npy(folder.path() / name, shape, values);
    return (folder.path() / name).string();
  }
  // Symmetric about point 0 of the ring of 16, but for `odd`.
  std::vector<double> hole(bool odd = false) const {
    std::vector<double> mask(16, 1.0);
    mask[7] = mask[9] = mask[8] = 0;
    if (odd) mask[3] = 0;
    return mask;
  }
  static std::string refusal(const std::vector<std::string>& settings) {
    return test::error_text(ErrorKind::config, [&] { test::own_study(settings); });
  }

  test::TemporaryFolder folder;
};

TEST_F(FixedFiles, AreReadAndTellProblemsApart) {
  const std::string mask = file("mask.npy", {16}, hole());
  const std::string fixed = file("k.npy", {2, 16}, std::vector<double>(32, 0.5));
  const Study none = test::own_study(), masked = test::own_study({"pde.mask=" + mask});
  const Study both = test::own_study({"pde.mask=" + mask, "pde.fixed=" + fixed});

  EXPECT_EQ(none.fixed, nullptr);
  ASSERT_NE(both.fixed, nullptr);
  EXPECT_EQ(counted_points(both.grid, both.fixed.get()), 13u);
  EXPECT_EQ(both.fixed->count(both.grid), 2u);
  EXPECT_EQ(make_solver(both, 1)->fixed(), both.fixed);
  EXPECT_NE(data_key(data_request(none)), data_key(data_request(masked)));
  EXPECT_NE(data_key(data_request(both)), data_key(data_request(masked)));
  // What a file holds counts, not where it lies; a mask of ones is none.
  const std::string elsewhere = file("other.npy", {16}, hole());
  EXPECT_EQ(data_key(data_request(test::own_study({"pde.mask=" + elsewhere}))),
            data_key(data_request(masked)));
  const std::string ones = file("ones.npy", {16}, std::vector<double>(16, 1.0));
  const Study of_ones = test::own_study({"pde.mask=" + ones});
  EXPECT_EQ(of_ones.fixed, nullptr);
  EXPECT_EQ(data_key(data_request(of_ones)), data_key(data_request(none)));
}

TEST_F(FixedFiles, ThatDoNotFitAreRefused) {
  const std::string mask = file("mask.npy", {16}, hole()), odd = file("odd.npy", {16}, hole(true));
  const std::string zeros = file("zeros.npy", {16}, std::vector<double>(16));
  const std::string short_one = file("short.npy", {15}, std::vector<double>(15, 1.0));
  const std::string halves = file("halves.npy", {16}, std::vector<double>(16, 0.5));
  std::vector<double> slope(16);
  for (std::size_t i = 0; i < 16; ++i) slope[i] = static_cast<double>(i);
  const std::string rising = file("rising.npy", {16}, slope);
  const std::string mirror = R"(train.symmetries=["x -> -x"])";

  EXPECT_TRUE(test::contains(refusal({"pde.mask=" + zeros}), zeros + " is 0 everywhere"));
  EXPECT_TRUE(test::contains(refusal({"pde.mask=" + short_one}), "has shape [15], expected [16]"));
  EXPECT_TRUE(test::contains(refusal({"pde.fixed=" + short_one}), "has shape [15], expected"));
  EXPECT_TRUE(test::contains(refusal({"pde.mask=" + halves}), "holds 0.5, expected 0 and 1"));
  slope[3] = 1e39;  // no float
  EXPECT_TRUE(test::contains(refusal({"pde.fixed=" + file("large.npy", {16}, slope)}),
                             "large.npy holds 1e+39, expected finite"));
  EXPECT_TRUE(test::contains(refusal({"pde.mask=/no/such.npy"}), "/no/such.npy"));
  EXPECT_NO_THROW(test::own_study({"pde.mask=" + mask, mirror}));
  EXPECT_TRUE(test::contains(refusal({"pde.mask=" + odd, mirror}), "does not keep the mask"));
  EXPECT_TRUE(
      test::contains(refusal({"pde.fixed=" + rising, mirror}), "does not keep channel 0 of the"));
}

TEST_F(FixedFiles, WallsAreOfTheProblem) {
  const Study ring = test::own_study(), walled = test::own_study({"pde.walls=[centres]"});

  EXPECT_EQ(walled.grid.end(0), Boundary::centres);
  EXPECT_EQ(config::find_path(ring.effective, "pde.walls"), nullptr);
  EXPECT_EQ(config::find_path(ring.effective, "network.padding"), nullptr);
  EXPECT_NE(data_key(data_request(walled)), data_key(data_request(ring)));
  EXPECT_TRUE(
      test::contains(refusal({"pde.walls=[centres, points]"}), "but the grid 1 x 16 has 1"));
  EXPECT_TRUE(test::contains(refusal({"pde.walls=[wall]"}), "ends 'wall', expected periodic"));
  EXPECT_TRUE(test::contains(refusal({"network.padding.share=[0.5]"}), "all axes are periodic"));
  EXPECT_TRUE(test::contains(refusal({"pde.walls=[centres]", "network.padding.kind=[both]"}),
                             "padding.kind has 'both'"));
}

}  // namespace
}  // namespace stap
