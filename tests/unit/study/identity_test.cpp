#include <gtest/gtest.h>

#include <functional>

#include "stap/core/error.h"
#include "stap/study/identity.h"
#include "support/contains.h"

namespace stap {
namespace {

using config::Value;
using test::contains;

Identity some_identity() {
  Identity identity;
  identity.name = "gas";
  identity.channels = {"density", "pressure"};
  identity.grid = make_grid(2, {4, 6}, {1.0, 0.1});
  identity.dt = 0.1;  // which no text of few digits gives back
  identity.steps = 12;
  identity.cluster = 3;
  identity.pool_sha256 = "abc";
  return identity;
}

void expect_equal(const Identity& a, const Identity& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.channels, b.channels);
  EXPECT_EQ(a.grid, b.grid);
  EXPECT_EQ(a.dt, b.dt);
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.cluster, b.cluster);
  EXPECT_EQ(a.pool_sha256, b.pool_sha256);
  EXPECT_EQ(a.test_sha256, b.test_sha256);
  EXPECT_EQ(a.test_trajectories, b.test_trajectories);
  EXPECT_EQ(a.pool_file, b.pool_file);
  EXPECT_EQ(a.test_file, b.test_file);
  EXPECT_EQ(a.data_key, b.data_key);
}

Identity through_text(const Identity& identity) {
  return read_identity(config::parse_json(config::json_text(to_value(identity)), "text"), "there");
}

TEST(IdentityTest, ComesBackFromText) {
  const Identity bare = some_identity();
  Identity full = bare;
  full.test_sha256 = "def";
  full.test_trajectories = 7;
  full.pool_file = "/data/pool.h5";
  full.test_file = "/data/test.h5";
  full.data_key = "0123";

  expect_equal(through_text(bare), bare);
  expect_equal(through_text(full), full);
  EXPECT_EQ(to_value(bare).find("test_sha256"), nullptr);
}

TEST(IdentityTest, DamageIsSaid) {
  const auto message = [](const std::function<void(Value&)>& damage) -> std::string {
    Value value = to_value(some_identity());
    damage(value);
    try {
      read_identity(value, "run/manifest.json");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      EXPECT_TRUE(contains(error.what(), "run/manifest.json"));
      return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
  };
  for (const char* key :
       {"name", "channels", "points", "lengths", "dt", "steps", "cluster", "pool_sha256"}) {
    EXPECT_TRUE(contains(message([&](Value& v) { v.erase(key); }), key));
    EXPECT_TRUE(contains(message([&](Value& v) { v.set(key, Value(Value::Map{})); }), key));
  }
  for (const char* key : {"test_sha256", "test_trajectories", "pool_file", "test_file", "data_key"})
    EXPECT_TRUE(contains(message([&](Value& v) { v.set(key, Value(Value::List{})); }), key));
  const auto list = [](auto... entries) { return Value(Value::List{Value(entries)...}); };
  EXPECT_TRUE(contains(message([&](Value& v) { v.set("points", list(4, "six")); }), "points"));
  EXPECT_TRUE(contains(message([&](Value& v) { v.set("points", list(4, -6)); }), "points"));
  message([&](Value& v) { v.set("points", list(4, 6, 8)); });    // lengths are two
  message([&](Value& v) { v.set("lengths", list(1.0, 0.0)); });  // no grid is like that
}

}  // namespace
}  // namespace stap
