#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/child_read.h"
#include "data/input.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/data/store.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using h5::Extent;
using h5::guarded;
using h5::Handle;
using h5::Input;

// "B x 1 x 256" or "B x T x 1 x 256".
std::string expected_text(const Grid& grid, bool trajectory) {
  return (trajectory ? "B x T x " : "B x ") + grid.shape_text();
}

// Dataset `states` or `trajectory`, checked to be of a grid.
class RowsDataset {
 public:
  RowsDataset(const Input& input, const Grid& grid, bool trajectory)
      : input_(input),
        grid_(grid),
        trajectory_(trajectory),
        what_(trajectory ? "dataset 'trajectory'" : "dataset 'states'"),
        dataset_(input.dataset(trajectory ? "trajectory" : "states")),
        space_(H5Dget_space(dataset_.get()), H5Sclose) {
    input.expect_numbers(Handle(H5Dget_type(dataset_.get()), H5Tclose), what_);
    Extent extent = input.extent(space_, what_);
    shape_ = std::move(extent.shape);
    const std::size_t before = trajectory ? 2 : 1;  // axes before [C, X...]
    std::vector<std::size_t> state_shape{grid.channels};
    state_shape.insert(state_shape.end(), grid.points.begin(), grid.points.end());
    if (shape_.size() != before + state_shape.size() ||
        !std::equal(state_shape.begin(), state_shape.end(),
                    shape_.begin() + static_cast<int>(before)))
      input.fail(fmt::format("{} has shape {}, expected {}", what_, shape_text(shape_),
                             expected_text(grid, trajectory)));
    if (extent.values == 0)
      input.fail(
          fmt::format("{} has shape {}, expected at least one state", what_, shape_text(shape_)));
  }

  std::size_t times() const { return trajectory_ ? shape_[1] : 1; }

  // All B rows at their first `n` times: [B, n, C, X...].
  States<double> read(std::size_t n) const {
    input_.check_size(shape_[0] * n * grid_.values(), sizeof(double), what_);
    States<double> states(grid_, shape_[0] * n);
    std::vector<hsize_t> start(shape_.size(), 0), count(shape_.begin(), shape_.end());
    if (trajectory_) count[1] = n;
    const hsize_t values = states.values().size();
    const Handle memory(H5Screate_simple(1, &values, nullptr), H5Sclose);
    if (H5Sselect_hyperslab(space_.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                            nullptr) < 0 ||
        H5Dread(dataset_.get(), H5T_NATIVE_DOUBLE, memory.get(), space_.get(), H5P_DEFAULT,
                states.values().data()) < 0)
      input_.damaged(what_);
    return states;
  }

 private:
  const Input& input_;
  const Grid& grid_;
  bool trajectory_;
  std::string what_;
  Handle dataset_;
  Handle space_;
  std::vector<std::size_t> shape_;
};

// "centres,periodic", apart.
std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names{""};
  for (const char c : text)
    if (c == ',')
      names.emplace_back();
    else
      names.back() += c;
  return names;
}

}  // namespace

StateInfo read_state_info(const fs::path& path) {
  return guarded(path, [&] {
    const auto fail = [&](std::string_view why) {
      throw Error(ErrorKind::data, fmt::format("{} names no grid: {}", path.string(), why));
    };
    const auto numbers = [&](const char* name) {
      if (!has_attribute(path, "/", name)) fail(fmt::format("it has no attribute '{}'", name));
      return read_attribute(path, "/", name).values;
    };
    const auto sizes = [&](const char* name) {
      std::vector<std::size_t> whole;
      for (double number : numbers(name)) {
        if (!(number >= 1 && number < 9e15 && number == std::floor(number)))
          fail(fmt::format("its attribute '{}' holds {}", name, number));
        whole.push_back(static_cast<std::size_t>(number));
      }
      return whole;
    };
    StateInfo info;
    const std::vector<std::size_t> channels = sizes("channels");
    if (channels.size() != 1) fail("its attribute 'channels' is not one number");
    try {
      info.grid = make_grid(channels[0], sizes("points"), numbers("lengths"));
      if (has_attribute(path, "/", "walls"))
        info.grid =
            with_walls(std::move(info.grid), names_in(read_text_attribute(path, "/", "walls")));
    } catch (const Error& failure) {
      fail(failure.what());
    }
    if (has_attribute(path, "/", "equation"))
      info.equation = read_text_attribute(path, "/", "equation");
    if (has_attribute(path, "/", "dt")) info.dt = numbers("dt").at(0);
    return info;
  });
}

States<double> read_states(const fs::path& path, const Grid& grid) {
  return read_clusters(path, grid, 1);
}

States<double> read_clusters(const fs::path& path, const Grid& grid, std::size_t cluster) {
  return guarded(path, [&] {
    const Input input(path);
    const Grid frames = frame_grid(grid, cluster);
    const bool trajectory = !input.has_link("states");
    if (trajectory && !input.has_link("trajectory")) {
      const std::vector<std::string> there = input.datasets();
      input.fail(fmt::format("has neither dataset 'states' ({}) nor 'trajectory' ({}); it has: {}",
                             expected_text(grid, false), expected_text(frames, true),
                             there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", "))));
    }
    const RowsDataset dataset(input, trajectory ? frames : grid, trajectory);
    if (trajectory && dataset.times() < cluster)
      input.fail(
          fmt::format("dataset 'trajectory' has {} times, expected at least the {} that the "
                      "model takes at once",
                      dataset.times(), cluster));
    States<double> states = dataset.read(trajectory ? cluster : 1);
    if (cluster == 1 || !trajectory) return states;
    States<double> clusters(grid, states.count() / cluster);  // in memory the same
    std::copy(states.values().begin(), states.values().end(), clusters.values().begin());
    return clusters;
  });
}

Trajectories read_trajectories(const fs::path& path, const Grid& grid) {
  return guarded(path, [&] {
    const Input input(path);
    const RowsDataset dataset(input, grid, true);
    return Trajectories{dataset.read(dataset.times()), dataset.times()};
  });
}

}  // namespace stap
