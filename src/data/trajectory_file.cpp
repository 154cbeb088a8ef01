#include "stap/data/trajectory_file.h"

#include <limits>
#include <vector>

#include <fmt/format.h>

#include "core/pending_file.h"
#include "data/hdf5.h"
#include "stap/core/error.h"

namespace stap {

using h5::Handle;

namespace {

// Attributes, row ends and HDF5's own tables, per file and per row.
constexpr std::size_t kOverheadPerFile = 1 << 16, kOverheadPerRow = 256;

std::size_t bytes_of(const PendingFile& file, const Grid& grid, std::size_t rows,
                     std::size_t steps) {
  std::size_t per_row = sizeof(double) * grid.values(), bytes = 0;
  if (__builtin_mul_overflow(per_row, steps + 1, &per_row) ||
      __builtin_add_overflow(per_row, kOverheadPerRow, &per_row) ||
      __builtin_mul_overflow(per_row, rows, &bytes) ||
      __builtin_add_overflow(bytes, kOverheadPerFile, &bytes) ||
      bytes > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()))
    throw Error(ErrorKind::storage,
                fmt::format("cannot write {}: {} trajectories of {} steps are too large for a file",
                            file.target().string(), rows, steps));
  return bytes;
}

}  // namespace

struct TrajectoryWriter::File {
  File(std::filesystem::path target, const Grid& of_grid, std::size_t n_rows, std::size_t n_steps)
      : pending(std::move(target)), grid(of_grid), rows(n_rows), steps(n_steps) {}

  PendingFile pending;  // outlives the HDF5 handles: they are closed first
  Grid grid;
  std::size_t rows, steps;
  Handle file;
  Handle trajectory;

  // Every HDF5 call passes through here; a negative value is its way to say no.
  template <class Result>
  Result check(Result result) const {
    if (result < 0)
      throw Error(ErrorKind::storage,
                  fmt::format("cannot write {}: {}", pending.target().string(), h5::last_error()));
    return result;
  }

  Handle text_type() const {
    Handle type(check(H5Tcopy(H5T_C_S1)), H5Tclose);
    check(H5Tset_size(type.get(), H5T_VARIABLE));
    check(H5Tset_cset(type.get(), H5T_CSET_UTF8));
    return type;
  }
  Handle scalar() const { return Handle(check(H5Screate(H5S_SCALAR)), H5Sclose); }
  Handle space(const std::vector<hsize_t>& shape) const {
    return Handle(check(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr)),
                  H5Sclose);
  }

  void attribute(hid_t object, const char* name, const std::string& text) const {
    const Handle type = text_type(), one = scalar();
    const Handle attribute(
        check(H5Acreate2(object, name, type.get(), one.get(), H5P_DEFAULT, H5P_DEFAULT)), H5Aclose);
    const char* const pointer = text.c_str();
    check(H5Awrite(attribute.get(), type.get(), &pointer));
  }
  void attribute(hid_t object, const char* name, double number) const {
    const Handle one = scalar();
    const Handle attribute(
        check(H5Acreate2(object, name, H5T_IEEE_F64LE, one.get(), H5P_DEFAULT, H5P_DEFAULT)),
        H5Aclose);
    check(H5Awrite(attribute.get(), H5T_NATIVE_DOUBLE, &number));
  }
  // A dataset with one value per row; `values` are of the memory type.
  Handle column(const char* name, hid_t file_type, hid_t memory_type, const void* values) const {
    const Handle all = space({rows});
    Handle dataset(check(H5Dcreate2(file.get(), name, file_type, all.get(), H5P_DEFAULT,
                                    H5P_DEFAULT, H5P_DEFAULT)),
                   H5Dclose);
    check(H5Dwrite(dataset.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    return dataset;
  }
};

TrajectoryWriter::TrajectoryWriter(std::filesystem::path path, const Grid& grid, std::size_t rows,
                                   std::size_t steps, const TrajectoryInfo& info) {
  const h5::Quiet quiet;  // before the file: closing it may fail, too
  auto file = std::make_unique<File>(std::move(path), grid, rows, steps);
  File& f = *file;
  // Asked before HDF5 is: 1.10 may crash at exit if it could not write all of a file.
  f.pending.check_room(bytes_of(f.pending, grid, rows, steps));
  f.file = Handle(
      f.check(H5Fcreate(f.pending.temporary().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)),
      H5Fclose);
  f.attribute(f.file.get(), "format", "trajectories/1");
  f.attribute(f.file.get(), "pde", info.pde);
  f.attribute(f.file.get(), "dt", info.dt);
  f.attribute(f.file.get(), "options", info.options);

  std::vector<hsize_t> shape{rows, steps + 1, grid.channels};
  shape.insert(shape.end(), grid.points.begin(), grid.points.end());
  const Handle space = f.space(shape);
  const Handle creation(f.check(H5Pcreate(H5P_DATASET_CREATE)), H5Pclose);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  f.check(H5Pset_fill_value(creation.get(), H5T_NATIVE_DOUBLE, &nan));
  // Written out in full now: a disk that is too small shows before the computing, not after it.
  f.check(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY));
  f.trajectory = Handle(f.check(H5Dcreate2(f.file.get(), "trajectory", H5T_IEEE_F64LE, space.get(),
                                           H5P_DEFAULT, creation.get(), H5P_DEFAULT)),
                        H5Dclose);
  f.check(H5Fflush(f.file.get(), H5F_SCOPE_LOCAL));
  file_ = std::move(file);
}

TrajectoryWriter::~TrajectoryWriter() {
  const h5::Quiet quiet;
  file_.reset();
}

void TrajectoryWriter::put(std::size_t time, StatesView<const double> states) {
  const File& f = *file_;
  if (time > f.steps || states.count != f.rows || states.row_size != f.grid.values())
    throw Error(
        ErrorKind::internal,
        fmt::format("time {} with {} states of {} values put into a file of {} times, {} "
                    "rows and {} values",
                    time, states.count, states.row_size, f.steps + 1, f.rows, f.grid.values()));
  const h5::Quiet quiet;
  std::vector<hsize_t> count{f.rows, 1, f.grid.channels};
  count.insert(count.end(), f.grid.points.begin(), f.grid.points.end());
  std::vector<hsize_t> start(count.size(), 0);
  start[1] = time;
  const Handle where(f.check(H5Dget_space(f.trajectory.get())), H5Sclose);
  f.check(H5Sselect_hyperslab(where.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                              nullptr));
  const Handle memory = f.space(count);
  f.check(H5Dwrite(f.trajectory.get(), H5T_NATIVE_DOUBLE, memory.get(), where.get(), H5P_DEFAULT,
                   states.values));
}

void TrajectoryWriter::commit(std::span<const RowEnd> ends) {
  File& f = *file_;
  if (ends.size() != f.rows)
    throw Error(ErrorKind::internal,
                fmt::format("{} row ends for a file of {} rows", ends.size(), f.rows));
  const h5::Quiet quiet;
  std::vector<std::int8_t> status;
  std::vector<const char*> reason;
  std::vector<std::int64_t> failed_step;
  for (const RowEnd& end : ends) {
    status.push_back(static_cast<std::int8_t>(end.status));
    reason.push_back(end.reason.c_str());
    failed_step.push_back(end.failed_step);
  }
  const Handle text = f.text_type();
  const Handle codes = f.column("status", H5T_STD_I8LE, H5T_NATIVE_INT8, status.data());
  f.attribute(codes.get(), "meaning", "0 ok, 1 refused, 2 failed");
  f.column("reason", text.get(), text.get(), reason.data());
  f.column("failed_step", H5T_STD_I64LE, H5T_NATIVE_INT64, failed_step.data());
  f.check(H5Fflush(f.file.get(), H5F_SCOPE_LOCAL));
  f.trajectory.close();
  if (!f.file.close()) f.check(-1);
  f.pending.commit();
}

}  // namespace stap
