#include "stap/data/store.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "data/child_read.h"
#include "data/input.h"
#include "stap/core/error.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using h5::Extent;
using h5::guarded;
using h5::Handle;
using h5::Input;

// Strings of an attribute or dataset, fixed or variable in length; `read` fills a buffer of the
// given memory type.
template <class Read>
std::vector<std::string> read_strings(const Input& input, const Handle& type, const Handle& space,
                                      std::size_t count, const std::string& what, Read read) {
  if (H5Tget_class(type.get()) != H5T_STRING)
    input.fail(fmt::format("{} holds numbers, expected text", what));
  std::vector<std::string> texts(count);
  if (H5Tis_variable_str(type.get()) > 0) {
    input.check_size(count, sizeof(char*), what);
    std::vector<char*> pointers(count, nullptr);
    if (read(type.get(), pointers.data()) < 0) input.damaged(what);
    for (std::size_t i = 0; i < count; ++i)
      if (pointers[i] != nullptr) texts[i] = pointers[i];
    H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, pointers.data());
    return texts;
  }
  const std::size_t width = H5Tget_size(type.get());
  if (width == 0) input.damaged(what);
  input.check_size(count, width, what);
  std::vector<char> bytes(count * width);
  if (read(type.get(), bytes.data()) < 0) input.damaged(what);
  const bool spaces = H5Tget_strpad(type.get()) == H5T_STR_SPACEPAD;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text(bytes.data() + i * width, width);
    text.resize(std::min(text.find('\0'), text.size()));
    if (spaces) text.erase(text.find_last_not_of(' ') + 1);
    texts[i] = std::move(text);
  }
  return texts;
}

// The texts of an attribute; none may be of any type.
Array<std::string> read_attribute_texts(const fs::path& path, const std::string& object,
                                        const std::string& name) {
  const Input input(path);
  const std::string what = fmt::format("attribute '{}' of '{}'", name, object);
  const Handle attribute = input.attribute(object, name);
  const Handle type(H5Aget_type(attribute.get()), H5Tclose);
  const Handle space(H5Aget_space(attribute.get()), H5Sclose);
  Extent extent = input.extent(space, what);
  input.check_size(extent.values, 1, what);
  if (extent.values == 0) return {std::move(extent.shape), {}};
  return {std::move(extent.shape),
          read_strings(input, type, space, extent.values, what, [&](hid_t memory, void* buffer) {
            return H5Aread(attribute.get(), memory, buffer);
          })};
}

}  // namespace

Array<double> read_array(const fs::path& path, const std::string& name) {
  return guarded(path, [&] {
    const Input input(path);
    const std::string what = fmt::format("dataset '{}'", name);
    const Handle dataset = input.dataset(name);
    input.expect_numbers(Handle(H5Dget_type(dataset.get()), H5Tclose), what);
    Extent extent = input.extent(Handle(H5Dget_space(dataset.get()), H5Sclose), what);
    input.check_size(extent.values, sizeof(double), what);
    Array<double> array{std::move(extent.shape), std::vector<double>(extent.values)};
    if (H5Dread(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                array.values.data()) < 0)
      input.damaged(what);
    return array;
  });
}

Array<double> read_foreign_array(const fs::path& path, const std::string& name) {
  return guarded(path, h5::Trust::nobody, [&] { return read_array(path, name); });
}

std::vector<std::size_t> read_shape(const fs::path& path, const std::string& name) {
  return guarded(path, [&] {
    const Input input(path);
    const Handle dataset = input.dataset(name);
    return input
        .extent(Handle(H5Dget_space(dataset.get()), H5Sclose), fmt::format("dataset '{}'", name))
        .shape;
  });
}

Array<double> read_rows(const fs::path& path, const std::string& name, std::size_t first,
                        std::size_t count) {
  return guarded(path, [&] {
    const Input input(path);
    const std::string what = fmt::format("dataset '{}'", name);
    const Handle dataset = input.dataset(name);
    input.expect_numbers(Handle(H5Dget_type(dataset.get()), H5Tclose), what);
    const Handle space(H5Dget_space(dataset.get()), H5Sclose);
    Extent extent = input.extent(space, what);
    if (extent.shape.empty() || first > extent.shape[0] || count > extent.shape[0] - first)
      input.fail(fmt::format("{} has shape {}, expected rows {} to {}", what,
                             shape_text(extent.shape), first, first + count));
    const std::size_t values = extent.shape[0] == 0 ? 0 : extent.values / extent.shape[0] * count;
    input.check_size(values, sizeof(double), what);
    std::vector<hsize_t> start(extent.shape.size(), 0);
    std::vector<hsize_t> counts(extent.shape.begin(), extent.shape.end());
    start[0] = first;
    counts[0] = count;
    extent.shape[0] = count;
    Array<double> array{std::move(extent.shape), std::vector<double>(values)};
    if (values == 0) return array;
    const hsize_t all = values;
    const Handle memory(H5Screate_simple(1, &all, nullptr), H5Sclose);
    if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, counts.data(),
                            nullptr) < 0 ||
        H5Dread(dataset.get(), H5T_NATIVE_DOUBLE, memory.get(), space.get(), H5P_DEFAULT,
                array.values.data()) < 0)
      input.damaged(what);
    return array;
  });
}

Array<std::int64_t> read_integers(const fs::path& path, const std::string& name) {
  return guarded(path, [&] {
    const Input input(path);
    const std::string what = fmt::format("dataset '{}'", name);
    const Handle dataset = input.dataset(name);
    const Handle type(H5Dget_type(dataset.get()), H5Tclose);
    if (H5Tget_class(type.get()) != H5T_INTEGER)
      input.fail(fmt::format("{} does not hold whole numbers", what));
    Extent extent = input.extent(Handle(H5Dget_space(dataset.get()), H5Sclose), what);
    input.check_size(extent.values, sizeof(std::int64_t), what);
    Array<std::int64_t> array{std::move(extent.shape), std::vector<std::int64_t>(extent.values)};
    if (H5Dread(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                array.values.data()) < 0)
      input.damaged(what);
    return array;
  });
}

Array<std::string> read_text(const fs::path& path, const std::string& name) {
  return guarded(path, [&] {
    const Input input(path);
    const std::string what = fmt::format("dataset '{}'", name);
    const Handle dataset = input.dataset(name);
    const Handle type(H5Dget_type(dataset.get()), H5Tclose);
    const Handle space(H5Dget_space(dataset.get()), H5Sclose);
    Extent extent = input.extent(space, what);
    input.check_size(extent.values, 1, what);
    return Array<std::string>{
        std::move(extent.shape),
        read_strings(input, type, space, extent.values, what, [&](hid_t memory, void* buffer) {
          return H5Dread(dataset.get(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer);
        })};
  });
}

std::vector<std::string> list_datasets(const fs::path& path) {
  return guarded(path, [&] { return Input(path).datasets(); });
}

bool has_attribute(const fs::path& path, const std::string& object, const std::string& name) {
  return guarded(path, [&] {
    const Input input(path);
    return H5Aexists(input.object(object).get(), name.c_str()) > 0;
  });
}

Array<double> read_attribute(const fs::path& path, const std::string& object,
                             const std::string& name) {
  return guarded(path, [&] {
    const Input input(path);
    const std::string what = fmt::format("attribute '{}' of '{}'", name, object);
    const Handle attribute = input.attribute(object, name);
    input.expect_numbers(Handle(H5Aget_type(attribute.get()), H5Tclose), what);
    Extent extent = input.extent(Handle(H5Aget_space(attribute.get()), H5Sclose), what);
    input.check_size(extent.values, sizeof(double), what);
    Array<double> array{std::move(extent.shape), std::vector<double>(extent.values)};
    if (H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, array.values.data()) < 0) input.damaged(what);
    return array;
  });
}

std::string read_text_attribute(const fs::path& path, const std::string& object,
                                const std::string& name) {
  return guarded(path, [&] {
    const Array<std::string> texts = read_attribute_texts(path, object, name);
    if (texts.values.size() != 1)
      throw Error(ErrorKind::data,
                  fmt::format("{}: attribute '{}' of '{}' has shape {}, expected one text",
                              path.string(), name, object, shape_text(texts.shape)));
    return texts.values[0];
  });
}

std::vector<std::string> read_text_list(const fs::path& path, const std::string& object,
                                        const std::string& name) {
  return guarded(path, [&] { return read_attribute_texts(path, object, name).values; });
}

void check_trust() {
  h5::chosen_trust();
}

void disable_store_exit_handler() {
  H5dont_atexit();
}

}  // namespace stap
