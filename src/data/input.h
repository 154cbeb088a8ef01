// A file opened for reading, for the functions of stap/data/store.h; see child_read.h for where.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/hdf5.h"

namespace stap::h5 {

struct Extent {
  std::vector<std::size_t> shape;
  std::size_t values = 1;
};

/// Keeps HDF5 quiet while it lives. Functions throw Error(data) with the path and what is wrong.
class Input {
 public:
  explicit Input(const std::filesystem::path& path);

  [[noreturn]] void fail(const std::string& message) const;
  /// With what HDF5 says about it.
  [[noreturn]] void damaged(const std::string& what) const;

  bool has_link(const std::string& name) const;
  /// Names, sorted.
  std::vector<std::string> datasets() const;
  /// Refuses one whose values lie in other files or need a plug-in.
  Handle dataset(const std::string& name) const;
  Handle object(const std::string& name) const;
  Handle attribute(const std::string& owner, const std::string& name) const;

  Extent extent(const Handle& space, const std::string& what) const;
  /// Before memory is taken for values that the file says it has: refuses more than it can have,
  /// and gives a child room for them.
  void check_size(std::size_t values, std::size_t value_bytes, const std::string& what) const;
  /// Shape of a dataset's chunks; empty: it has none.
  std::vector<std::size_t> chunks(const Handle& dataset) const;
  /// For a child: time to unpack the chunks of these rows, as far as the file can fill them.
  void allow_unpacking(const Handle& dataset, const std::vector<std::size_t>& shape,
                       std::size_t first, std::size_t rows) const;
  void expect_numbers(const Handle& type, const std::string& what) const;

 private:
  void collect(hid_t group, const std::string& prefix, std::size_t depth, std::size_t& objects,
               std::vector<std::string>& names) const;
  std::string link_name(hid_t group, hsize_t i) const;
  void allow_chunk(const Handle& dataset) const;
  std::uint64_t chunk_bytes(const Handle& dataset, const std::vector<std::size_t>& shape) const;
  void refuse_foreign_storage(const Handle& dataset, const std::string& name) const;

  Quiet quiet_;
  std::filesystem::path path_;
  std::uintmax_t bytes_ = 0;
  Handle file_;
  Handle links_;
};

}  // namespace stap::h5
