#include "stap/results/test_set.h"

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/core/sha256.h"
#include "stap/run/study_data.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code error;
  return !path.empty() && fs::is_regular_file(path, error);
}

// Where the manifest says it is; empty if it does not.
fs::path named_file(const RunResult& run) {
  const config::Value* name = run.manifest.find("test_file");
  if (name == nullptr || name->text() == nullptr || name->text()->empty()) return {};
  return run.folder / *name->text();  // an absolute path stays what it is
}

fs::path cached_file(const RunResult& run) {
  const fs::path folder = cache_folder();
  return folder.empty() ? fs::path() : folder / (study_key(data_request(run.config)) + ".h5");
}

std::string not_found_text(const fs::path& named, const fs::path& cached) {
  const std::string first =
      named.empty() ? "the run names no file" : fmt::format("there is no {}", named.string());
  return cached.empty() ? first + ", and the cache is off"
                        : fmt::format("{}, and there is no {}", first, cached.string());
}

}  // namespace

RunTestSet find_test_set(const RunResult& run, const Grid& grid) {
  if (run.test_sha256.empty())
    throw Error(ErrorKind::data, fmt::format("{} has no test set", run.folder.string()));
  const fs::path named = named_file(run), cached = cached_file(run);
  const fs::path file = is_file(named) ? named : cached;
  if (!is_file(file))
    throw Error(
        ErrorKind::data,
        fmt::format("the test set of {} is not found ({}): 'stap generate {}' makes it",
                    run.folder.string(), not_found_text(named, cached), run.folder.string()));
  RunTestSet found{file, read_trajectories(file, grid)};
  const std::string hash = sha256_hex(std::as_bytes(found.trajectories.states.values()));
  if (hash != run.test_sha256)
    throw Error(ErrorKind::data,
                fmt::format("the test set {} has hash {}, {} was evaluated with {}", file.string(),
                            hash, run.folder.string(), run.test_sha256));
  return found;
}

}  // namespace stap
