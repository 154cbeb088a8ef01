// Folders of queries that run: made for one process, gone with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/private_folder.h"
#include "stap/config/value.h"
#include "stap/core/solver.h"

namespace stap {

/// A folder of this process below `place` (empty: the system's for temporary files), with folders
/// of queries in it.
class Scratch {
 public:
  /// Throws Error(storage).
  explicit Scratch(const std::filesystem::path& place) : folder_(place, "stap-scratch") {}

  const std::filesystem::path& path() const { return folder_.path(); }
  /// A new folder in it, of mode 0700. Throws Error(storage).
  std::filesystem::path make(const std::string& name) const;

 private:
  PrivateFolder folder_;
};

/// The last line of a log that says something, at most 200 characters, made printable; empty: none.
std::string last_words(const std::filesystem::path& log);

/// How many files are below a folder; stops counting behind `most`.
std::size_t files_below(const std::filesystem::path& folder, std::size_t most);

/// Keeps what is needed to run a failed query again (`stap solver replay`):
///
///   bundle.json   format bundle/1 (2 with parameters that vary): the sections pde and solver, the
///   query, how it ended input.npy     its state
///   ...           whatever else is in `folder`: log.txt, the program's files
///
/// as `failures`/001, 002, ..., at most `kept` of them. `folder`, which the program may have
/// removed or locked, is moved there; false, and it is where it was, if there are enough of them or
/// it cannot be kept. Large files are left out, of a long log its end is kept.
bool keep_bundle(const std::filesystem::path& folder, const std::filesystem::path& failures,
                 std::size_t kept, const config::Value& recipe, const Grid& grid,
                 const Query& query, int attempt, const std::string& reason,
                 std::filesystem::path& bundle);

}  // namespace stap
