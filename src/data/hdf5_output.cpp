#include "data/hdf5_output.h"

#include <sys/stat.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/core/error.h"

namespace stap::h5 {

void Output::fail(const std::string& why) const {
  throw Error(ErrorKind::storage, fmt::format("cannot write {}: {}", target().string(), why));
}

void Output::create() {
  file_ = Handle(check(H5Fcreate(pending_.temporary().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT,
                                 without_locks().get())),
                 H5Fclose);
  // HDF5 knows names only: in a folder of several people the name may mean another file by now.
  void* opened = nullptr;
  check(H5Fget_vfd_handle(file_.get(), H5P_DEFAULT, &opened));
  struct stat ours {
  }, theirs{};
  if (fstat(pending_.file(), &ours) != 0 || fstat(*static_cast<int*>(opened), &theirs) != 0 ||
      ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
    fail("another process has replaced its temporary file");
}

void Output::commit(bool forced) {
  check(H5Fflush(file_.get(), H5F_SCOPE_LOCAL));
  if (!file_.close()) fail(last_error());
  if (forced) pending_.seal();
  pending_.commit(forced);
}

Handle Output::text_type(std::size_t bytes) const {
  Handle type(check(H5Tcopy(H5T_C_S1)), H5Tclose);
  check(H5Tset_size(type.get(), std::max<std::size_t>(bytes, 1)));
  check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD));
  check(H5Tset_cset(type.get(), H5T_CSET_UTF8));
  return type;
}

Handle Output::space(const std::vector<hsize_t>& shape) const {
  if (shape.empty()) return Handle(check(H5Screate(H5S_SCALAR)), H5Sclose);
  return Handle(check(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr)),
                H5Sclose);
}

Handle Output::dataset_creation() const {
  Handle creation(check(H5Pcreate(H5P_DATASET_CREATE)), H5Pclose);
  check(H5Pset_obj_track_times(creation.get(), false));
  return creation;
}

Handle Output::dataset(const std::string& name, hid_t type, const Handle& space,
                       const Handle& creation) const {
  return Handle(check(H5Dcreate2(file_.get(), name.c_str(), type, space.get(), H5P_DEFAULT,
                                 creation.get(), H5P_DEFAULT)),
                H5Dclose);
}

namespace {

void write_attribute(const Output& output, hid_t object, const char* name, hid_t file_type,
                     hid_t memory_type, const Handle& space, const void* values) {
  const Handle attribute(
      output.check(H5Acreate2(object, name, file_type, space.get(), H5P_DEFAULT, H5P_DEFAULT)),
      H5Aclose);
  output.check(H5Awrite(attribute.get(), memory_type, values));
}

}  // namespace

void Output::attribute(hid_t object, const char* name, const std::string& text) const {
  const Handle type = text_type(text.size());
  // c_str() has a zero behind the text: the one byte of an empty one.
  write_attribute(*this, object, name, type.get(), type.get(), space({}), text.c_str());
}

void Output::attribute(hid_t object, const char* name, double number) const {
  write_attribute(*this, object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, space({}), &number);
}

void Output::attribute(hid_t object, const char* name, std::span<const double> numbers) const {
  write_attribute(*this, object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, space({numbers.size()}),
                  numbers.data());
}

void Output::attribute(hid_t object, const char* name,
                       std::span<const std::int64_t> numbers) const {
  write_attribute(*this, object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, space({numbers.size()}),
                  numbers.data());
}

void Output::describe(const StateInfo& info) const {
  const auto channels = static_cast<std::int64_t>(info.grid.channels);
  const std::vector<std::int64_t> points(info.grid.points.begin(), info.grid.points.end());
  if (!info.equation.empty()) attribute(file(), "equation", info.equation);
  write_attribute(*this, file(), "channels", H5T_STD_I64LE, H5T_NATIVE_INT64, space({}), &channels);
  attribute(file(), "points", points);
  attribute(file(), "lengths", info.grid.lengths);
  if (info.grid.walled())
    attribute(file(), "walls", fmt::format("{}", fmt::join(wall_names(info.grid), ",")));
  if (info.dt > 0) attribute(file(), "dt", info.dt);
}

}  // namespace stap::h5
