#include "stap/data/array_file.h"

#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "data/hdf5_output.h"
#include "stap/core/error.h"

namespace stap {

using h5::Handle;

// Not in the unnamed namespace: ArrayWriter::Content, which is in none, holds them.
struct NamedArray {
  std::string name;
  std::vector<std::size_t> shape;
  std::size_t values = 0;
  std::function<std::span<const double>()> next;  // the next piece, whole rows of the first axis
};

// Anything but doubles, all of it in memory.
struct NamedValues {
  std::string name;
  std::vector<std::size_t> shape;
  hid_t file_type, memory_type;
  std::span<const std::byte> values;
};

namespace {

// HDF5's own tables, for the file and for each of its objects.
constexpr std::uintmax_t kOverhead = 1 << 14, kOverheadPerObject = 1 << 10;

std::size_t values_of(const std::vector<std::size_t>& shape) {
  std::size_t values = 1;
  for (std::size_t size : shape) values *= size;
  return values;
}

void check_size(const std::string& name, const std::vector<std::size_t>& shape,
                std::size_t values) {
  if (values_of(shape) != values)
    throw Error(ErrorKind::internal, fmt::format("{} values for an array '{}' of shape {}", values,
                                                 name, shape_text(shape)));
}

// Writes an array piece by piece.
void write_pieces(const h5::Output& output, const Handle& dataset, const NamedArray& array) {
  const std::vector<hsize_t> shape(array.shape.begin(), array.shape.end());
  const std::size_t row = array.values / array.shape[0];
  for (std::size_t first = 0; first < array.shape[0];) {
    const std::span<const double> piece = array.next();
    const std::size_t rows = piece.size() / row;
    if (rows == 0 || rows * row != piece.size() || rows > array.shape[0] - first)
      throw Error(ErrorKind::internal,
                  fmt::format("a piece of {} values at row {} of an array '{}' of shape {}",
                              piece.size(), first, array.name, shape_text(array.shape)));
    std::vector<hsize_t> start(shape.size(), 0), count = shape;
    start[0] = first;
    count[0] = rows;
    const Handle memory = output.space(count), where = output.space(shape);
    output.check(H5Sselect_hyperslab(where.get(), H5S_SELECT_SET, start.data(), nullptr,
                                     count.data(), nullptr));
    output.check(H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, memory.get(), where.get(), H5P_DEFAULT,
                          piece.data()));
    first += rows;
  }
}

}  // namespace

struct ArrayWriter::Content {
  explicit Content(std::filesystem::path path) : output(std::move(path)) {}

  h5::Output output;
  std::vector<NamedArray> arrays;
  std::vector<NamedValues> others;
  std::optional<StateInfo> info;
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<std::pair<std::string, double>> numbers;

  std::uintmax_t bytes() const {
    std::uintmax_t sum = kOverhead;
    for (const NamedArray& array : arrays)
      sum += array.values * sizeof(double) + kOverheadPerObject;
    for (const NamedValues& array : others) sum += array.values.size() + kOverheadPerObject;
    for (const auto& [name, text] : texts) sum += name.size() + text.size() + kOverheadPerObject;
    return sum + numbers.size() * kOverheadPerObject;
  }
};

ArrayWriter::ArrayWriter(std::filesystem::path path)
    : content_(std::make_unique<Content>(std::move(path))) {}

ArrayWriter::~ArrayWriter() {
  const h5::Quiet quiet;
  content_.reset();
}

void ArrayWriter::check_room(std::size_t values) const {
  constexpr auto most =
      static_cast<std::uintmax_t>(std::numeric_limits<std::int64_t>::max()) - kOverhead;
  if (values > most / sizeof(double))
    content_->output.fail(fmt::format("{} values are too large for a file", values));
  content_->output.check_room(values * sizeof(double) + kOverhead);
}

void ArrayWriter::add(std::string name, std::vector<std::size_t> shape,
                      std::span<const double> values) {
  check_size(name, shape, values.size());
  content_->arrays.push_back(
      {std::move(name), std::move(shape), values.size(), [values] { return values; }});
}

void ArrayWriter::add_bytes(std::string name, std::vector<std::size_t> shape,
                            std::span<const std::uint8_t> values) {
  check_size(name, shape, values.size());
  content_->others.push_back(
      {std::move(name), std::move(shape), H5T_STD_U8LE, H5T_NATIVE_UINT8, std::as_bytes(values)});
}

void ArrayWriter::add_integers(std::string name, std::vector<std::size_t> shape,
                               std::span<const std::int64_t> values) {
  check_size(name, shape, values.size());
  content_->others.push_back(
      {std::move(name), std::move(shape), H5T_STD_I64LE, H5T_NATIVE_INT64, std::as_bytes(values)});
}

void ArrayWriter::describe(StateInfo info) {
  content_->info = std::move(info);
}

void ArrayWriter::add_pieces(std::string name, std::vector<std::size_t> shape,
                             std::function<std::span<const double>()> next) {
  const std::size_t values = values_of(shape);
  if (shape.empty() || values == 0)
    throw Error(ErrorKind::internal,
                fmt::format("an array '{}' of shape {} in pieces", name, shape_text(shape)));
  content_->arrays.push_back({std::move(name), std::move(shape), values, std::move(next)});
}

void ArrayWriter::add_text_attribute(std::string name, std::string text) {
  content_->texts.emplace_back(std::move(name), std::move(text));
}

void ArrayWriter::add_attribute(std::string name, double number) {
  content_->numbers.emplace_back(std::move(name), number);
}

void ArrayWriter::commit(bool forced) {
  const h5::Quiet quiet;
  h5::Output& output = content_->output;
  output.check_room(content_->bytes());
  output.create();
  for (const auto& [name, text] : content_->texts)
    output.attribute(output.file(), name.c_str(), text);
  for (const auto& [name, number] : content_->numbers)
    output.attribute(output.file(), name.c_str(), number);
  if (content_->info) output.describe(*content_->info);
  for (const NamedArray& array : content_->arrays) {
    const Handle space = output.space(std::vector<hsize_t>(array.shape.begin(), array.shape.end()));
    Handle dataset = output.dataset(array.name, H5T_IEEE_F64LE, space, output.dataset_creation());
    if (array.shape.empty() || array.values == 0)
      output.check(H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                            array.next().data()));
    else
      write_pieces(output, dataset, array);
    output.close(dataset);
  }
  for (const NamedValues& array : content_->others) {
    const Handle space = output.space(std::vector<hsize_t>(array.shape.begin(), array.shape.end()));
    Handle dataset = output.dataset(array.name, array.file_type, space, output.dataset_creation());
    output.check(H5Dwrite(dataset.get(), array.memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                          array.values.data()));
    output.close(dataset);
  }
  output.commit(forced);
}

}  // namespace stap
