#include "stap/data/well_file.h"

#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/hdf5_output.h"
#include "stap/core/error.h"
#include "stap/core/states.h"
#include "stap/data/store.h"

namespace stap {

using h5::Handle;

namespace {

constexpr const char* kAxes[] = {"x", "y"};
// HDF5's own tables and our attributes.
constexpr std::uintmax_t kOverheadOfWell = 1 << 17;

// A truth as h5py has it.
Handle truth_type(const h5::Output& output) {
  Handle type(output.check(H5Tenum_create(H5T_STD_I8LE)), H5Tclose);
  for (const std::int8_t value : {std::int8_t{0}, std::int8_t{1}})
    output.check(H5Tenum_insert(type.get(), value == 0 ? "FALSE" : "TRUE", &value));
  return type;
}

// A text as h5py has it: of any length.
Handle str_type(const h5::Output& output) {
  Handle type(output.check(H5Tcopy(H5T_C_S1)), H5Tclose);
  output.check(H5Tset_size(type.get(), H5T_VARIABLE));
  output.check(H5Tset_cset(type.get(), H5T_CSET_UTF8));
  return type;
}

void attribute(const h5::Output& output, const Handle& object, const char* name, hid_t type,
               const Handle& space, const void* values) {
  const Handle attribute(
      output.check(H5Acreate2(object.get(), name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT)),
      H5Aclose);
  output.check(H5Awrite(attribute.get(), type, values));
}

void truth(const h5::Output& output, const Handle& object, const char* name, bool value) {
  const std::int8_t stored = value ? 1 : 0;
  attribute(output, object, name, truth_type(output).get(), output.space({}), &stored);
}

void truths(const h5::Output& output, const Handle& object, const char* name,
            const std::vector<std::int8_t>& values) {
  attribute(output, object, name, truth_type(output).get(), output.space({values.size()}),
            values.data());
}

void text(const h5::Output& output, const Handle& object, const char* name,
          const std::string& value) {
  const char* stored = value.c_str();
  attribute(output, object, name, str_type(output).get(), output.space({}), &stored);
}

void texts(const h5::Output& output, const Handle& object, const char* name,
           const std::vector<std::string>& values) {
  std::vector<const char*> stored;
  for (const std::string& value : values) stored.push_back(value.c_str());
  stored.push_back(nullptr);  // so that there is a place to point at
  attribute(output, object, name, str_type(output).get(), output.space({values.size()}),
            stored.data());
}

Handle group(const h5::Output& output, const std::string& name) {
  const Handle creation(output.check(H5Pcreate(H5P_GROUP_CREATE)), H5Pclose);
  output.check(H5Pset_obj_track_times(creation.get(), false));
  return Handle(output.check(H5Gcreate2(output.file(), name.c_str(), H5P_DEFAULT, creation.get(),
                                        H5P_DEFAULT)),
                H5Gclose);
}

Handle values(const h5::Output& output, const std::string& name, const std::vector<hsize_t>& shape,
              std::span<const double> from) {
  std::vector<float> single(from.size());
  convert(from, single);
  Handle dataset =
      output.dataset(name, H5T_IEEE_F32LE, output.space(shape), output.dataset_creation());
  output.check(
      H5Dwrite(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, single.data()));
  return dataset;
}

}  // namespace

struct WellWriter::File {
  File(std::filesystem::path path, const WellInfo& of) : output(std::move(path)), info(of) {}

  h5::Output output;  // outlives the handles below
  WellInfo info;
  std::vector<Handle> fields;
  std::vector<std::string> scalars;

  void varying(const Handle& object, bool by_trajectory, bool by_time) const {
    truth(output, object, "sample_varying", by_trajectory);
    truth(output, object, "time_varying", by_time);
  }

  void write_root() const {
    const Handle root(output.check(H5Gopen2(output.file(), "/", H5P_DEFAULT)), H5Gclose);
    std::vector<std::string> names;
    for (const Parameter& parameter : info.parameters) {
      output.attribute(root.get(), parameter.name.c_str(), parameter.value);
      names.push_back(parameter.name);
    }
    texts(output, root, "simulation_parameters", names);
    if (!info.varied.empty())
      text(output, root, kParameterNames, fmt::format("{}", fmt::join(info.varied, ",")));
    text(output, root, "dataset_name", info.name);
    text(output, root, "grid_type", "cartesian");
    const auto whole = [&](const char* name, std::size_t number) {
      const auto stored = static_cast<std::int64_t>(number);
      attribute(output, root, name, H5T_NATIVE_INT64, output.space({}), &stored);
    };
    whole("n_spatial_dims", info.grid.axes());
    whole("n_trajectories", info.trajectories);
  }

  void write_dimensions() const {
    const Handle dimensions = group(output, "dimensions");
    texts(output, dimensions, "spatial_dims",
          std::vector<std::string>(kAxes, kAxes + info.grid.axes()));
    Handle time = values(output, "dimensions/time", {info.times.size()}, info.times);
    truth(output, time, "sample_varying", false);
    output.close(time);
    for (std::size_t axis = 0; axis < info.grid.axes(); ++axis) {
      std::vector<double> places;
      for (std::size_t i = 0; i < info.grid.points[axis]; ++i)
        places.push_back(
            (static_cast<double>(i) + (info.grid.end(axis) == Boundary::centres ? 0.5 : 0.0)) *
            info.grid.spacing(axis));
      Handle coordinate =
          values(output, fmt::format("dimensions/{}", kAxes[axis]), {places.size()}, places);
      varying(coordinate, false, false);
      output.close(coordinate);
    }
  }

  void write_boundaries() const {
    group(output, "boundary_conditions");
    for (std::size_t axis = 0; axis < info.grid.axes(); ++axis) {
      const std::string type = info.grid.end(axis) == Boundary::periodic ? "periodic" : "wall";
      const std::string name = fmt::format("boundary_conditions/{}_{}", kAxes[axis], type);
      const Handle boundary = group(output, name);
      texts(output, boundary, "associated_dims", {kAxes[axis]});
      texts(output, boundary, "associated_fields", {});
      text(output, boundary, "bc_type", type);
      varying(boundary, false, false);
      std::vector<std::int8_t> mask(info.grid.points[axis], 0);
      mask.front() = mask.back() = 1;
      const Handle stored = truth_type(output);
      Handle dataset = output.dataset(name + "/mask", stored.get(), output.space({mask.size()}),
                                      output.dataset_creation());
      output.check(
          H5Dwrite(dataset.get(), stored.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, mask.data()));
      output.close(dataset);
    }
  }

  std::vector<hsize_t> field_shape(std::size_t trajectories) const {
    std::vector<hsize_t> shape{trajectories, info.times.size()};
    shape.insert(shape.end(), info.grid.points.begin(), info.grid.points.end());
    return shape;
  }

  void create_fields() {
    const Handle creation = output.dataset_creation();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    output.check(H5Pset_fill_value(creation.get(), H5T_NATIVE_FLOAT, &nan));
    texts(output, group(output, "t0_fields"), "field_names", info.channels);
    for (const char* none : {"t1_fields", "t2_fields"})
      texts(output, group(output, none), "field_names", {});
    for (const std::string& name : info.channels) {
      fields.push_back(output.dataset("t0_fields/" + name, H5T_IEEE_F32LE,
                                      output.space(field_shape(info.trajectories)), creation));
      varying(fields.back(), true, true);
      truths(output, fields.back(), "dim_varying", std::vector<std::int8_t>(info.grid.axes(), 1));
    }
  }

  void write_parameters() {
    group(output, "scalars");
    for (const Parameter& parameter : info.parameters) {
      Handle dataset = values(output, "scalars/" + parameter.name, {}, {&parameter.value, 1});
      varying(dataset, false, false);
      output.close(dataset);
      scalars.push_back(parameter.name);
    }
  }
};

WellWriter::WellWriter(std::filesystem::path path, const WellInfo& info) {
  const h5::Quiet quiet;  // before the file: closing it may fail, too
  auto file = std::make_unique<File>(std::move(path), info);
  std::uintmax_t bytes = sizeof(float) * info.grid.values();
  if (__builtin_mul_overflow(bytes, info.times.size(), &bytes) ||
      __builtin_mul_overflow(bytes, info.trajectories, &bytes) ||
      bytes >
          static_cast<std::uintmax_t>(std::numeric_limits<std::int64_t>::max()) - kOverheadOfWell)
    file->output.fail(fmt::format("{} trajectories are too large for a file", info.trajectories));
  file->output.check_room(bytes + kOverheadOfWell);
  file->output.create();
  file->write_root();
  file->write_dimensions();
  file->write_boundaries();
  file->create_fields();
  file->write_parameters();
  file_ = std::move(file);
}

WellWriter::~WellWriter() {
  const h5::Quiet quiet;
  file_.reset();
}

void WellWriter::put(std::size_t trajectory, std::span<const double> states) {
  const File& f = *file_;
  const std::size_t points = f.info.grid.points_total(), channels = f.info.grid.channels;
  const std::size_t times = f.info.times.size();
  if (trajectory >= f.info.trajectories || states.size() != times * channels * points)
    throw Error(ErrorKind::internal, fmt::format("trajectory {} of {} values put into a file of {}",
                                                 trajectory, states.size(), f.info.trajectories));
  const h5::Quiet quiet;
  const std::vector<hsize_t> count = f.field_shape(1);
  std::vector<hsize_t> start(count.size(), 0);
  start[0] = trajectory;
  const Handle memory = f.output.space(count);
  std::vector<float> field(times * points);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t t = 0; t < times; ++t)
      convert(states.subspan((t * channels + c) * points, points),
              std::span(field).subspan(t * points, points));
    const Handle where(f.output.check(H5Dget_space(f.fields[c].get())), H5Sclose);
    f.output.check(H5Sselect_hyperslab(where.get(), H5S_SELECT_SET, start.data(), nullptr,
                                       count.data(), nullptr));
    f.output.check(H5Dwrite(f.fields[c].get(), H5T_NATIVE_FLOAT, memory.get(), where.get(),
                            H5P_DEFAULT, field.data()));
  }
}

void WellWriter::add_scalar(const std::string& name, bool by_time,
                            std::span<const double> numbers) {
  File& f = *file_;
  std::vector<hsize_t> shape{f.info.trajectories};
  if (by_time) shape.push_back(f.info.times.size());
  if (numbers.size() != shape[0] * (by_time ? shape[1] : 1))
    throw Error(ErrorKind::internal, fmt::format("{} values of '{}' for {} trajectories",
                                                 numbers.size(), name, f.info.trajectories));
  const h5::Quiet quiet;
  Handle dataset = values(f.output, "scalars/" + name, shape, numbers);
  f.varying(dataset, true, by_time);
  f.output.close(dataset);
  f.scalars.push_back(name);
}

void WellWriter::commit() {
  File& f = *file_;
  const h5::Quiet quiet;
  {
    const Handle group(f.output.check(H5Gopen2(f.output.file(), "scalars", H5P_DEFAULT)), H5Gclose);
    texts(f.output, group, "field_names", f.scalars);
  }
  for (Handle& field : f.fields) f.output.close(field);
  f.output.commit();
}

}  // namespace stap
