#include "stap/data/import.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/import_layout.h"
#include "stap/core/error.h"
#include "stap/core/sha256.h"
#include "stap/data/array_file.h"
#include "stap/data/npy.h"
#include "stap/data/transitions.h"

namespace stap {
namespace foreign {

namespace fs = std::filesystem;

namespace {

ForeignData open_hdf5(const fs::path& file, const ImportOptions& options) {
  const std::string& format = options.format;
  if (!options.layout.empty())
    throw Error(ErrorKind::config, fmt::format("--layout is for .npy files, {} says what its axes "
                                               "are",
                                               file.string()));
  if (format == "the-well") return open_well(file, options);
  if (format == "pdebench") return open_pdebench(file, options);
  if (format == "stap") return open_own(file, options);
  const std::vector<std::string> datasets = list_datasets(file);
  const auto has = [&](const auto& test) { return std::ranges::any_of(datasets, test); };
  if (has([](const std::string& name) { return name.starts_with("dimensions/"); }))
    return open_well(file, options);
  if (has([](const std::string& name) { return name == "trajectory" || name == "states"; }))
    return open_own(file, options);
  return open_pdebench(file, options);
}

ForeignData open_as_it_is(const fs::path& file, const ImportOptions& options, bool times) {
  if (options.format == "npy" || (options.format == "auto" && is_npy(file)))
    return open_npy(file, options, times);
  ForeignData data = open_hdf5(file, options);
  std::size_t values = data.times * data.channels.size();
  for (std::size_t n : data.points) values *= n;
  data.read = in_blocks(file, data.trajectories, values, std::move(data.read));
  if (data.sources)
    data.sources = in_blocks(file, data.trajectories, data.times, std::move(data.sources));
  return data;
}

}  // namespace
}  // namespace foreign

namespace {

namespace fs = std::filesystem;
using foreign::fail;

// JoinedFiles of several files, one behind the other.
class JoinedFiles {
 public:
  JoinedFiles(std::span<const fs::path> files, const ImportOptions& options, bool times)
      : files_(files.begin(), files.end()) {
    for (const fs::path& file : files) {
      parts_.push_back(open_foreign(file, options, times));
      const ForeignData &one = parts_.back(), &first = parts_.front();
      if (one.points != first.points || one.channels != first.channels ||
          one.times != first.times || !near(one.dt, first.dt) || !near(one.lengths, first.lengths))
        fail(file, fmt::format("has {}, but {} has {}", text(one), files[0].string(), text(first)));
      const std::size_t left =
          options.trajectories == 0 ? one.trajectories : options.trajectories - count();
      firsts_.push_back(firsts_.back() + std::min(left, one.trajectories));
    }
  }

  std::size_t count() const { return firsts_.back(); }
  const ForeignData& like() const { return parts_.front(); }
  std::vector<std::string> notes() const {
    std::vector<std::string> all;
    for (const ForeignData& part : parts_)
      all.insert(all.end(), part.notes.begin(), part.notes.end());
    return all;
  }
  bool has_sources() const { return like().sources != nullptr; }

  std::vector<double> read(std::size_t b) const {
    const std::size_t part = part_of(b);
    return parts_[part].read(b - firsts_[part]);
  }
  std::vector<double> sources(std::size_t b) const {
    const std::size_t part = part_of(b);
    if (!parts_[part].sources)
      fail(files_[part],
           fmt::format("does not say what made its states, but {} does", files_[0].string()));
    return parts_[part].sources(b - firsts_[part]);
  }
  // For messages.
  std::string place(std::size_t b) const {
    const std::size_t part = part_of(b);
    return fmt::format("{}: trajectory {}", files_[part].string(), b - firsts_[part]);
  }

 private:
  static bool near(double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); }
  static bool near(const std::vector<double>& a, const std::vector<double>& b) {
    return std::ranges::equal(a, b, [](double x, double y) { return near(x, y); });
  }
  static std::string text(const ForeignData& data) {
    return fmt::format("{} times of [{}] on {} points, steps of {:g} and lengths [{:g}]",
                       data.times, fmt::join(data.channels, ", "), shape_text(data.points), data.dt,
                       fmt::join(data.lengths, ", "));
  }
  std::size_t part_of(std::size_t b) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(firsts_, b) - firsts_.begin()) - 1;
  }

  std::vector<fs::path> files_;
  std::vector<ForeignData> parts_;
  std::vector<std::size_t> firsts_{0};  // trajectories before each part, and in all
};

std::size_t values_of(const ForeignData& data) {
  std::size_t values = data.channels.size();
  for (std::size_t n : data.points) values *= n;
  return values;
}

void check_finite(std::span<const double> states, std::size_t values, const std::string& place) {
  const auto bad = std::ranges::find_if(states, [](double v) { return !std::isfinite(v); });
  if (bad == states.end()) return;
  throw Error(ErrorKind::data,
              fmt::format("{} is not finite at time {}: leave out what did not come to its end, or "
                          "take fewer by --trajectories",
                          place, static_cast<std::size_t>(bad - states.begin()) / values));
}

// States [B, C, X...] or trajectories [B, T, C, X...]. All is read twice: what is wrong shows
// before anything is written, and the hash comes before the values.
std::size_t write_states(const JoinedFiles& from, ImportAs as, const std::optional<Grid>& grid,
                         const std::string& name, double dt, const fs::path& out) {
  const ForeignData& like = from.like();
  const std::size_t values = values_of(like);
  const std::size_t times = as == ImportAs::pool ? 1 : like.times;
  const auto read = [&](std::size_t b) {
    std::vector<double> states = from.read(b);
    states.resize(times * values);
    check_finite(states, values, from.place(b));
    return states;
  };
  std::vector<std::size_t> shape{like.channels.size()};
  shape.insert(shape.end(), like.points.begin(), like.points.end());
  const bool trajectories = as == ImportAs::test;
  if (trajectories) shape.insert(shape.begin(), times);
  const std::size_t rows = from.count() * (trajectories ? 1 : times);
  shape.insert(shape.begin(), rows);

  ArrayWriter writer(out);
  writer.check_room(from.count() * times * values);
  Sha256 hash;
  for (std::size_t b = 0; b < from.count(); ++b) {
    const std::vector<double> states = read(b);
    hash.add(std::as_bytes(std::span(states)));
  }
  writer.add_text_attribute("sha256", hash.hex());
  writer.add_text_attribute("channel_names", fmt::format("{}", fmt::join(like.channels, ",")));
  if (grid) writer.describe({name, *grid, dt});
  std::vector<double> piece;
  std::size_t next = 0;
  writer.add_pieces(trajectories ? "trajectory" : "states", shape, [&] {
    piece = read(next++);
    return std::span<const double>(piece);
  });
  writer.commit();
  return rows;
}

constexpr double kSolver = 2.0;  // StateSource::solver in a file

// Every two states in a row of which the second is the solver's.
TransitionSet transitions_of(const JoinedFiles& from, const Grid& grid, const std::string& name,
                             double dt) {
  TransitionSet set{.grid = grid, .equation = name, .dt = dt, .acquisitions = 1};
  const std::size_t values = grid.values();
  for (std::size_t b = 0; b < from.count(); ++b) {
    const std::vector<double> states = from.read(b);
    const std::vector<double> sources =
        from.has_sources() ? from.sources(b) : std::vector<double>(from.like().times, kSolver);
    for (std::size_t t = 0; t + 1 < from.like().times; ++t) {
      if (sources[t + 1] != kSolver || sources[t] == 0) continue;
      const auto both = std::span(states).subspan(t * values, 2 * values);
      check_finite(both, values, fmt::format("{}, state {} and the next,", from.place(b), t));
      set.origins.push_back({0, b, t});
      set.inputs.insert(set.inputs.end(), both.begin(), both.begin() + static_cast<int>(values));
      set.outputs.insert(set.outputs.end(), both.begin() + static_cast<int>(values), both.end());
    }
  }
  return set;
}

// States of one file and of another, one step later, as trajectories of two times.
TransitionSet pairs_of(const JoinedFiles& inputs, const JoinedFiles& outputs,
                       const fs::path& output_file, const Grid& grid, const std::string& name,
                       double dt) {
  const ForeignData &before = inputs.like(), &after = outputs.like();
  if (before.times != 1 || after.times != 1 || before.points != after.points ||
      before.channels.size() != after.channels.size() || inputs.count() != outputs.count())
    fail(output_file,
         fmt::format("has {} x {} states of {} x {}, expected {} of {} x {}, one for each input",
                     outputs.count(), after.times, after.channels.size(), shape_text(after.points),
                     inputs.count(), before.channels.size(), shape_text(before.points)));
  TransitionSet set{.grid = grid, .equation = name, .dt = dt, .acquisitions = 1};
  for (std::size_t b = 0; b < inputs.count(); ++b) {
    for (const auto& [side, to] : {std::pair(&inputs, &set.inputs), {&outputs, &set.outputs}}) {
      const std::vector<double> state = side->read(b);
      check_finite(state, grid.values(), side->place(b));
      to->insert(to->end(), state.begin(), state.end());
    }
    set.origins.push_back({0, b, 0});
  }
  return set;
}

}  // namespace

ForeignData open_foreign(const fs::path& file, const ImportOptions& options, bool times_expected) {
  if (options.time_stride == 0)
    throw Error(ErrorKind::config, "--time-stride is 0, expected at least 1");
  ForeignData data = foreign::open_as_it_is(file, options, times_expected);
  if (!options.lengths.empty()) {
    if (options.lengths.size() != data.points.size())
      throw Error(ErrorKind::config,
                  fmt::format("--lengths has {} values, but {} has {} axes in space",
                              options.lengths.size(), file.string(), data.points.size()));
    data.lengths = options.lengths;
  }
  if (std::ranges::find(data.lengths, 0.0) != data.lengths.end()) data.lengths.clear();
  if (options.dt > 0) data.dt = options.dt;
  data.dt *= static_cast<double>(options.time_stride);
  if (!options.channels.empty()) {
    if (options.channels.size() != data.channels.size())
      throw Error(ErrorKind::config,
                  fmt::format("--channels names {}, but {} has {}: {}", options.channels.size(),
                              file.string(), data.channels.size(), fmt::join(data.channels, ", ")));
    data.channels = options.channels;
  }
  if (!options.name.empty()) data.name = options.name;
  if (data.trajectories == 0 || data.times == 0 || values_of(data) == 0)
    fail(file,
         fmt::format("holds no state: {} trajectories of {} times", data.trajectories, data.times));
  return data;
}

Imported import_files(std::span<const fs::path> files, ImportAs as, const ImportOptions& options,
                      const fs::path& out, const fs::path& outputs) {
  if (files.empty()) throw Error(ErrorKind::config, "no file to import");
  const bool pairs = !outputs.empty();
  if (pairs && (as != ImportAs::transitions || files.size() != 1))
    throw Error(ErrorKind::config,
                "--outputs is for transitions, with one file of the states before");
  const bool times = as != ImportAs::pool && !pairs;
  const JoinedFiles from(files, options, times);
  Imported result{from.like(), 0};
  result.data.trajectories = from.count();
  result.data.notes = from.notes();
  const ForeignData& data = from.like();
  std::optional<Grid> grid;
  if (!data.lengths.empty()) grid = make_grid(data.channels.size(), data.points, data.lengths);
  if (as != ImportAs::transitions) {
    result.rows = write_states(from, as, grid, data.name, data.dt, out);
    return result;
  }
  if (!grid)
    throw Error(ErrorKind::config,
                fmt::format("{} does not say how long its domain is: give --lengths, one for each "
                            "axis",
                            files[0].string()));
  if (!pairs && data.times < 2)
    fail(files[0], "has one time, expected at least two for transitions");
  const TransitionSet set =
      pairs ? pairs_of(from, JoinedFiles(std::span(&outputs, 1), options, false), outputs, *grid,
                       data.name, data.dt)
            : transitions_of(from, *grid, data.name, data.dt);
  if (set.count() == 0) fail(files[0], "holds no step that a solver made");
  write_transitions(out, set);
  result.rows = set.count();
  return result;
}

}  // namespace stap
