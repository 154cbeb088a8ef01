#include "stap/study/data_files.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <sstream>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/core/sha256.h"
#include "stap/data/npy.h"
#include "stap/data/store.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little, "hashes are of little-endian values");

// Without parameters that of the values alone.
std::string hash(std::span<const double> values, std::span<const double> parameters = {}) {
  Sha256 sum;
  sum.add(std::as_bytes(values));
  sum.add(std::as_bytes(parameters));
  return sum.hex();
}

bool has_parameters(const fs::path& file) {
  return !is_npy(file) && std::ranges::count(list_datasets(file), kParameters) > 0;
}

std::vector<std::string> parameter_names(const fs::path& file) {
  std::vector<std::string> names;
  std::istringstream text(read_text_attribute(file, "/", kParameterNames));
  for (std::string name; std::getline(text, name, ',');) names.push_back(name);
  return names;
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

// The states of a `.npy` file: [B, C, X...], or [B, T, C, X...] of trajectories; without C where
// that is 1.
Trajectories read_npy_states(const fs::path& file, const Grid& grid, bool trajectories) {
  const Array<double> array = read_npy(file);
  const std::size_t before = trajectories ? 2 : 1;
  const std::vector<std::size_t>& shape = array.shape;
  std::vector<std::size_t> full{grid.channels};
  full.insert(full.end(), grid.points.begin(), grid.points.end());
  const auto ends_with = [&](const std::vector<std::size_t>& end) {
    return shape.size() == before + end.size() &&
           std::equal(end.begin(), end.end(), shape.end() - static_cast<int>(end.size()));
  };
  const char* rows = trajectories ? "B x T" : "B";
  if (!ends_with(full) && !(grid.channels == 1 && ends_with(grid.points)))
    throw Error(
        ErrorKind::data,
        fmt::format(
            "{} has shape {}, expected {} x {}{}", file.string(), shape_text(shape), rows,
            grid.shape_text(),
            grid.channels == 1 ? fmt::format(" or {} x {}", rows, shape_text(grid.points)) : ""));
  if (array.values.empty())
    throw Error(ErrorKind::data, fmt::format("{} has shape {}, expected at least one state",
                                             file.string(), shape_text(shape)));
  const std::size_t times = trajectories ? shape[1] : 1;
  Trajectories read{States<double>(grid, shape[0] * times), times};
  std::ranges::copy(array.values, read.states.values().begin());
  return read;
}

// A file that carries the hash of its values, as ours do, must have it.
void check_own_hash(const fs::path& file, std::span<const double> values) {
  if (is_npy(file) || !has_attribute(file, "/", "sha256")) return;
  std::vector<double> parameters;
  if (has_parameters(file)) parameters = read_array(file, kParameters).values;
  if (read_text_attribute(file, "/", "sha256") != hash(values, parameters))
    throw Error(ErrorKind::data,
                fmt::format("{} is damaged: its values do not have its hash", file.string()));
}

}  // namespace

States<double> read_initial(const fs::path& file, const Grid& grid, std::size_t cluster) {
  return is_npy(file) ? read_npy_states(file, grid, false).states
                      : read_clusters(file, grid, cluster);
}

void check_initial(const States<double>& states, const std::string& what) {
  constexpr double most = std::numeric_limits<float>::max();
  const std::span<const double> values = states.values();
  const auto bad = std::ranges::find_if(values, [](double v) { return !(std::abs(v) <= most); });
  if (bad == values.end()) return;
  const auto at = static_cast<std::size_t>(bad - values.begin());
  const std::size_t each = states.grid().values(), points = states.grid().points_total();
  throw Error(
      ErrorKind::data,
      fmt::format("{} has {:g} in row {}, channel {} (both from 0): expected finite values, "
                  "at most {:.2g} in size; leave out such rows",
                  what, *bad, at / each, at % each / points, most));
}

RowParameters read_parameters(const fs::path& file, const std::vector<std::string>& names,
                              std::size_t rows) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::data, fmt::format("{} {}", file.string(), what));
  };
  const bool there = has_parameters(file);
  if (!there && names.empty()) return {};
  if (!there)
    refuse(fmt::format(
        "does not say the parameters of its rows, but {} vary: expected a dataset "
        "'{}' [rows, {}] and an attribute '{}' = \"{}\"",
        fmt::join(names, ", "), kParameters, names.size(), kParameterNames, fmt::join(names, ",")));
  const std::vector<std::string> theirs = parameter_names(file);
  if (!std::ranges::is_permutation(theirs, names))
    refuse(fmt::format("has rows with their own {}, but in the problem {} {}",
                       fmt::join(theirs, ", "),
                       names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")),
                       names.size() == 1 || names.empty() ? "varies" : "vary"));
  const Array<double> all = read_array(file, kParameters);
  if (all.shape.size() != 2 || all.shape[0] < rows || all.shape[1] != names.size())
    refuse(fmt::format("has '{}' of {}, expected {} x {}", kParameters, shape_text(all.shape), rows,
                       names.size()));
  RowParameters parameters{names, {}};
  for (std::size_t row = 0; row < rows; ++row)
    for (const std::string& name : names) {
      const auto column =
          static_cast<std::size_t>(std::ranges::find(theirs, name) - theirs.begin());
      const double value = all.values[row * names.size() + column];
      if (!std::isfinite(value)) refuse(fmt::format("has {} = {} in row {}", name, value, row));
      parameters.values.push_back(value);
    }
  return parameters;
}

void check_ranges(const fs::path& file, const RowParameters& parameters,
                  std::span<const ParameterDraw> draws) {
  const std::size_t names = parameters.names.size();
  for (std::size_t i = 0; i < parameters.values.size(); ++i) {
    const std::string& name = parameters.names[i % names];
    const auto draw = std::ranges::find(draws, name, &ParameterDraw::name);
    const double value = parameters.values[i];
    if (draw != draws.end() && !(value >= draw->least() && value <= draw->greatest()))
      throw Error(
          ErrorKind::data,
          fmt::format("{} has {} = {} in row {}, expected {} to {} as the configuration "
                      "says: change the range, or leave out such rows",
                      file.string(), name, value, i / names, draw->least(), draw->greatest()));
  }
}

Pool read_pool(const fs::path& file, const Grid& grid, std::size_t cluster, std::size_t count,
               const std::vector<std::string>& parameters) {
  const Grid clusters = cluster_grid(grid, cluster);
  States<double> all = read_initial(file, clusters, cluster);
  // Of a trajectory we have a part only, and its hash is of the whole.
  if (!is_npy(file) && std::ranges::count(list_datasets(file), "states") > 0)
    check_own_hash(file, all.values());
  Pool pool;
  pool.states = first_rows(std::move(all), 1, count, file, "initial conditions");
  check_finite(pool.states.values(), file, clusters.values(), 1, "initial condition");
  pool.parameters = read_parameters(file, parameters, pool.states.count());
  pool.sha256 = hash(pool.states.values(), pool.parameters.values);
  return pool;
}

TestSet read_test_set(const fs::path& file, const Grid& grid, std::size_t times, std::size_t count,
                      const std::vector<std::string>& parameters) {
  Trajectories there =
      is_npy(file) ? read_npy_states(file, grid, true) : read_trajectories(file, grid);
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
  set.parameters = read_parameters(file, parameters, set.trajectories());
  set.sha256 = hash(set.states.values(), set.parameters.values);
  return set;
}

FirstTransitions read_first(const fs::path& file, const Grid& grid, std::size_t cluster,
                            std::size_t steps, std::size_t pool, bool keep_times,
                            const std::vector<std::string>& parameters) {
  const TransitionSet all = read_transitions(file);
  const Grid clusters = cluster_grid(grid, cluster);
  if (all.cluster != cluster || all.grid.channels != clusters.channels ||
      all.grid.points != clusters.points)
    throw Error(ErrorKind::data,
                fmt::format("{} holds transitions of {} in clusters of {}, expected {} in clusters "
                            "of {}",
                            file.string(), all.grid.shape_text(), all.cluster,
                            clusters.shape_text(), cluster));
  const RowParameters own = read_parameters(file, parameters, all.count());
  FirstTransitions first;
  first.set = {.grid = clusters, .cluster = cluster, .equation = all.equation, .dt = all.dt};
  TransitionSet& set = first.set;
  set.parameters.names = parameters;
  // Trajectories as they were numbered there, cut where they are too long.
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::size_t> numbers;
  for (std::size_t i = 0; i < all.count(); ++i) {
    const Provenance& origin = all.origins[i];
    if (keep_times && origin.step >= steps) {
      ++first.left_out;
      continue;
    }
    const auto [at, fresh] = numbers.emplace(
        std::tuple(origin.acquisition, origin.candidate, origin.step / steps), numbers.size());
    set.origins.push_back({0, pool + at->second, origin.step % steps});
    std::ranges::copy(own.row(i), std::back_inserter(set.parameters.values));
    const std::size_t values = clusters.values();
    for (const auto& [from, to] :
         {std::pair(&all.inputs, &set.inputs), {&all.outputs, &set.outputs}})
      to->insert(to->end(), from->begin() + static_cast<std::ptrdiff_t>(i * values),
                 from->begin() + static_cast<std::ptrdiff_t>((i + 1) * values));
  }
  if (set.count() == 0)
    throw Error(ErrorKind::data,
                fmt::format("{} holds no transition of the first {} steps of a trajectory",
                            file.string(), steps));
  check_finite(set.inputs, file, clusters.values(), 1, "the input of transition");
  check_finite(set.outputs, file, clusters.values(), 1, "the output of transition");
  Sha256 sum;
  sum.add(std::as_bytes(std::span(set.inputs)));
  sum.add(std::as_bytes(std::span(set.outputs)));
  sum.add(std::as_bytes(std::span(set.parameters.values)));
  first.sha256 = sum.hex();
  return first;
}

}  // namespace stap
