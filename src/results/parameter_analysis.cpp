#include "stap/results/parameter_analysis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/data/npy.h"
#include "stap/data/store.h"
#include "stap/folder/manifest.h"
#include "stap/results/run_result.h"
#include "stap/study/data_files.h"
#include "stap/study/data_request.h"
#include "stap/study/study.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kParts = 8;

// Of a file of which only a part is the pool the hash says nothing.
bool may_hold_pool_of(const fs::path& file, const RunResult& run) {
  std::error_code error;
  if (file.empty() || !fs::is_regular_file(file, error) || is_npy(file)) return false;
  return run.study->options.pool > 0 || !has_attribute(file, "/", "sha256") ||
         read_text_attribute(file, "/", "sha256") == identity_text(run.manifest, "pool_sha256");
}

void add_to(std::vector<std::size_t>& sum, const std::vector<std::size_t>& more) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

}  // namespace

ParameterBins::ParameterBins(ParameterDraw of) : draw(std::move(of)) {
  if (is_list()) {
    edges = draw.values;
    std::ranges::sort(edges);
    edges.erase(std::ranges::unique(edges).begin(), edges.end());
    return;
  }
  const bool log = draw.kind == ParameterDraw::Kind::log;
  const double low = log ? std::log(draw.least()) : draw.least();
  const double high = log ? std::log(draw.greatest()) : draw.greatest();
  for (std::size_t i = 0; i <= kParts; ++i) {
    const double at = low + (high - low) * static_cast<double>(i) / kParts;
    edges.push_back(log ? std::exp(at) : at);
  }
  edges.front() = draw.least();  // and not nearly so
  edges.back() = draw.greatest();
}

std::size_t ParameterBins::bin_of(double value) const {
  if (is_list()) {
    const auto nearest =
        std::ranges::min_element(edges, {}, [&](double edge) { return std::abs(edge - value); });
    return static_cast<std::size_t>(nearest - edges.begin());
  }
  const auto above =
      static_cast<std::size_t>(std::ranges::upper_bound(edges, value) - edges.begin());
  return std::clamp<std::size_t>(above, 1, count()) - 1;
}

double ParameterBins::middle(std::size_t bin) const {
  if (is_list()) return edges[bin];
  return draw.kind == ParameterDraw::Kind::log ? std::sqrt(edges[bin] * edges[bin + 1])
                                               : 0.5 * (edges[bin] + edges[bin + 1]);
}

std::string ParameterBins::text(std::size_t bin) const {
  return is_list() ? fmt::format("{:.3g}", edges[bin])
                   : fmt::format("{:.3g} to {:.3g}", edges[bin], edges[bin + 1]);
}

std::vector<ParameterAnalysis> analyse_parameters(const std::vector<ParameterDraw>& draws,
                                                  const ParameterRows& rows,
                                                  const TransitionSet& transitions,
                                                  std::size_t steps) {
  std::vector<ParameterAnalysis> all;
  for (std::size_t p = 0; p < draws.size(); ++p) {
    ParameterAnalysis one{.bins = ParameterBins(draws[p])};
    const std::size_t n = one.bins.count();
    const auto count = [&](const RowParameters& of) {
      std::vector<std::size_t> counts(n);
      for (std::size_t at = p; at < of.values.size(); at += draws.size())
        ++counts[one.bins.bin_of(of.values[at])];
      return counts;
    };
    one.test = count(rows.test);
    one.pool = count(rows.pool);
    one.rmse.assign(n, 0.0);
    for (std::size_t b = 0; b < rows.test_rmse.size(); ++b)
      one.rmse[one.bins.bin_of(rows.test.row(b)[p])] += rows.test_rmse[b];
    for (std::size_t i = 0; i < n; ++i) one.rmse[i] /= static_cast<double>(one.test[i]);
    one.chosen.assign(n, 0);
    one.steps.assign(n, 0);
    std::set<std::pair<std::size_t, std::size_t>> seen;
    for (std::size_t t = 0; t < transitions.count(); ++t) {
      const Provenance& origin = transitions.origins[t];
      if (origin.acquisition == 0) continue;
      const std::size_t bin = one.bins.bin_of(transitions.parameters.row(t)[p]);
      one.steps[bin] += steps;
      if (seen.emplace(origin.acquisition, origin.candidate).second) ++one.chosen[bin];
    }
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<ParameterAnalysis> together(
    const std::vector<const std::vector<ParameterAnalysis>*>& runs) {
  if (runs.empty()) return {};
  std::vector<ParameterAnalysis> all = *runs.front();
  for (const auto* run : runs) {
    if (run->size() != all.size()) return {};
    for (std::size_t p = 0; p < all.size(); ++p)
      if ((*run)[p].bins.draw != all[p].bins.draw) return {};
  }
  for (std::size_t p = 0; p < all.size(); ++p) {
    const std::size_t n = all[p].bins.count();
    std::vector<double> logs(n, 0.0);
    for (const auto* run : runs) {
      const ParameterAnalysis& one = (*run)[p];
      for (std::size_t i = 0; i < n; ++i)
        logs[i] += std::log(one.rmse[i]) / static_cast<double>(runs.size());
      if (run == runs.front()) continue;
      for (const auto part :
           {&ParameterAnalysis::pool, &ParameterAnalysis::chosen, &ParameterAnalysis::steps})
        add_to(all[p].*part, one.*part);
    }
    for (std::size_t i = 0; i < n; ++i) all[p].rmse[i] = std::exp(logs[i]);
  }
  return all;
}

RowParameters find_pool_parameters(const RunResult& run) {
  const std::vector<std::string> names = config::texts_in(run.manifest.identity.find("parameters"));
  const std::string named = identity_text(run.manifest, "pool_file");
  const std::string key = identity_text(run.manifest, "data_key");
  std::vector<fs::path> places;
  if (!named.empty()) places.push_back(run.folder / named);
  if (!key.empty()) places.push_back(cached_file(key, "pool.h5"));
  places.push_back(cached_file(data_key(data_request(*run.study)), "pool.h5"));
  for (const fs::path& file : places) try {
      if (!may_hold_pool_of(file, run)) continue;
      const std::size_t there = read_shape(file, kParameters).at(0);
      const std::size_t wanted = run.study->options.pool;
      return read_parameters(file, names, wanted > 0 ? std::min(wanted, there) : there);
    } catch (const Error&) {  // what is missing or damaged there is not shown
    }
  return {};
}

}  // namespace stap
