#include <string>
#include <utility>

#include "stap/eval/metrics.h"

namespace stap {
namespace {

void set_errors(config::Value& value, const Metrics& metrics, const Errors& errors) {
  value.set("diverged", errors.diverged);
  const std::pair<const char*, double> rows[] = {{"rmse", errors.rmse},
                                                 {"rmse_q50", errors.rmse_q50},
                                                 {"rmse_q95", errors.rmse_q95},
                                                 {"rmse_q99", errors.rmse_q99}};
  for (const auto& [name, number] : rows) value.set(name, number);
  for (const auto& [name, number] : rows)
    value.set(std::string(name) + "_published", metrics.to_published(number));
  value.set("rmse_standard_error", errors.rmse_standard_error);
  value.set("nrmse", errors.nrmse);
  value.set("mae", errors.mae);
  value.set("rmse_by_step", config::list_of(errors.rmse_by_step));
  if (errors.rmse_by_channel.size() < 2) return;
  value.set("rmse_by_channel", config::list_of(errors.rmse_by_channel));
  value.set("nrmse_by_channel", config::list_of(errors.nrmse_by_channel));
}

}  // namespace

config::Value to_value(const Metrics& metrics) {
  config::Value value;
  value.set("trajectories", metrics.trajectories);
  value.set("members", metrics.members);
  value.set("steps", metrics.steps);
  value.set("points", metrics.points);
  set_errors(value, metrics, metrics);
  config::Value mean_model;
  set_errors(mean_model, metrics, metrics.mean_model);
  value.set("mean_model", std::move(mean_model));
  return value;
}

std::string to_json_line(const Metrics& metrics, config::Value head) {
  const config::Value value = to_value(metrics);
  for (const config::Value::Member& member : *value.map()) head.set(member.key, member.value);
  return config::json_text(head, 0);
}

}  // namespace stap
