#include "stap/study/identity.h"

#include <gtest/gtest.h>

namespace stap {
namespace {

// As it stands in manifest.json, which runs are told apart by.
TEST(IdentityTest, SaysWhatIsKnown) {
  Identity identity;
  identity.name = "gas";
  identity.channels = {"density", "pressure"};
  identity.grid = make_grid(2, {4, 6}, {1.0, 0.1});
  identity.dt = 0.1;
  identity.steps = 12;
  identity.cluster = 3;
  identity.pool_sha256 = "abc";
  const std::string known =
      R"({"name":"gas","channels":["density","pressure"],"points":[4,6],"lengths":[1.0,0.1],)"
      R"("dt":0.1,"steps":12,"cluster":3,"parameters":[],"pool_sha256":"abc")";

  EXPECT_EQ(config::json_text(to_value(identity), 0), known + "}");

  identity.test_sha256 = "def";
  identity.test_trajectories = 7;
  identity.pool_file = "/data/pool.h5";
  identity.test_file = "/data/test.h5";
  identity.first_sha256 = "fff";
  identity.first_file = "/data/first.h5";
  identity.data_key = "0123";
  EXPECT_EQ(config::json_text(to_value(identity), 0),
            known + R"(,"test_sha256":"def","test_trajectories":7,"pool_file":"/data/pool.h5",)"
                    R"("test_file":"/data/test.h5","first_sha256":"fff",)"
                    R"("first_file":"/data/first.h5","data_key":"0123"})");

  identity.grid = with_walls(identity.grid, {"periodic", "centres"});
  identity.fixed_sha256 = "eee";
  const std::string walled = config::json_text(to_value(identity), 0);
  EXPECT_NE(walled.find(R"("lengths":[1.0,0.1],"walls":["periodic","centres"],"dt")"),
            std::string::npos);
  EXPECT_NE(walled.find(R"("fixed_sha256":"eee","data_key")"), std::string::npos);
}

}  // namespace
}  // namespace stap
