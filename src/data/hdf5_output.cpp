#include "data/hdf5_output.h"

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap::h5 {

void Output::fail(const std::string& why) const {
  throw Error(ErrorKind::storage, fmt::format("cannot write {}: {}", target().string(), why));
}

void Output::create() {
  file_ = Handle(
      check(H5Fcreate(pending_.temporary().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)),
      H5Fclose);
}

void Output::commit() {
  check(H5Fflush(file_.get(), H5F_SCOPE_LOCAL));
  if (!file_.close()) fail(last_error());
  pending_.commit();
}

Handle Output::text_type() const {
  Handle type(check(H5Tcopy(H5T_C_S1)), H5Tclose);
  check(H5Tset_size(type.get(), H5T_VARIABLE));
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

void Output::attribute(hid_t object, const char* name, const std::string& text) const {
  const Handle type = text_type(), one = space({});
  const Handle attribute(
      check(H5Acreate2(object, name, type.get(), one.get(), H5P_DEFAULT, H5P_DEFAULT)), H5Aclose);
  const char* const pointer = text.c_str();
  check(H5Awrite(attribute.get(), type.get(), &pointer));
}

void Output::attribute(hid_t object, const char* name, double number) const {
  const Handle one = space({});
  const Handle attribute(
      check(H5Acreate2(object, name, H5T_IEEE_F64LE, one.get(), H5P_DEFAULT, H5P_DEFAULT)),
      H5Aclose);
  check(H5Awrite(attribute.get(), H5T_NATIVE_DOUBLE, &number));
}

}  // namespace stap::h5
