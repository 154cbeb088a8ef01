#include "stap/data/import.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/child_read.h"
#include "data/import_joined.h"
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
  // A block in one child process (data/child_read.h).
  for (ForeignData::Read* read : {&data.read, &data.sources})
    if (*read)
      *read = [file, inner = *read](std::size_t first, std::size_t count) {
        return h5::guarded(file, [&] { return inner(first, count); });
      };
  return data;
}

}  // namespace
}  // namespace foreign

namespace {

namespace fs = std::filesystem;
using foreign::fail;
using foreign::JoinedFiles;

std::size_t values_of(const ForeignData& data) {
  std::size_t values = data.channels.size();
  for (std::size_t n : data.points) values *= n;
  return values;
}

// Tells of the trajectories that have been read.
class ReadNews {
 public:
  ReadNews(std::string_view phase, std::size_t all, Observer* observer)
      : phase_(phase), all_(all), observer_(observer) {}
  void one_more() {
    ++done_;
    if (observer_ != nullptr)
      observer_->progress({.phase = phase_, .done = done_, .total = all_, .unit = "trajectories"});
  }

 private:
  std::string_view phase_;
  std::size_t all_, done_ = 0;
  Observer* observer_;
};

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
std::size_t write_states(JoinedFiles& from, ImportAs as, const std::optional<Grid>& grid,
                         const std::string& name, double dt, const fs::path& out,
                         Observer* observer) {
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
  ReadNews looked_at("read", from.count(), observer), written("write", from.count(), observer);
  for (std::size_t b = 0; b < from.count(); ++b) {
    const std::vector<double> states = read(b);
    hash.add(std::as_bytes(std::span(states)));
    looked_at.one_more();
  }
  RowParameters parameters{like.parameters.names, {}};  // of the rows that are written
  for (std::size_t b = 0; b < from.count(); ++b)
    for (std::size_t t = 0; t < (trajectories ? 1 : times); ++t) parameters.add(from.parameters(b));
  hash.add(std::as_bytes(std::span(parameters.values)));
  writer.add_text_attribute("sha256", hash.hex());
  if (!parameters.names.empty()) {
    writer.add_text_attribute(kParameterNames, fmt::format("{}", fmt::join(parameters.names, ",")));
    writer.add(kParameters, {rows, parameters.names.size()}, parameters.values);
  }
  writer.add_text_attribute("channel_names", fmt::format("{}", fmt::join(like.channels, ",")));
  if (grid) writer.describe({name, *grid, dt});
  std::vector<double> piece;
  std::size_t next = 0;
  writer.add_pieces(trajectories ? "trajectory" : "states", shape, [&] {
    piece = read(next++);
    written.one_more();
    return std::span<const double>(piece);
  });
  writer.commit();
  return rows;
}

constexpr double kSolver = 2.0;  // StateSource::solver in a file

// Every two states in a row of which the second is the solver's.
TransitionSet transitions_of(JoinedFiles& from, const Grid& grid, const std::string& name,
                             double dt, Observer* observer) {
  TransitionSet set{.grid = grid, .equation = name, .dt = dt, .acquisitions = 1};
  set.parameters.names = from.like().parameters.names;
  const std::size_t values = grid.values();
  ReadNews news("read", from.count(), observer);
  for (std::size_t b = 0; b < from.count(); ++b, news.one_more()) {
    const std::vector<double> states = from.read(b);
    const std::vector<double> sources =
        from.has_sources() ? from.sources(b) : std::vector<double>(from.like().times, kSolver);
    for (std::size_t t = 0; t + 1 < from.like().times; ++t) {
      if (sources[t + 1] != kSolver || sources[t] == 0) continue;
      const auto both = std::span(states).subspan(t * values, 2 * values);
      check_finite(both, values, fmt::format("{}, state {} and the next,", from.place(b), t));
      set.origins.push_back({0, b, t});
      set.parameters.add(from.parameters(b));
      set.inputs.insert(set.inputs.end(), both.begin(), both.begin() + static_cast<int>(values));
      set.outputs.insert(set.outputs.end(), both.begin() + static_cast<int>(values), both.end());
    }
  }
  return set;
}

// States of one file and of another, one step later, as trajectories of two times.
TransitionSet pairs_of(JoinedFiles& inputs, JoinedFiles outputs, const fs::path& output_file,
                       const Grid& grid, const std::string& name, double dt, Observer* observer) {
  const ForeignData &before = inputs.like(), &after = outputs.like();
  if (before.times != 1 || after.times != 1 || before.points != after.points ||
      before.channels.size() != after.channels.size() || inputs.count() != outputs.count())
    fail(output_file,
         fmt::format("has {} x {} states of {} x {}, expected {} of {} x {}, one for each input",
                     outputs.count(), after.times, after.channels.size(), shape_text(after.points),
                     inputs.count(), before.channels.size(), shape_text(before.points)));
  TransitionSet set{.grid = grid, .equation = name, .dt = dt, .acquisitions = 1};
  set.parameters.names = before.parameters.names;
  ReadNews news("read", inputs.count(), observer);
  for (std::size_t b = 0; b < inputs.count(); ++b, news.one_more()) {
    for (const auto& [side, to] : {std::pair(&inputs, &set.inputs), {&outputs, &set.outputs}}) {
      const std::vector<double> state = side->read(b);
      check_finite(state, grid.values(), side->place(b));
      to->insert(to->end(), state.begin(), state.end());
    }
    set.origins.push_back({0, b, 0});
    set.parameters.add(inputs.parameters(b));
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
  data.parameters = foreign::parameters_of(file, options, data.trajectories);
  return data;
}

Imported import_files(std::span<const fs::path> files, ImportAs as, const ImportOptions& options,
                      const fs::path& out, const fs::path& outputs, Observer* observer) {
  if (files.empty()) throw Error(ErrorKind::config, "no file to import");
  const bool pairs = !outputs.empty();
  if (pairs && (as != ImportAs::transitions || files.size() != 1))
    throw Error(ErrorKind::config,
                "--outputs is for transitions, with one file of the states before");
  if (files.size() > 1)
    for (const std::string& text : options.parameters)
      if (text.find('=') != std::string::npos)
        throw Error(ErrorKind::config,
                    fmt::format("--parameter {} is of one file, but there are {}: import them one "
                                "by one",
                                text, files.size()));
  const bool times = as != ImportAs::pool && !pairs;
  JoinedFiles from(files, options, times);
  Imported result{from.like(), 0};
  result.data.trajectories = from.count();
  result.data.notes = from.notes();
  const ForeignData& data = from.like();
  std::optional<Grid> grid;
  if (!data.lengths.empty()) grid = make_grid(data.channels.size(), data.points, data.lengths);
  if (as != ImportAs::transitions) {
    result.rows = write_states(from, as, grid, data.name, data.dt, out, observer);
    return result;
  }
  if (!grid)
    throw Error(ErrorKind::config,
                fmt::format("{} does not say how long its domain is: give --lengths, one for each "
                            "axis",
                            files[0].string()));
  if (!pairs && data.times < 2)
    fail(files[0], "has one time, expected at least two for transitions");
  ImportOptions after = options;  // of the states after: parameters are those of the states before
  after.parameters.clear();
  const TransitionSet set = pairs
                                ? pairs_of(from, JoinedFiles(std::span(&outputs, 1), after, false),
                                           outputs, *grid, data.name, data.dt, observer)
                                : transitions_of(from, *grid, data.name, data.dt, observer);
  if (set.count() == 0) fail(files[0], "holds no step that a solver made");
  write_transitions(out, set);
  result.rows = set.count();
  return result;
}

}  // namespace stap
