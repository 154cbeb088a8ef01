#include "output_file.h"

#include <algorithm>
#include <array>
#include <fstream>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap::app {
namespace {

namespace fs = std::filesystem;

bool is_hdf5(const fs::path& file) {
  constexpr std::array<char, 8> kSignature = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
  std::array<char, 8> begin{};
  std::ifstream in(file, std::ios::binary);
  return in.read(begin.data(), begin.size()) && begin == kSignature;
}

}  // namespace

void check_output(const fs::path& output, std::initializer_list<fs::path> inputs) {
  std::error_code error;
  for (const fs::path& input : inputs)
    if (fs::equivalent(output, input, error))
      throw Error(ErrorKind::config,
                  fmt::format("{} is {}, which is read for it: give the output another name",
                              output.string(), input.string()));
  // What is empty has nothing to lose; what is no file is refused when it is to be written.
  if (fs::is_regular_file(output, error) && fs::file_size(output, error) > 0 && !is_hdf5(output))
    throw Error(ErrorKind::config,
                fmt::format("{} is there and is no HDF5 file: remove it, or give another name",
                            output.string()));
}

}  // namespace stap::app
