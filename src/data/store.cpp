#include "stap/data/store.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/hdf5.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/core/seal.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using h5::Handle;

// The strongest of HDF5's own filters (deflate) makes a file at most 1032 times smaller. A dataset
// that claims to be larger than this is damaged or hostile: nothing is allocated for it.
constexpr std::uintmax_t kMostCompression = 1032;
// Even an empty file may hold a small dataset that was never written.
constexpr std::uintmax_t kAlwaysAllowed = std::uintmax_t{1} << 20;
constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxObjects = 100'000;

struct Extent {
  std::vector<std::size_t> shape;
  std::size_t values = 1;
};

// One file opened for reading; keeps HDF5 quiet meanwhile.
class Input {
 public:
  explicit Input(const fs::path& path) : path_(path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) fail("there is no such file");
    if (!fs::is_regular_file(status)) fail("is not a file");
    bytes_ = fs::file_size(path, error);
    if (error) fail(error.message());
    check_seal(path);  // before HDF5 sees a byte of it
    file_ = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (!file_)
      fail(fmt::format("cannot be read as HDF5: it is damaged, cut short or of another format ({})",
                       h5::last_error()));
    // What lies in other files is not read: a path in a data file must not choose what we open.
    // (Access to datasets includes access to links.)
    links_ = Handle(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
    H5Pset_elink_cb(
        links_.get(),
        [](const char*, const char*, const char*, const char*, unsigned*, hid_t, void*) -> herr_t {
          return -1;
        },
        nullptr);
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorKind::data, fmt::format("{}: {}", path_.string(), message));
  }
  [[noreturn]] void damaged(const std::string& what) const {
    fail(fmt::format("{} cannot be read ({})", what, h5::last_error()));
  }

  bool has_link(const std::string& name) const {
    return H5Lexists(file_.get(), name.c_str(), links_.get()) > 0;
  }

  std::vector<std::string> datasets() const {
    std::vector<std::string> names;
    std::size_t objects = 0;
    collect(file_.get(), "", 0, objects, names);
    std::sort(names.begin(), names.end());
    return names;
  }

  Handle dataset(const std::string& name) const {
    Handle dataset(H5Dopen2(file_.get(), name.c_str(), links_.get()), H5Dclose);
    if (!dataset) {
      const std::string reason = h5::last_error();
      const std::vector<std::string> there = datasets();
      if (std::binary_search(there.begin(), there.end(), name))
        fail(fmt::format("dataset '{}' cannot be read ({})", name, reason));
      fail(fmt::format("has no dataset '{}'; it has: {}", name,
                       there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", "))));
    }
    refuse_foreign_storage(dataset.get(), name);
    return dataset;
  }

  Handle object(const std::string& name) const {
    Handle object(H5Oopen(file_.get(), name.c_str(), links_.get()), H5Oclose);
    if (!object) fail(fmt::format("has no object '{}'", name));
    return object;
  }

  Handle attribute(const std::string& owner, const std::string& name) const {
    const Handle object = this->object(owner);
    Handle attribute(H5Aopen(object.get(), name.c_str(), H5P_DEFAULT), H5Aclose);
    if (!attribute) fail(fmt::format("'{}' has no attribute '{}'", owner, name));
    return attribute;
  }

  Extent extent(const Handle& space, const std::string& what) const {
    if (!space) damaged(what);
    Extent extent;
    switch (H5Sget_simple_extent_type(space.get())) {
      case H5S_SCALAR:
        return extent;
      case H5S_SIMPLE:
        break;
      default:
        fail(fmt::format("{} is empty, expected values", what));
    }
    hsize_t sizes[H5S_MAX_RANK];
    const int rank = H5Sget_simple_extent_dims(space.get(), sizes, nullptr);
    if (rank < 0) damaged(what);
    extent.shape.assign(sizes, sizes + rank);
    for (std::size_t size : extent.shape)
      if (__builtin_mul_overflow(extent.values, size, &extent.values))
        fail(fmt::format("{} has the impossible shape {}", what, shape_text(extent.shape)));
    return extent;
  }

  // Before memory is taken for values that the file says it has.
  void check_size(std::size_t values, std::size_t value_bytes, const std::string& what) const {
    const std::uintmax_t most =
        bytes_ > std::numeric_limits<std::uintmax_t>::max() / kMostCompression
            ? std::numeric_limits<std::uintmax_t>::max()
            : std::max(bytes_ * kMostCompression, kAlwaysAllowed);
    if (values > most / value_bytes)
      fail(fmt::format("{} claims {} values, more than a file of {} bytes can hold", what, values,
                       bytes_));
  }

  void expect_numbers(const Handle& type, const std::string& what) const {
    switch (H5Tget_class(type.get())) {
      case H5T_INTEGER:
      case H5T_FLOAT:
      case H5T_ENUM:
        return;
      case H5T_STRING:
        fail(fmt::format("{} holds text, expected numbers", what));
      default:
        fail(fmt::format("{} does not hold plain numbers", what));
    }
  }

 private:
  // By hand, since HDF5's own visitors change their signature from version to version.
  void collect(hid_t group, const std::string& prefix, std::size_t depth, std::size_t& objects,
               std::vector<std::string>& names) const {
    H5G_info_t info;
    if (depth > kMaxDepth || H5Gget_info(group, &info) < 0) damaged("the list of its datasets");
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      if (++objects > kMaxObjects) fail("has too many objects to list");
      const std::string name = link_name(group, i);
      H5L_info_t link;
      if (H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT) < 0) damaged("link '" + name + "'");
      if (link.type != H5L_TYPE_HARD) continue;
      const Handle object(H5Oopen(group, name.c_str(), links_.get()), H5Oclose);
      if (!object) damaged("object '" + prefix + name + "'");
      const H5I_type_t type = H5Iget_type(object.get());
      if (type == H5I_DATASET) names.push_back(prefix + name);
      if (type == H5I_GROUP) collect(object.get(), prefix + name + "/", depth + 1, objects, names);
    }
  }

  std::string link_name(hid_t group, hsize_t i) const {
    const auto get = [&](char* buffer, std::size_t size) {
      return H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, buffer, size,
                                H5P_DEFAULT);
    };
    const ssize_t length = get(nullptr, 0);
    if (length < 0) damaged("the list of its datasets");
    std::string name(static_cast<std::size_t>(length), '\0');
    if (get(name.data(), name.size() + 1) < 0) damaged("the list of its datasets");
    return name;
  }

  void refuse_foreign_storage(hid_t dataset, const std::string& name) const {
    const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
    if (!creation) damaged("dataset '" + name + "'");
    if (H5Pget_external_count(creation.get()) > 0 || H5Pget_layout(creation.get()) == H5D_VIRTUAL)
      fail(fmt::format("dataset '{}' keeps its values in other files, which are not read", name));
    const int filters = H5Pget_nfilters(creation.get());
    for (int i = 0; i < filters; ++i) {
      unsigned flags = 0, config = 0;
      std::size_t parameters = 0;
      const H5Z_filter_t filter = H5Pget_filter2(creation.get(), static_cast<unsigned>(i), &flags,
                                                 &parameters, nullptr, 0, nullptr, &config);
      if (filter >= H5Z_FILTER_RESERVED)
        fail(fmt::format("dataset '{}' needs the filter plug-in {}; store it without, or with gzip",
                         name, filter));
    }
  }

  h5::Quiet quiet_;
  fs::path path_;
  std::uintmax_t bytes_ = 0;
  Handle file_;
  Handle links_;
};

// Strings of an attribute or dataset, fixed or variable in length; `read` fills a buffer of the
// given memory type.
template <class Read>
std::vector<std::string> read_strings(const Input& input, const Handle& type, const Handle& space,
                                      std::size_t count, const std::string& what, Read read) {
  if (H5Tget_class(type.get()) != H5T_STRING)
    input.fail(fmt::format("{} holds numbers, expected text", what));
  std::vector<std::string> texts(count);
  if (H5Tis_variable_str(type.get()) > 0) {
    input.check_size(count, sizeof(char*), what);
    std::vector<char*> pointers(count, nullptr);
    if (read(type.get(), pointers.data()) < 0) input.damaged(what);
    for (std::size_t i = 0; i < count; ++i)
      if (pointers[i] != nullptr) texts[i] = pointers[i];
    H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, pointers.data());
    return texts;
  }
  const std::size_t width = H5Tget_size(type.get());
  if (width == 0) input.damaged(what);
  input.check_size(count, width, what);
  std::vector<char> bytes(count * width);
  if (read(type.get(), bytes.data()) < 0) input.damaged(what);
  const bool spaces = H5Tget_strpad(type.get()) == H5T_STR_SPACEPAD;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text(bytes.data() + i * width, width);
    text.resize(std::min(text.find('\0'), text.size()));
    if (spaces) text.erase(text.find_last_not_of(' ') + 1);
    texts[i] = std::move(text);
  }
  return texts;
}

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

}  // namespace

Array<double> read_array(const fs::path& path, const std::string& name) {
  const Input input(path);
  const std::string what = fmt::format("dataset '{}'", name);
  const Handle dataset = input.dataset(name);
  input.expect_numbers(Handle(H5Dget_type(dataset.get()), H5Tclose), what);
  Extent extent = input.extent(Handle(H5Dget_space(dataset.get()), H5Sclose), what);
  input.check_size(extent.values, sizeof(double), what);
  Array<double> array{std::move(extent.shape), std::vector<double>(extent.values)};
  if (H5Dread(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
              array.values.data()) < 0)
    input.damaged(what);
  return array;
}

std::vector<std::size_t> read_shape(const fs::path& path, const std::string& name) {
  const Input input(path);
  const Handle dataset = input.dataset(name);
  return input
      .extent(Handle(H5Dget_space(dataset.get()), H5Sclose), fmt::format("dataset '{}'", name))
      .shape;
}

Array<double> read_rows(const fs::path& path, const std::string& name, std::size_t first,
                        std::size_t count) {
  const Input input(path);
  const std::string what = fmt::format("dataset '{}'", name);
  const Handle dataset = input.dataset(name);
  input.expect_numbers(Handle(H5Dget_type(dataset.get()), H5Tclose), what);
  const Handle space(H5Dget_space(dataset.get()), H5Sclose);
  Extent extent = input.extent(space, what);
  if (extent.shape.empty() || first > extent.shape[0] || count > extent.shape[0] - first)
    input.fail(fmt::format("{} has shape {}, expected rows {} to {}", what,
                           shape_text(extent.shape), first, first + count));
  const std::size_t values = extent.shape[0] == 0 ? 0 : extent.values / extent.shape[0] * count;
  input.check_size(values, sizeof(double), what);
  std::vector<hsize_t> start(extent.shape.size(), 0);
  std::vector<hsize_t> counts(extent.shape.begin(), extent.shape.end());
  start[0] = first;
  counts[0] = count;
  extent.shape[0] = count;
  Array<double> array{std::move(extent.shape), std::vector<double>(values)};
  if (values == 0) return array;
  const hsize_t all = values;
  const Handle memory(H5Screate_simple(1, &all, nullptr), H5Sclose);
  if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, counts.data(),
                          nullptr) < 0 ||
      H5Dread(dataset.get(), H5T_NATIVE_DOUBLE, memory.get(), space.get(), H5P_DEFAULT,
              array.values.data()) < 0)
    input.damaged(what);
  return array;
}

Array<std::int64_t> read_integers(const fs::path& path, const std::string& name) {
  const Input input(path);
  const std::string what = fmt::format("dataset '{}'", name);
  const Handle dataset = input.dataset(name);
  const Handle type(H5Dget_type(dataset.get()), H5Tclose);
  if (H5Tget_class(type.get()) != H5T_INTEGER)
    input.fail(fmt::format("{} does not hold whole numbers", what));
  Extent extent = input.extent(Handle(H5Dget_space(dataset.get()), H5Sclose), what);
  input.check_size(extent.values, sizeof(std::int64_t), what);
  Array<std::int64_t> array{std::move(extent.shape), std::vector<std::int64_t>(extent.values)};
  if (H5Dread(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.values.data()) <
      0)
    input.damaged(what);
  return array;
}

Array<std::string> read_text(const fs::path& path, const std::string& name) {
  const Input input(path);
  const std::string what = fmt::format("dataset '{}'", name);
  const Handle dataset = input.dataset(name);
  const Handle type(H5Dget_type(dataset.get()), H5Tclose);
  const Handle space(H5Dget_space(dataset.get()), H5Sclose);
  Extent extent = input.extent(space, what);
  input.check_size(extent.values, 1, what);
  return {std::move(extent.shape),
          read_strings(input, type, space, extent.values, what, [&](hid_t memory, void* buffer) {
            return H5Dread(dataset.get(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer);
          })};
}

std::vector<std::string> list_datasets(const fs::path& path) {
  return Input(path).datasets();
}

bool has_attribute(const fs::path& path, const std::string& object, const std::string& name) {
  const Input input(path);
  return H5Aexists(input.object(object).get(), name.c_str()) > 0;
}

Array<double> read_attribute(const fs::path& path, const std::string& object,
                             const std::string& name) {
  const Input input(path);
  const std::string what = fmt::format("attribute '{}' of '{}'", name, object);
  const Handle attribute = input.attribute(object, name);
  input.expect_numbers(Handle(H5Aget_type(attribute.get()), H5Tclose), what);
  Extent extent = input.extent(Handle(H5Aget_space(attribute.get()), H5Sclose), what);
  input.check_size(extent.values, sizeof(double), what);
  Array<double> array{std::move(extent.shape), std::vector<double>(extent.values)};
  if (H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, array.values.data()) < 0) input.damaged(what);
  return array;
}

std::string read_text_attribute(const fs::path& path, const std::string& object,
                                const std::string& name) {
  const Input input(path);
  const std::string what = fmt::format("attribute '{}' of '{}'", name, object);
  const Handle attribute = input.attribute(object, name);
  const Handle type(H5Aget_type(attribute.get()), H5Tclose);
  const Handle space(H5Aget_space(attribute.get()), H5Sclose);
  const Extent extent = input.extent(space, what);
  if (extent.values != 1)
    input.fail(fmt::format("{} has shape {}, expected one text", what, shape_text(extent.shape)));
  return read_strings(input, type, space, 1, what, [&](hid_t memory, void* buffer) {
    return H5Aread(attribute.get(), memory, buffer);
  })[0];
}

std::vector<std::string> read_text_list(const fs::path& path, const std::string& object,
                                        const std::string& name) {
  const Input input(path);
  const std::string what = fmt::format("attribute '{}' of '{}'", name, object);
  const Handle attribute = input.attribute(object, name);
  const Handle type(H5Aget_type(attribute.get()), H5Tclose);
  const Handle space(H5Aget_space(attribute.get()), H5Sclose);
  const Extent extent = input.extent(space, what);
  input.check_size(extent.values, 1, what);
  if (extent.values == 0) return {};
  return read_strings(input, type, space, extent.values, what, [&](hid_t memory, void* buffer) {
    return H5Aread(attribute.get(), memory, buffer);
  });
}

StateInfo read_state_info(const fs::path& path) {
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
  } catch (const Error& failure) {
    fail(failure.what());
  }
  if (has_attribute(path, "/", "equation"))
    info.equation = read_text_attribute(path, "/", "equation");
  if (has_attribute(path, "/", "dt")) info.dt = numbers("dt").at(0);
  return info;
}

States<double> read_states(const fs::path& path, const Grid& grid) {
  return read_clusters(path, grid, 1);
}

States<double> read_clusters(const fs::path& path, const Grid& grid, std::size_t cluster) {
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
}

Trajectories read_trajectories(const fs::path& path, const Grid& grid) {
  const Input input(path);
  const RowsDataset dataset(input, grid, true);
  return {dataset.read(dataset.times()), dataset.times()};
}

void disable_store_exit_handler() {
  H5dont_atexit();
}

}  // namespace stap
