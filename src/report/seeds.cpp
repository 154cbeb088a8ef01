#include "report/seeds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/eval/statistics.h"

namespace stap {

SeedMean mean_over_seeds(const std::vector<double>& values) {
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  if (values.empty() || !std::ranges::all_of(values, [](double v) { return std::isfinite(v); }))
    return {nothing, nothing, nothing};
  const Summary summary = summarise(values);
  if (values.size() == 1) return {summary.mean, nothing, nothing};
  const auto [least, largest] = std::ranges::minmax(values);
  if (values.size() == 2) return {summary.mean, least, largest};
  const double half = half_interval_95(summary);
  return {summary.mean, summary.mean - half, summary.mean + half};
}

SeedMean geometric_mean_over_seeds(const std::vector<double>& logs) {
  const SeedMean mean = mean_over_seeds(logs);
  return {std::exp(mean.mean), std::exp(mean.low), std::exp(mean.high)};
}

std::string bands_text(const std::vector<std::size_t>& seeds) {
  if (seeds.empty() || std::ranges::max(seeds) < 2) return {};
  const bool interval = std::ranges::any_of(seeds, [](std::size_t n) { return n > 2; });
  const bool two = std::ranges::count(seeds, std::size_t{2}) > 0;
  if (interval && two)
    return "Bands: 95 % interval of the mean over seeds; of two seeds, their range";
  return interval ? "Bands: 95 % interval of the mean over seeds" : "Bands: range of the two seeds";
}

std::size_t evaluation_of(const RunResult& run, std::size_t round) {
  const auto found = std::ranges::find(run.measured, round);
  return found == run.measured.end() ? std::string::npos
                                     : static_cast<std::size_t>(found - run.measured.begin());
}

std::vector<const RunResult*> runs_with_errors(const MethodRuns& method, ErrorsOf whose) {
  std::vector<const RunResult*> runs;
  for (const RunResult* run : method.runs)
    if (!run->of(whose).logs[0].empty()) runs.push_back(run);
  return runs;
}

std::vector<std::size_t> common_rounds(const std::vector<const RunResult*>& runs) {
  std::vector<std::size_t> rounds;
  if (runs.empty()) return rounds;
  for (const std::size_t round : runs[0]->measured)
    if (std::ranges::all_of(runs, [&](const RunResult* run) {
          return evaluation_of(*run, round) != std::string::npos;
        }))
      rounds.push_back(round);
  return rounds;
}

void add_note(std::string& note, const std::string& sentence) {
  if (sentence.empty()) return;
  if (!note.empty()) note += ". ";
  note += sentence;
}

void look_at(const RunResult& run, std::string& note, const std::function<void()>& look) {
  try {
    look();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data && error.kind() != ErrorKind::unavailable) throw;
    add_note(note, fmt::format("{} is left out: {}", run.folder.filename().string(), error.what()));
  }
}

}  // namespace stap
