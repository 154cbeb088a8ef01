#include "stap/study/data_files.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/core/sha256.h"
#include "stap/data/store.h"
#include "stap/study/generate.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little, "hashes are of little-endian values");

std::string hash(std::span<const double> values) {
  return sha256_hex(std::as_bytes(values));
}

// `times` states of `values_each` values are a row.
void check_finite(std::span<const double> values, const fs::path& file, std::size_t values_each,
                  std::size_t times, const char* row) {
  const auto bad = std::ranges::find_if(values, [](double v) { return !std::isfinite(v); });
  if (bad == values.end()) return;
  const auto at = static_cast<std::size_t>(bad - values.begin());
  const std::size_t state = at / values_each;
  throw Error(ErrorKind::data,
              fmt::format("{}: {} {} is not finite{}; leave out what did not come to its end",
                          file.string(), row, state / times,
                          times > 1 ? fmt::format(" at time {}", state % times) : ""));
}

// The first `count` rows of `states_each` states; all where that is 0.
States<double> first_rows(States<double> all, std::size_t states_each, std::size_t count,
                          const fs::path& file, const char* rows) {
  const std::size_t there = all.count() / states_each;
  if (count == 0 || count == there) return all;
  if (count > there)
    throw Error(ErrorKind::data, fmt::format("{} holds {} {}, but {} are wanted (0: all of "
                                             "them)",
                                             file.string(), there, rows, count));
  States<double> some(all.grid(), count * states_each);
  std::copy_n(all.values().begin(), some.values().size(), some.values().begin());
  return some;
}

// A file that carries the hash of its values, as ours do, must have it.
void check_own_hash(const fs::path& file, std::span<const double> values) {
  if (has_attribute(file, "/", "sha256") &&
      read_text_attribute(file, "/", "sha256") != hash(values))
    throw Error(ErrorKind::data,
                fmt::format("{} is damaged: its values do not have its hash", file.string()));
}

}  // namespace

fs::path cached_file(const std::string& data_key, const char* file) {
  const fs::path cache = cache_folder();
  return cache.empty() ? fs::path() : cache / data_key / file;
}

Pool read_pool(const fs::path& file, const Grid& grid, std::size_t cluster, std::size_t count) {
  const Grid clusters = cluster_grid(grid, cluster);
  States<double> all = read_clusters(file, clusters, cluster);
  const auto datasets = list_datasets(file);
  if (std::ranges::count(datasets, "states") > 0) check_own_hash(file, all.values());
  Pool pool;
  pool.states = first_rows(std::move(all), 1, count, file, "initial conditions");
  check_finite(pool.states.values(), file, clusters.values(), 1, "initial condition");
  pool.sha256 = hash(pool.states.values());
  return pool;
}

TestSet read_test_set(const fs::path& file, const Grid& grid, std::size_t times,
                      std::size_t count) {
  Trajectories there = read_trajectories(file, grid);
  check_own_hash(file, there.states.values());
  if (times != 0 && there.times < times)
    throw Error(ErrorKind::data, fmt::format("{} holds trajectories of {} times, expected {}",
                                             file.string(), there.times, times));
  TestSet set;
  set.times = times != 0 ? times : there.times;
  States<double> rows =
      first_rows(std::move(there.states), there.times, count, file, "test trajectories");
  if (set.times < there.times) {  // longer ones are cut
    const std::size_t n = rows.count() / there.times, values = set.times * grid.values();
    States<double> cut(grid, n * set.times);
    for (std::size_t b = 0; b < n; ++b)
      std::copy_n(rows.row(b * there.times).begin(), values, cut.row(b * set.times).begin());
    rows = std::move(cut);
  }
  set.states = std::move(rows);
  check_finite(set.states.values(), file, grid.values(), set.times, "test trajectory");
  set.sha256 = hash(set.states.values());
  return set;
}

}  // namespace stap
