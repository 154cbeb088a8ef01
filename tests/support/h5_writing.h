#pragma once

// Test files are written with HDF5 itself, so that the store is not checked against itself.

#include <hdf5.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace stap::test {

/// A new HDF5 file, open for adding things; `close()` or the end of its life finishes it.
class H5File {
 public:
  explicit H5File(const std::filesystem::path& path)
      : id_(check(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT))) {}
  ~H5File() { close(); }
  H5File(const H5File&) = delete;
  H5File& operator=(const H5File&) = delete;

  hid_t id() const { return id_; }
  void close() {
    if (id_ >= 0) H5Fclose(id_);
    id_ = -1;
  }

  void group(const std::string& name) {
    H5Gclose(check(H5Gcreate2(id_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)));
  }

  /// A dataset of `type`, converted from doubles; nothing is written where `values` is empty.
  void dataset(const std::string& name, const std::vector<hsize_t>& shape,
               const std::vector<double>& values, hid_t type = H5T_IEEE_F64LE,
               hid_t creation = H5P_DEFAULT) {
    const hid_t space =
        shape.empty()
            ? check(H5Screate(H5S_SCALAR))
            : check(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr));
    const hid_t set =
        check(H5Dcreate2(id_, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    if (!values.empty())
      check(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
    H5Dclose(set);
    H5Sclose(space);
  }

  void attribute(const std::string& name, double value, hid_t type = H5T_IEEE_F64LE) {
    const hid_t space = check(H5Screate(H5S_SCALAR));
    const hid_t attribute =
        check(H5Acreate2(id_, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT));
    check(H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value));
    H5Aclose(attribute);
    H5Sclose(space);
  }

  /// Fixed-length text, padded with zeros.
  void text_attribute(const std::string& name, const std::string& value) {
    const hid_t type = check(H5Tcopy(H5T_C_S1));
    check(H5Tset_size(type, value.size() + 3));
    const hid_t space = check(H5Screate(H5S_SCALAR));
    const hid_t attribute =
        check(H5Acreate2(id_, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT));
    std::string padded = value;
    padded.resize(value.size() + 3, '\0');
    check(H5Awrite(attribute, type, padded.data()));
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
  }

 private:
  template <class Result>
  static Result check(Result result) {
    if (result < 0) throw std::runtime_error("HDF5 refused to write a test file");
    return result;
  }

  hid_t id_;
};

}  // namespace stap::test
