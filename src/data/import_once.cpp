#include <fmt/format.h>

#include "core/private_folder.h"
#include "core/same_files.h"
#include "stap/core/error.h"
#include "stap/core/seal.h"
#include "stap/data/import.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_there(const fs::path& file) {
  throw Error(
      ErrorKind::config,
      fmt::format("{} is there already, and is not what would be written: remove it, or give "
                  "another name",
                  file.string()));
}

// Nothing is read for the sake of a file that cannot be ours.
bool is_whole_file_of_ours(const fs::path& file) {
  try {
    return check_seal(file) == Seal::whole;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Imported import_once(std::span<const fs::path> files, ImportAs as, const ImportOptions& options,
                     const fs::path& out, const fs::path& outputs, Observer* observer) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(out, error)))
    return import_files(files, as, options, out, outputs, observer);
  if (!is_whole_file_of_ours(out)) refuse_there(out);
  const PrivateFolder beside(out.has_parent_path() ? out.parent_path() : fs::path("."),
                             "stap-import");
  const fs::path again = beside.path() / out.filename();
  Imported imported = import_files(files, as, options, again, outputs, observer);
  if (!same_content(again, out)) refuse_there(out);
  imported.was_there = true;
  return imported;
}

}  // namespace stap
