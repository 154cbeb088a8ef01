// What reading and writing `.npy` files share.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/descriptor.h"

namespace stap {

static_assert(std::endian::native == std::endian::little, "values are copied as they are");

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";
inline constexpr std::size_t kNpyAxesMost = 32;  ///< as many as NumPy can have

/// A file that is read from front to back. Throws Error(data), with the path.
class NpyInput {
 public:
  explicit NpyInput(const std::filesystem::path& path);

  [[noreturn]] void fail(const std::string& why) const;
  /// For an errno. Error(unavailable) or Error(storage) where that says nothing about the file.
  [[noreturn]] void fail_for(int error) const;
  std::uintmax_t left() const { return left_; }  ///< bytes
  /// `what`: the part of the file that they are of, for messages.
  void read(void* to, std::size_t bytes, const char* what);
  template <class T>
  T read(const char* what) {
    T value;
    read(&value, sizeof value, what);
    return value;
  }

 private:
  std::filesystem::path path_;
  Descriptor file_;
  std::uintmax_t left_ = 0;
};

struct NpyHeader {
  std::string type;  ///< as NumPy writes it: "<f8"
  std::vector<std::size_t> shape;
};
NpyHeader read_npy_header(NpyInput& input);

}  // namespace stap
