#include "core/private_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {

std::filesystem::path make_private_folder(const std::filesystem::path& place,
                                          const std::string& name) {
  std::error_code error;
  const std::filesystem::path base =
      place.empty() ? std::filesystem::temp_directory_path(error) : place;
  std::string path = (base / (name + "-XXXXXX")).string();
  if (!error && mkdtemp(path.data()) == nullptr) error.assign(errno, std::generic_category());
  if (error)
    throw Error(ErrorKind::storage, fmt::format("cannot make the folder {}: {}; is TMPDIR or "
                                                "solver.scratch a place that can be written?",
                                                path, error.message()));
  return path;
}

}  // namespace stap
