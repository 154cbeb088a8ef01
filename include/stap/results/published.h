#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stap {

/// One number of the paper's tables, as printed: a mean over rounds of a natural logarithm, ± over
/// seeds. RMSE and its quantiles are on the published scale.
struct Published {
  std::string table;    ///< main, full, bernoulli, efficient, multistep
  std::string problem;  ///< burgers, ..., "ks 8l/8"
  std::string label;    ///< as printed: "SBAL+Ber(1/8)"
  std::string method;   ///< as method_text writes it: "sbal+bernoulli"
  std::string metric;   ///< as in metrics.jsonl: "rmse_q99"
  double mean = 0, deviation = 0;
};

/// All of them, in the order of src/results/published.csv.
std::span<const Published> published_values();
/// The first one of a problem, method and metric; null if the paper has none.
const Published* find_published(std::string_view problem, std::string_view method,
                                std::string_view metric);
/// Which of them can be compared with ours as they are: "compare absolute numbers on ... only".
std::string_view published_caveat();
/// What must be known about a published number ("it" is the paper); empty if there is nothing.
std::string published_doubt(const Published& value);

}  // namespace stap
