#include "data/import_layout.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/sizes.h"
#include "stap/core/error.h"

namespace stap::foreign {

namespace fs = std::filesystem;

void fail(const fs::path& file, const std::string& why) {
  throw Error(ErrorKind::data, fmt::format("{}: {}", file.string(), why));
}

std::size_t size_of(char axis, std::string_view axes, std::span<const std::size_t> shape) {
  std::size_t size = 1;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] == axis) size *= shape[i];
  return size;
}

std::size_t Target::values() const {
  std::size_t values = times * channels;
  for (std::size_t n : points) values *= n;
  return values;
}

void gather(const Array<double>& array, std::string_view axes, std::size_t trajectory,
            std::size_t count, const Target& to, std::size_t first, std::span<double> states) {
  // How far apart neighbours of an axis are; 0 where there is no such axis. Axes of channels are
  // the last ones, so that they are one.
  const auto step_of = [&](char axis) {
    std::size_t step = 1;
    for (std::size_t i = axes.size(); i-- > 0; step *= array.shape[i])
      if (axes[i] == axis) return step;
    return std::size_t{0};
  };
  const std::size_t b = step_of('b'), t = step_of('t'), c = step_of('c'), x = step_of('x'),
                    y = step_of('y');
  const std::size_t channels = size_of('c', axes, array.shape);
  const std::size_t nx = to.points[0], ny = to.points.size() > 1 ? to.points[1] : 1;
  for (std::size_t row = 0; row < count * to.times; ++row) {
    const std::size_t one = row / to.times, time = row % to.times * to.stride;
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const double* from = array.values.data() + (trajectory + one) * b + time * t + channel * c;
      double* into = states.data() + (row * to.channels + first + channel) * nx * ny;
      for (std::size_t i = 0; i < nx; ++i)
        for (std::size_t j = 0; j < ny; ++j) *into++ = from[i * x + j * y];
    }
  }
}

double spacing(const fs::path& file, const std::string& dataset, std::size_t count) {
  const Array<double> array = read_array(file, dataset);
  // One line for each trajectory may be there; the first is as good as any.
  const std::size_t there = array.shape.empty() ? 1 : array.shape.back();
  if (there != count && there != count + 1)
    fail(file,
         fmt::format("'{}' has {} entries, expected {} as the fields have", dataset, there, count));
  if (count < 2) return 0.0;
  const std::span<const double> places = std::span(array.values).first(count);
  const double mean = (places.back() - places.front()) / static_cast<double>(count - 1);
  // Single precision may be all they have.
  const double largest = std::max(std::abs(places.front()), std::abs(places.back()));
  const double tolerance =
      1e-3 * std::abs(mean) + 4.0 * double{std::numeric_limits<float>::epsilon()} * largest;
  for (std::size_t i = 1; i < count; ++i)
    if (!(std::abs(places[i] - places[i - 1] - mean) <= tolerance))
      fail(file, fmt::format("'{}' goes from {:g} to {:g} and by {:g} elsewhere: expected the same "
                             "interval everywhere",
                             dataset, places[i - 1], places[i], mean));
  if (!(mean > 0) || !std::isfinite(mean)) fail(file, fmt::format("'{}' does not grow", dataset));
  return mean;
}

std::vector<Field> chosen(const fs::path& file, std::vector<Field> there,
                          const std::vector<std::string>& names) {
  if (names.empty()) return there;
  const auto name_of = [](const Field& field) {
    return field.dataset.substr(field.dataset.rfind('/') + 1);
  };
  std::vector<Field> fields;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(there, name, name_of);
    if (found == there.end()) {
      std::vector<std::string> known;
      for (const Field& field : there) known.push_back(name_of(field));
      throw Error(ErrorKind::config, fmt::format("{} has no field '{}' that varies; it has: {}",
                                                 file.string(), name, fmt::join(known, ", ")));
    }
    fields.push_back(*found);
  }
  return fields;
}

void read_by(const fs::path& file, const std::vector<Field>& fields, const ImportOptions& options,
             ForeignData& data) {
  std::size_t times = 0, chunk = 1, chunks_each = 1, values = 0;
  for (const Field& field : fields) {
    const std::vector<std::size_t> shape = read_shape(file, field.dataset);
    const auto is = [&](char axis) { return size_of(axis, field.axes, shape); };
    if (shape.size() != field.axes.size() || is('x') != data.points[0] ||
        (data.points.size() > 1 && is('y') != data.points[1]) || is('c') != field.channels.size())
      fail(file, fmt::format("'{}' has shape {}, expected axes {} on {} points", field.dataset,
                             shape_text(shape), field.axes, shape_text(data.points)));
    if (data.channels.empty()) {
      data.trajectories = is('b');
      times = is('t');
    } else if (is('b') != data.trajectories || is('t') != times) {
      fail(file,
           fmt::format("'{}' has shape {}, but '{}' has {} trajectories of {} times", field.dataset,
                       shape_text(shape), fields[0].dataset, data.trajectories, times));
    }
    data.channels.insert(data.channels.end(), field.channels.begin(), field.channels.end());
    const std::vector<std::size_t> chunks = read_chunks(file, field.dataset);
    if (!chunks.empty()) chunk = std::max(chunk, chunks[0]);
    std::size_t each = 1;
    for (std::size_t axis = 1; axis < chunks.size(); ++axis)
      each = product_of({each, (shape[axis] + chunks[axis] - 1) / chunks[axis]});
    chunks_each = std::max(chunks_each, each);
    values += is('t') * is('c') * is('x') * is('y');
  }
  data.times = strided(times, options.time_stride);
  data.block = block_of(values, std::min(chunk, data.trajectories), chunks_each);
  const Target target{data.times, options.time_stride, data.channels.size(), data.points};
  data.read = [file, fields, target](std::size_t first, std::size_t count) {
    std::vector<double> states(count * target.values());
    std::size_t channel = 0;
    for (const Field& field : fields) {
      gather(read_rows(file, field.dataset, first, count), field.axes, 0, count, target, channel,
             states);
      channel += field.channels.size();
    }
    return states;
  };
}

std::size_t block_of(std::size_t values, std::size_t rows_of_chunk, std::size_t chunks_each) {
  constexpr std::size_t kUsual = std::size_t{1} << 21, kMost = std::size_t{1} << 25;
  constexpr std::size_t kChunks = 4096;  // HDF5 takes several kB for each that it reads at once
  const std::size_t one = std::max<std::size_t>(values, 1);
  const std::size_t chunk = std::max<std::size_t>(rows_of_chunk, 1);
  const std::size_t layers = kChunks / std::clamp<std::size_t>(chunks_each, 1, kChunks);
  const std::size_t usual = std::min(kUsual / one, product_of({layers, chunk}));
  if (chunk <= usual) return usual / chunk * chunk;
  return std::max<std::size_t>(std::min(chunk, kMost / one), 1);
}

}  // namespace stap::foreign
