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

// A dataset, or an attribute of an object, on its way into memory.
struct Source {
  Source(const Input& of, std::string named, Handle opened, bool is_attribute)
      : input(of),
        what(std::move(named)),
        self(std::move(opened)),
        type(is_attribute ? H5Aget_type(self.get()) : H5Dget_type(self.get()), H5Tclose),
        space(is_attribute ? H5Aget_space(self.get()) : H5Dget_space(self.get()), H5Sclose),
        extent(input.extent(space, what)),
        attribute(is_attribute) {}

  void read(hid_t memory, void* to) const {
    if ((attribute ? H5Aread(self.get(), memory, to)
                   : H5Dread(self.get(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, to)) < 0)
      input.damaged(what);
  }
  // All values, as T.
  template <class T>
  Array<T> numbers(hid_t memory) const {
    input.check_size(extent.values, sizeof(T), what);
    Array<T> array{extent.shape, std::vector<T>(extent.values)};
    read(memory, array.values.data());
    return array;
  }
  Array<double> reals() const {
    input.expect_numbers(type, what);
    if (!attribute && !extent.shape.empty())
      input.allow_unpacking(self, extent.shape, 0, extent.shape[0]);
    return numbers<double>(H5T_NATIVE_DOUBLE);
  }
  Array<std::string> texts() const;

  const Input& input;
  std::string what;
  Handle self, type, space;
  Extent extent;
  bool attribute;
};

Source dataset_of(const Input& input, const std::string& name) {
  return {input, fmt::format("dataset '{}'", name), input.dataset(name), false};
}

Source attribute_of(const Input& input, const std::string& object, const std::string& name) {
  return {input, fmt::format("attribute '{}' of '{}'", name, object), input.attribute(object, name),
          true};
}

// Fixed or variable in length; none may be of any type.
Array<std::string> Source::texts() const {
  const std::size_t count = extent.values;
  Array<std::string> array{extent.shape, {}};
  input.check_size(count, 1, what);
  if (count == 0 && attribute) return array;
  if (H5Tget_class(type.get()) != H5T_STRING)
    input.fail(fmt::format("{} holds numbers, expected text", what));
  array.values.resize(count);
  if (H5Tis_variable_str(type.get()) > 0) {
    input.check_size(count, sizeof(char*), what);
    std::vector<char*> pointers(count, nullptr);
    read(type.get(), pointers.data());
    for (std::size_t i = 0; i < count; ++i)
      if (pointers[i] != nullptr) array.values[i] = pointers[i];
    H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, pointers.data());
    return array;
  }
  const std::size_t width = H5Tget_size(type.get());
  if (width == 0) input.damaged(what);
  input.check_size(count, width, what);
  std::vector<char> bytes(count * width);
  read(type.get(), bytes.data());
  const bool spaces = H5Tget_strpad(type.get()) == H5T_STR_SPACEPAD;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text(bytes.data() + i * width, width);
    text.resize(std::min(text.find('\0'), text.size()));
    if (spaces) text.erase(text.find_last_not_of(' ') + 1);
    array.values[i] = std::move(text);
  }
  return array;
}

}  // namespace

Array<double> read_array(const fs::path& path, const std::string& name) {
  return guarded(path, [&] { return dataset_of(Input(path), name).reals(); });
}

Array<double> read_foreign_array(const fs::path& path, const std::string& name) {
  return guarded(path, h5::Trust::nobody, [&] { return read_array(path, name); });
}

std::vector<std::size_t> read_shape(const fs::path& path, const std::string& name) {
  return guarded(path, [&] { return dataset_of(Input(path), name).extent.shape; });
}

std::vector<std::size_t> read_chunks(const fs::path& path, const std::string& name) {
  return guarded(path, [&] {
    const Input input(path);
    return input.chunks(input.dataset(name));
  });
}

Array<double> read_rows(const fs::path& path, const std::string& name, std::size_t first,
                        std::size_t count) {
  return guarded(path, [&] {
    const Input input(path);
    const Source source = dataset_of(input, name);
    const std::string& what = source.what;
    input.expect_numbers(source.type, what);
    Extent extent = source.extent;
    if (extent.shape.empty() || first > extent.shape[0] || count > extent.shape[0] - first)
      input.fail(fmt::format("{} has shape {}, expected rows {} to {}", what,
                             shape_text(extent.shape), first, first + count));
    const std::size_t values = extent.shape[0] == 0 ? 0 : extent.values / extent.shape[0] * count;
    input.check_size(values, sizeof(double), what);
    input.allow_unpacking(source.self, extent.shape, first, count);
    std::vector<hsize_t> start(extent.shape.size(), 0);
    std::vector<hsize_t> counts(extent.shape.begin(), extent.shape.end());
    start[0] = first;
    counts[0] = count;
    extent.shape[0] = count;
    Array<double> array{std::move(extent.shape), std::vector<double>(values)};
    if (values == 0) return array;
    const hsize_t all = values;
    const Handle memory(H5Screate_simple(1, &all, nullptr), H5Sclose);
    if (H5Sselect_hyperslab(source.space.get(), H5S_SELECT_SET, start.data(), nullptr,
                            counts.data(), nullptr) < 0 ||
        H5Dread(source.self.get(), H5T_NATIVE_DOUBLE, memory.get(), source.space.get(), H5P_DEFAULT,
                array.values.data()) < 0)
      input.damaged(what);
    return array;
  });
}

Array<std::int64_t> read_integers(const fs::path& path, const std::string& name) {
  return guarded(path, [&] {
    const Input input(path);
    const Source source = dataset_of(input, name);
    if (H5Tget_class(source.type.get()) != H5T_INTEGER)
      input.fail(fmt::format("{} does not hold whole numbers", source.what));
    return source.numbers<std::int64_t>(H5T_NATIVE_INT64);
  });
}

Array<std::string> read_text(const fs::path& path, const std::string& name) {
  return guarded(path, [&] { return dataset_of(Input(path), name).texts(); });
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
  return guarded(path, [&] { return attribute_of(Input(path), object, name).reals(); });
}

std::string read_text_attribute(const fs::path& path, const std::string& object,
                                const std::string& name) {
  return guarded(path, [&] {
    const Array<std::string> texts = attribute_of(Input(path), object, name).texts();
    if (texts.values.size() != 1)
      throw Error(ErrorKind::data,
                  fmt::format("{}: attribute '{}' of '{}' has shape {}, expected one text",
                              path.string(), name, object, shape_text(texts.shape)));
    return texts.values[0];
  });
}

std::vector<std::string> read_text_list(const fs::path& path, const std::string& object,
                                        const std::string& name) {
  return guarded(path, [&] { return attribute_of(Input(path), object, name).texts().values; });
}

void check_trust() {
  h5::chosen_trust();
}

void disable_store_exit_handler() {
  H5dont_atexit();
}

}  // namespace stap
