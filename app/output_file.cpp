#include "output_file.h"

#include <fstream>
#include <string>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHdf5Begin = "\x89HDF\r\n\x1a\n";

bool begins_with(const fs::path& file, std::string_view begin) {
  std::string there(begin.size(), '\0');
  std::ifstream in(file, std::ios::binary);
  return in.read(there.data(), static_cast<std::streamsize>(there.size())) && there == begin;
}

}  // namespace

void check_output(const fs::path& output, std::initializer_list<fs::path> inputs) {
  std::error_code error;
  for (const fs::path& input : inputs)
    if (fs::equivalent(output, input, error))
      throw Error(ErrorKind::config,
                  fmt::format("{} is {}, which is read for it: give the output another name",
                              output.string(), input.string()));
  check_text_output(output, kHdf5Begin, "HDF5 file");
}

void check_text_output(const fs::path& output, std::string_view begin, std::string_view kind) {
  std::error_code error;
  // What is empty has nothing to lose; what is no file is refused when it is to be written.
  if (fs::is_regular_file(output, error) && fs::file_size(output, error) > 0 &&
      !begins_with(output, begin))
    throw Error(ErrorKind::config,
                fmt::format("{} is there and is no {}: remove it, or give another name",
                            output.string(), kind));
}

}  // namespace stap::app
