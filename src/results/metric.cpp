#include "stap/results/metric.h"

#include <array>

namespace stap {

std::span<const MetricInfo, kMetrics> metric_infos() {
  static constexpr std::array<MetricInfo, kMetrics> rows{{
      {Metric::rmse, "rmse", "rmse", "RMSE", true},
      {Metric::nrmse, "nrmse", "nrmse", "NRMSE", false},
      {Metric::mae, "mae", "mae", "MAE", false},
      {Metric::q99, "q99", "rmse_q99", "RMSE 99 %", true},
      {Metric::q95, "q95", "rmse_q95", "RMSE 95 %", true},
      {Metric::q50, "q50", "rmse_q50", "RMSE 50 %", true},
  }};
  return rows;
}

const MetricInfo& info(Metric metric) {
  return metric_infos()[static_cast<std::size_t>(metric)];
}

std::span<const ErrorsOfInfo, kErrorsOf> errors_of_infos() {
  static constexpr std::array<ErrorsOfInfo, kErrorsOf> rows{{
      {ErrorsOf::members, "members", "", "members"},
      {ErrorsOf::mean_model, "mean", "mean_model", "averaged model"},
      {ErrorsOf::members_images, "images", "images", "members over images"},
      {ErrorsOf::mean_model_images, "mean-images", "mean_model_images",
       "averaged model over images"},
  }};
  return rows;
}

const ErrorsOfInfo& info(ErrorsOf whose) {
  return errors_of_infos()[static_cast<std::size_t>(whose)];
}

ErrorsOf errors_named(std::string_view name) {
  for (const ErrorsOfInfo& errors : errors_of_infos())
    if (errors.name == name) return errors.whose;
  return ErrorsOf::members;
}

}  // namespace stap
