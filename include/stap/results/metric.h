#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace stap {

/// The errors of a table, in the paper's order.
enum class Metric { rmse, nrmse, mae, q99, q95, q50 };
inline constexpr std::size_t kMetrics = 6;
struct MetricInfo {
  Metric metric;
  std::string_view name;   ///< "q99"
  std::string_view key;    ///< in metrics.jsonl: "rmse_q99"
  std::string_view title;  ///< "RMSE 99 %"
  bool two_scales;         ///< the published tables have another scale
};
std::span<const MetricInfo, kMetrics> metric_infos();
const MetricInfo& info(Metric metric);

/// Whose errors: of the members, each rolled out by itself, as the published tables have them; of
/// the mean model, which is what one deploys; and of both where every step is the mean over the
/// images of the state (study.images).
enum class ErrorsOf { members, mean_model, members_images, mean_model_images };
inline constexpr std::size_t kErrorsOf = 4;
struct ErrorsOfInfo {
  ErrorsOf whose;
  std::string_view name;   ///< as users choose it: "mean-images"
  std::string_view key;    ///< in tables: "mean_model_images"; empty: the members, who have none
  std::string_view title;  ///< "averaged model over images"
};
std::span<const ErrorsOfInfo, kErrorsOf> errors_of_infos();
const ErrorsOfInfo& info(ErrorsOf whose);
/// By its name; the members' if there is none of that name.
ErrorsOf errors_named(std::string_view name);

}  // namespace stap
