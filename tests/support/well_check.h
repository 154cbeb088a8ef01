#pragma once

// A checker of The Well's layout, written from its description
// (https://polymathic-ai.org/the_well/data_format), with HDF5 itself. Texts must be of variable
// length and truths enumerations of FALSE and TRUE: that is what Python shows as str and bool.

#include <hdf5.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace stap::test {

class WellCheck {
 public:
  /// What is wrong with a file; nothing if it is as described.
  static std::vector<std::string> complaints(const std::string& path) {
    WellCheck check(path);
    if (check.file_ < 0) return {"no HDF5 file"};
    check.root();
    H5Fclose(check.file_);
    return check.complaints_;
  }

 private:
  explicit WellCheck(const std::string& path)
      : file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)) {}

  void expect(bool holds, const std::string& what) {
    if (!holds) complaints_.push_back(what);
  }
  bool exists(const std::string& path) const {
    for (std::size_t slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', slash + 1))
      if (slash > 0 && H5Lexists(file_, path.substr(0, slash).c_str(), H5P_DEFAULT) <= 0)
        return false;
    return path == "/" || H5Lexists(file_, path.c_str(), H5P_DEFAULT) > 0;
  }

  // An attribute, its type class, and its values as far as `read` takes them.
  template <class Read>
  void attribute(const std::string& object, const char* name, const Read& read) {
    if (!exists(object)) return expect(false, "no " + object);
    if (H5Aexists_by_name(file_, object.c_str(), name, H5P_DEFAULT) <= 0)
      return expect(false, object + " has no @" + name);
    const hid_t id = H5Aopen_by_name(file_, object.c_str(), name, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t type = H5Aget_type(id), space = H5Aget_space(id);
    read(id, type, space, static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(id);
  }

  std::vector<std::string> texts(const std::string& object, const char* name, bool list) {
    std::vector<std::string> values;
    attribute(object, name, [&](hid_t id, hid_t type, hid_t space, std::size_t n) {
      expect(list == (H5Sget_simple_extent_type(space) == H5S_SIMPLE),
             object + "@" + name + (list ? " is no list" : " is a list"));
      if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) <= 0)
        return expect(false, object + "@" + name + " is no text of variable length");
      std::vector<char*> pointers(n, nullptr);
      if (n == 0) return;
      H5Aread(id, type, pointers.data());
      for (char* text : pointers) values.emplace_back(text);
      H5Dvlen_reclaim(type, space, H5P_DEFAULT, pointers.data());
    });
    return values;
  }

  bool is_truth(hid_t type) const {
    if (H5Tget_class(type) != H5T_ENUM || H5Tget_nmembers(type) != 2) return false;
    std::int8_t no = 9, yes = 9;
    return H5Tenum_valueof(type, "FALSE", &no) >= 0 && no == 0 &&
           H5Tenum_valueof(type, "TRUE", &yes) >= 0 && yes == 1;
  }
  std::vector<bool> truths(const std::string& object, const char* name) {
    std::vector<bool> values;
    attribute(object, name, [&](hid_t id, hid_t type, hid_t, std::size_t n) {
      if (!is_truth(type)) return expect(false, object + "@" + name + " is no truth");
      std::vector<std::int8_t> bytes(n);
      H5Aread(id, type, bytes.data());
      values.assign(bytes.begin(), bytes.end());
    });
    return values;
  }
  bool truth(const std::string& object, const char* name) {
    const std::vector<bool> values = truths(object, name);
    expect(values.size() == 1, object + "@" + name + " is not one truth");
    return !values.empty() && values[0];
  }
  std::size_t whole(const char* name) {
    std::int64_t value = -1;
    attribute("/", name, [&](hid_t id, hid_t type, hid_t, std::size_t n) {
      if (H5Tget_class(type) != H5T_INTEGER || n != 1)
        return expect(false, std::string("@") + name + " is no whole number");
      H5Aread(id, H5T_NATIVE_INT64, &value);
    });
    return static_cast<std::size_t>(value);
  }

  // Shape of a dataset; empty, with a complaint, if it is not there.
  std::vector<std::size_t> shape(const std::string& name, bool single = true) {
    if (!exists(name)) {
      expect(false, "no " + name);
      return {};
    }
    const hid_t set = H5Dopen2(file_, name.c_str(), H5P_DEFAULT);
    const hid_t type = H5Dget_type(set), space = H5Dget_space(set);
    if (single)
      expect(H5Tget_class(type) == H5T_FLOAT && H5Tget_size(type) == 4,
             name + " is not in single precision");
    else
      expect(is_truth(type), name + " holds no truths");
    hsize_t sizes[H5S_MAX_RANK];
    const int rank = H5Sget_simple_extent_dims(space, sizes, nullptr);
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(set);
    return std::vector<std::size_t>(sizes, sizes + std::max(rank, 0));
  }

  void root() {
    expect(!texts("/", "dataset_name", false).empty(), "no @dataset_name");
    const std::vector<std::string> kind = texts("/", "grid_type", false);
    expect(kind == std::vector<std::string>{"cartesian"}, "@grid_type");
    for (const std::string& name : texts("/", "simulation_parameters", true))
      attribute("/", name.c_str(), [&](hid_t, hid_t type, hid_t, std::size_t n) {
        expect(H5Tget_class(type) == H5T_FLOAT && n == 1, "@" + name + " is no number");
      });
    trajectories_ = whole("n_trajectories");
    dimensions();
    expect(axes_.size() == whole("n_spatial_dims"), "@n_spatial_dims is not that of dimensions");
    for (int order = 0; order < 3; ++order) fields(order);
    scalars();
    boundaries();
  }

  void dimensions() {
    const std::vector<std::size_t> times = shape("dimensions/time");
    times_ = times.empty() ? 0 : times.back();
    expect(times.size() == 1 + (truth("dimensions/time", "sample_varying") ? 1u : 0u),
           "axes of dimensions/time");
    axes_ = texts("dimensions", "spatial_dims", true);
    for (const std::string& axis : axes_) {
      const std::vector<std::size_t> points = shape("dimensions/" + axis);
      expect(points.size() == 1, "axes of dimensions/" + axis);
      points_.push_back(points.empty() ? 0 : points.back());
      truth("dimensions/" + axis, "sample_varying");
      expect(!truth("dimensions/" + axis, "time_varying"), axis + " varies with time");
    }
  }

  void fields(int order) {
    const std::string group = "t" + std::to_string(order) + "_fields";
    for (const std::string& name : texts(group, "field_names", true)) {
      const std::string path = group + "/" + name;
      std::vector<std::size_t> expected;
      if (truth(path, "sample_varying")) expected.push_back(trajectories_);
      if (truth(path, "time_varying")) expected.push_back(times_);
      const std::vector<bool> varying = truths(path, "dim_varying");
      expect(varying.size() == axes_.size(), path + "@dim_varying has another length");
      for (std::size_t i = 0; i < std::min(varying.size(), points_.size()); ++i)
        if (varying[i]) expected.push_back(points_[i]);
      for (int i = 0; i < order; ++i) expected.push_back(axes_.size());
      expect(shape(path) == expected, "shape of " + path);
    }
  }

  void scalars() {
    for (const std::string& name : texts("scalars", "field_names", true)) {
      const std::string path = "scalars/" + name;
      std::vector<std::size_t> expected;
      if (truth(path, "sample_varying")) expected.push_back(trajectories_);
      if (truth(path, "time_varying")) expected.push_back(times_);
      expect(shape(path) == expected, "shape of " + path);
    }
  }

  void boundaries() {
    if (!exists("boundary_conditions")) return expect(false, "no boundary_conditions");
    for (const std::string& axis : axes_) {
      const std::string path = "boundary_conditions/" + axis + "_periodic";
      expect(texts(path, "associated_dims", true) == std::vector{axis}, path + "@associated_dims");
      texts(path, "associated_fields", true);
      const std::vector<std::string> kind = texts(path, "bc_type", false);
      expect(kind == std::vector<std::string>{"periodic"}, path + "@bc_type");
      expect(!truth(path, "sample_varying") && !truth(path, "time_varying"), path + " varies");
      const auto at = std::find(axes_.begin(), axes_.end(), axis) - axes_.begin();
      expect(shape(path + "/mask", false) ==
                 std::vector<std::size_t>{points_[static_cast<std::size_t>(at)]},
             "shape of " + path + "/mask");
    }
  }

  hid_t file_;
  std::vector<std::string> complaints_;
  std::size_t trajectories_ = 0, times_ = 0;
  std::vector<std::string> axes_;
  std::vector<std::size_t> points_;
};

}  // namespace stap::test
