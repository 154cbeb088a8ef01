#include "stap/data/trajectory_file.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/hdf5_output.h"
#include "stap/core/error.h"

namespace stap {

using h5::Handle;

namespace {

// Attributes, row ends and HDF5's own tables, per file and per row.
constexpr std::size_t kOverheadPerFile = 1 << 16, kOverheadPerRow = 256;

std::size_t bytes_of(const h5::Output& output, const Grid& grid, std::size_t rows,
                     std::size_t steps) {
  std::size_t per_row = sizeof(double) * grid.values(), bytes = 0;
  if (__builtin_mul_overflow(per_row, steps + 1, &per_row) ||
      __builtin_add_overflow(per_row, kOverheadPerRow, &per_row) ||
      __builtin_mul_overflow(per_row, rows, &bytes) ||
      __builtin_add_overflow(bytes, kOverheadPerFile, &bytes) ||
      bytes > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()))
    output.fail(fmt::format("{} trajectories of {} steps are too large for a file", rows, steps));
  return bytes;
}

}  // namespace

struct TrajectoryWriter::File {
  File(std::filesystem::path target, const Grid& of_grid, std::size_t n_rows, std::size_t n_steps)
      : output(std::move(target)), grid(of_grid), rows(n_rows), steps(n_steps) {}

  h5::Output output;  // outlives the handle below
  Grid grid;
  std::size_t rows, steps;
  Handle trajectory;

  // A dataset with one value per row; `values` are of the memory type.
  void column(const char* name, hid_t file_type, hid_t memory_type, const void* values,
              const char* meaning = nullptr) const {
    Handle dataset =
        output.dataset(name, file_type, output.space({rows}), output.dataset_creation());
    output.check(H5Dwrite(dataset.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    if (meaning != nullptr) output.attribute(dataset.get(), "meaning", std::string(meaning));
    output.close(dataset);
  }
};

TrajectoryWriter::TrajectoryWriter(std::filesystem::path path, const Grid& grid, std::size_t rows,
                                   std::size_t steps, const TrajectoryInfo& info) {
  const h5::Quiet quiet;  // before the file: closing it may fail, too
  auto file = std::make_unique<File>(std::move(path), grid, rows, steps);
  const h5::Output& output = file->output;
  output.check_room(bytes_of(output, grid, rows, steps));
  file->output.create();
  const auto& [names, values] = info.parameters;
  output.attribute(output.file(), "format",
                   std::string(names.empty() ? "trajectories/1" : "trajectories/2"));
  output.attribute(output.file(), "pde", info.pde);
  output.attribute(output.file(), "options", info.options);
  output.describe({info.pde, grid, info.dt});

  if (!names.empty()) {
    output.attribute(output.file(), kParameterNames, fmt::format("{}", fmt::join(names, ",")));
    Handle dataset = output.dataset(kParameters, H5T_IEEE_F64LE,
                                    output.space(std::vector<hsize_t>{rows, names.size()}),
                                    output.dataset_creation());
    output.check(
        H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
    output.close(dataset);
  }

  std::vector<hsize_t> shape{rows, steps + 1, grid.channels};
  shape.insert(shape.end(), grid.points.begin(), grid.points.end());
  const Handle creation = output.dataset_creation();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  output.check(H5Pset_fill_value(creation.get(), H5T_NATIVE_DOUBLE, &nan));
  // Written out in full now: a disk that is too small shows before the computing, not after it.
  output.check(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY));
  file->trajectory = output.dataset("trajectory", H5T_IEEE_F64LE, output.space(shape), creation);
  output.check(H5Fflush(output.file(), H5F_SCOPE_LOCAL));
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
  const Handle where(f.output.check(H5Dget_space(f.trajectory.get())), H5Sclose);
  f.output.check(H5Sselect_hyperslab(where.get(), H5S_SELECT_SET, start.data(), nullptr,
                                     count.data(), nullptr));
  const Handle memory = f.output.space(count);
  f.output.check(H5Dwrite(f.trajectory.get(), H5T_NATIVE_DOUBLE, memory.get(), where.get(),
                          H5P_DEFAULT, states.values));
}

void TrajectoryWriter::commit(std::span<const RowEnd> ends) {
  File& f = *file_;
  if (ends.size() != f.rows)
    throw Error(ErrorKind::internal,
                fmt::format("{} row ends for a file of {} rows", ends.size(), f.rows));
  const h5::Quiet quiet;
  std::vector<std::int8_t> status;
  std::vector<std::int64_t> failed_step;
  std::size_t longest = 1;
  for (const RowEnd& end : ends) {
    status.push_back(static_cast<std::int8_t>(end.status));
    failed_step.push_back(end.failed_step);
    longest = std::max(longest, end.reason.size());
  }
  std::string reasons;  // all of the same length
  for (const RowEnd& end : ends) {
    reasons += end.reason;
    reasons.resize(reasons.size() + longest - end.reason.size(), '\0');
  }
  const Handle text = f.output.text_type(longest);
  f.column("status", H5T_STD_I8LE, H5T_NATIVE_INT8, status.data(), "0 ok, 1 refused, 2 failed");
  f.column("reason", text.get(), text.get(), reasons.data());
  f.column("failed_step", H5T_STD_I64LE, H5T_NATIVE_INT64, failed_step.data());
  f.output.close(f.trajectory);
  f.output.commit();
}

}  // namespace stap
