#include "stap/study/data_check.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/single_precision.h"
#include "stap/core/error.h"
#include "stap/data/npy.h"
#include "stap/data/store.h"
#include "stap/study/data_files.h"

namespace stap {

namespace fs = std::filesystem;

namespace {

// Names may be others, but not the same in another order.
void check_order(const fs::path& file, const std::string& whose, std::vector<std::string> ours) {
  const std::string there = read_text_attribute(file, "/", "channel_names");
  const std::string here = fmt::format("{}", fmt::join(ours, ","));
  std::vector<std::string> theirs;
  std::istringstream names(there);
  for (std::string name; std::getline(names, name, ',');) theirs.push_back(name);
  std::ranges::sort(ours);
  std::ranges::sort(theirs);
  if (theirs == ours && there != here)
    throw Error(ErrorKind::data, fmt::format("{} has the channels {}, but {}'s are {}, in another "
                                             "order: import them in that one",
                                             file.string(), there, whose, here));
}

}  // namespace

std::string check_described(const fs::path& file, const Grid& grid, double dt,
                            const std::string& whose, std::vector<std::string> channels) {
  if (!is_npy(file) && has_attribute(file, "/", "channel_names"))
    check_order(file, whose, std::move(channels));
  if (is_npy(file) || !has_attribute(file, "/", "points") || !has_attribute(file, "/", "lengths"))
    return {};
  const StateInfo info = read_state_info(file);
  // Coordinates of others are often in single precision.
  const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); };
  if (info.dt > 0 && dt > 0 && !near(info.dt, dt))
    throw Error(ErrorKind::data, fmt::format("{} is of steps of {:g}, but {}'s are {:g}",
                                             file.string(), info.dt, whose, dt));
  if (!std::ranges::equal(info.grid.lengths, grid.lengths, near))
    throw Error(ErrorKind::data, fmt::format("{} is of a domain of length {:g}, but {}'s is {:g}",
                                             file.string(), fmt::join(info.grid.lengths, " x "),
                                             whose, fmt::join(grid.lengths, " x ")));
  if (info.grid.walled() && info.grid.ends != grid.ends)
    throw Error(ErrorKind::data,
                fmt::format("{} is of axes that end [{}], but {}'s end [{}]", file.string(),
                            fmt::join(wall_names(info.grid), ", "), whose,
                            grid.walled() ? fmt::format("{}", fmt::join(wall_names(grid), ", "))
                                          : "periodic"));
  return info.equation;
}

void check_data(const Study& study, config::Complaints& complaints) {
  const StudyOptions& o = study.options;
  std::vector<std::string> channels;
  if (study.pde.row->outline) channels = study.pde.row->outline(study.pde.options).channels;
  const std::vector<ParameterDraw> draws = varied_parameters(study.pde);
  const std::vector<std::string> parameters = names_of(draws);
  const auto look = [&](const char* path, const fs::path& file, const std::function<void()>& read) {
    if (file.empty()) return;
    try {
      check_described(file, study.grid, study.dt, "the study", channels);
      read();
    } catch (const Error& error) {
      complaints.add(path, fmt::format("cannot be used: {}", error.what()));
    }
  };
  look("initial.path", study.initial_file, [&] {
    const Pool pool = read_pool(study.initial_file, study.grid, o.cluster, o.pool, parameters);
    check_ranges(study.initial_file, pool.parameters, draws);
    const std::string problem =
        single_precision_problem(pool.states.values(), study.grid.points_total(), study.channels);
    if (!problem.empty()) throw Error(ErrorKind::data, problem);
  });
  look("test.path", study.test_file, [&] {
    check_ranges(study.test_file,
                 read_test_set(study.test_file, study.grid, o.cluster + o.steps, o.test, parameters)
                     .parameters,
                 draws);
  });
  look("first.path", study.first_file, [&] {
    check_ranges(study.first_file,
                 read_first(study.first_file, study.grid, o.cluster, o.pattern_steps(), o.pool,
                            study.network.time_input, parameters)
                     .set.parameters,
                 draws);
  });
}

}  // namespace stap
