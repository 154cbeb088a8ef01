#include "stap/study/identity.h"

namespace stap {

config::Value to_value(const Identity& identity) {
  config::Value value;
  value.set("name", identity.name);
  value.set("channels", config::list_of(identity.channels));
  value.set("points", config::list_of(identity.grid.points));
  value.set("lengths", config::list_of(identity.grid.lengths));
  if (identity.grid.walled()) value.set("walls", config::list_of(wall_names(identity.grid)));
  value.set("dt", identity.dt);
  value.set("steps", identity.steps);
  value.set("cluster", identity.cluster);
  value.set("parameters", config::list_of(identity.parameters));
  value.set("pool_sha256", identity.pool_sha256);
  const auto set_known = [&](const char* key, const std::string& text) {
    if (!text.empty()) value.set(key, text);
  };
  set_known("test_sha256", identity.test_sha256);
  if (identity.test_trajectories > 0) value.set("test_trajectories", identity.test_trajectories);
  set_known("pool_file", identity.pool_file);
  set_known("test_file", identity.test_file);
  set_known("first_sha256", identity.first_sha256);
  set_known("first_file", identity.first_file);
  set_known("fixed_sha256", identity.fixed_sha256);
  set_known("data_key", identity.data_key);
  return value;
}

}  // namespace stap
