// Folders of queries that run: made for one process, gone with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "stap/config/value.h"
#include "stap/core/solver.h"

namespace stap {

/// A folder of this process below `place` (empty: the system's for temporary files), of mode 0700,
/// removed with its content in the end. A lock says that it is in use, also to other machines that
/// share `place`: what processes that are gone have left there is removed when one is made.
class Scratch {
 public:
  /// Throws Error(storage).
  explicit Scratch(const std::filesystem::path& place);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// A new folder in it, of mode 0700. Throws Error(storage).
  std::filesystem::path make(const std::string& name) const;

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

/// Removes a folder and all in it, whatever rights a program has taken away there. Never throws.
void remove_folder(const std::filesystem::path& folder);

/// The last line of a log that says something, at most 200 characters, made printable; empty: none.
std::string last_words(const std::filesystem::path& log);

/// How many files are below a folder; stops counting behind `most`.
std::size_t files_below(const std::filesystem::path& folder, std::size_t most);

/// Keeps what is needed to run a failed query again (`stap solver replay`):
///
///   bundle.json   format bundle/1: the sections pde and solver, the query, how it ended
///   input.npy     its state
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
