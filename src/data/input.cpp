#include "data/input.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/child_limits.h"
#include "data/child_read.h"
#include "stap/core/error.h"
#include "stap/data/store.h"

namespace stap::h5 {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxObjects = 100'000;

}  // namespace

Input::Input(const fs::path& path) : path_(path) {
  bytes_ = file_bytes(path);
  file_ = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, without_locks().get()), H5Fclose);
  if (!file_)
    fail("cannot be read as HDF5: it is damaged, cut short or of another format" +
         (last_error().empty() ? "" : fmt::format(" ({})", last_error())));
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

void Input::fail(const std::string& message) const {
  throw Error(ErrorKind::data, fmt::format("{}: {}", path_.string(), message));
}
void Input::damaged(const std::string& what) const {
  fail(fmt::format("{} cannot be read ({})", what, last_error()));
}

bool Input::has_link(const std::string& name) const {
  return H5Lexists(file_.get(), name.c_str(), links_.get()) > 0;
}

std::vector<std::string> Input::datasets() const {
  std::vector<std::string> names;
  std::size_t objects = 0;
  collect(file_.get(), "", 0, objects, names);
  std::sort(names.begin(), names.end());
  return names;
}

Handle Input::dataset(const std::string& name) const {
  Handle dataset(H5Dopen2(file_.get(), name.c_str(), links_.get()), H5Dclose);
  if (!dataset) {
    const std::string reason = last_error();
    const std::vector<std::string> there = datasets();
    if (std::binary_search(there.begin(), there.end(), name))
      fail(fmt::format("dataset '{}' cannot be read ({})", name, reason));
    fail(fmt::format("has no dataset '{}'; it has: {}", name,
                     there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", "))));
  }
  refuse_foreign_storage(dataset, name);
  return dataset;
}

Handle Input::object(const std::string& name) const {
  Handle object(H5Oopen(file_.get(), name.c_str(), links_.get()), H5Oclose);
  if (!object) fail(fmt::format("has no object '{}'", name));
  return object;
}

Handle Input::attribute(const std::string& owner, const std::string& name) const {
  const Handle object = this->object(owner);
  Handle attribute(H5Aopen(object.get(), name.c_str(), H5P_DEFAULT), H5Aclose);
  if (!attribute) fail(fmt::format("'{}' has no attribute '{}'", owner, name));
  return attribute;
}

Extent Input::extent(const Handle& space, const std::string& what) const {
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

void Input::check_size(std::size_t values, std::size_t value_bytes, const std::string& what) const {
  if (values > most_bytes(bytes_) / value_bytes)
    fail(fmt::format("{} claims {} values, more than a file of {} bytes can hold", what, values,
                     bytes_));
  allow_bytes(2 * values * value_bytes);  // as they are stored, and as they are handed out
}

void Input::expect_numbers(const Handle& type, const std::string& what) const {
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

// By hand, since HDF5's own visitors change their signature from version to version.
void Input::collect(hid_t group, const std::string& prefix, std::size_t depth, std::size_t& objects,
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

std::string Input::link_name(hid_t group, hsize_t i) const {
  const auto get = [&](char* buffer, std::size_t size) {
    return H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, buffer, size, H5P_DEFAULT);
  };
  const ssize_t length = get(nullptr, 0);
  if (length < 0) damaged("the list of its datasets");
  std::string name(static_cast<std::size_t>(length), '\0');
  if (get(name.data(), name.size() + 1) < 0) damaged("the list of its datasets");
  return name;
}

std::vector<std::size_t> Input::chunks(const Handle& dataset) const {
  const Handle creation(H5Dget_create_plist(dataset.get()), H5Pclose);
  if (H5Pget_layout(creation.get()) != H5D_CHUNKED) return {};
  hsize_t sizes[H5S_MAX_RANK];
  const int rank = H5Pget_chunk(creation.get(), H5S_MAX_RANK, sizes);
  return {sizes, sizes + std::max(rank, 0)};
}

// Of one chunk; no more than all that the file can hold.
std::uint64_t Input::chunk_bytes(const Handle& dataset,
                                 const std::vector<std::size_t>& shape) const {
  const Handle type(H5Dget_type(dataset.get()), H5Tclose);
  std::uint64_t bytes = H5Tget_size(type.get());
  for (std::size_t size : shape)
    if (__builtin_mul_overflow(bytes, size, &bytes)) return most_bytes(bytes_);
  return std::min(bytes, most_bytes(bytes_));
}

// HDF5 has a chunk in memory twice, packed and unpacked; and it may be larger than its dataset.
void Input::allow_chunk(const Handle& dataset) const {
  const std::vector<std::size_t> chunk = chunks(dataset);
  if (chunk.empty()) return;
  const std::uint64_t bytes = chunk_bytes(dataset, chunk), most = most_bytes(bytes_);
  allow_bytes(bytes > most / 3 ? most : 3 * bytes);
}

void Input::allow_unpacking(const Handle& dataset, const std::vector<std::size_t>& shape,
                            std::size_t first, std::size_t rows) const {
  const std::vector<std::size_t> chunk = chunks(dataset);
  if (chunk.empty() || chunk.size() != shape.size() || rows == 0) return;
  const std::uint64_t most = most_bytes(bytes_);
  std::uint64_t bytes = chunk_bytes(dataset, chunk);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t size = std::max<std::size_t>(chunk[i], 1);
    const std::uint64_t times =
        i == 0 ? (first + rows - 1) / size - first / size + 1 : (shape[i] + size - 1) / size;
    if (__builtin_mul_overflow(bytes, times, &bytes) || bytes > most)
      return allow_seconds_for(most);
  }
  allow_seconds_for(bytes);
}

void Input::refuse_foreign_storage(const Handle& dataset, const std::string& name) const {
  const Handle creation(H5Dget_create_plist(dataset.get()), H5Pclose);
  if (!creation) damaged("dataset '" + name + "'");
  if (H5Pget_external_count(creation.get()) > 0 || H5Pget_layout(creation.get()) == H5D_VIRTUAL)
    fail(fmt::format("dataset '{}' keeps its values in other files, which are not read", name));
  allow_chunk(dataset);
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

}  // namespace stap::h5
