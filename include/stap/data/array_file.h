#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stap/data/store.h"

namespace stap {

/// Writes an HDF5 file of named arrays and attributes, to be read by read_array,
/// read_attribute and read_text_attribute (store.h). Equal content gives equal bytes. The file is
/// written aside by commit(); a place that cannot be written shows in the constructor. Functions
/// throw Error(storage) with the path and the cause.
class ArrayWriter {
 public:
  explicit ArrayWriter(std::filesystem::path path);
  /// Without commit() nothing is left and `path` is as it was.
  ~ArrayWriter();

  /// Whether the disk has room for arrays of this many values in all, for a look before a long
  /// computation. commit() looks again by itself.
  void check_room(std::size_t values) const;
  /// A dataset. The values are not copied: they must live until commit(). Throws Error(internal) if
  /// there are not as many as the shape says; an empty shape is one value.
  void add(std::string name, std::vector<std::size_t> shape, std::span<const double> values);
  /// The same for bytes, which take one byte each in the file and are read as any other array.
  void add_bytes(std::string name, std::vector<std::size_t> shape,
                 std::span<const std::uint8_t> values);
  /// The same for whole numbers (ids, counts), which stay such.
  void add_integers(std::string name, std::vector<std::size_t> shape,
                    std::span<const std::int64_t> values);
  /// A dataset that is never in memory as a whole: while commit() runs, `next` is called for one
  /// piece after the other, whole rows of the first axis, until all of them are there; a piece must
  /// live until the next call. The bytes of the file do not depend on how it is cut. commit()
  /// throws Error(internal) for a piece that is empty, no whole rows or too large.
  void add_pieces(std::string name, std::vector<std::size_t> shape,
                  std::function<std::span<const double>()> next);
  /// What its states are: every file of states says so.
  void describe(StateInfo info);
  /// A text attribute of the file; texts end at their first zero byte.
  void add_text_attribute(std::string name, std::string text);
  /// A number as an attribute of the file.
  void add_attribute(std::string name, double number);
  /// Writes all of it and puts the file, safely on disk unless it may be lost, in the place of
  /// `path`. Once only.
  void commit(bool forced = true);

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace stap
