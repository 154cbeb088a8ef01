#include "stap/results/test_set.h"

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/folder/manifest.h"
#include "stap/study/data_request.h"
#include "stap/study/study.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code error;
  return !path.empty() && fs::is_regular_file(path, error);
}

// Where the manifest says it is; empty if it does not.
fs::path named_file(const RunResult& run) {
  const std::string name = identity_text(run.manifest, "test_file");
  return name.empty() ? fs::path() : run.folder / name;  // an absolute path stays what it is
}

// Under the name that the run knows. What 'stap generate' makes of its configuration may have
// another: on another machine or by another version.
fs::path file_in_cache(const RunResult& run) {
  const std::string known = identity_text(run.manifest, "data_key");
  const fs::path begun = known.empty() ? fs::path() : cached_file(known, "test.h5");
  if (is_file(begun)) return begun;
  return cached_file(data_key(data_request(*run.study)), "test.h5");
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
  const fs::path named = named_file(run), cached = file_in_cache(run);
  const fs::path file = is_file(named) ? named : cached;
  if (!is_file(file)) {
    const std::string way_out =
        named.empty() ? fmt::format("'stap generate {}' makes it", run.folder.string())
                      : "put the file back (its content counts, and its name in manifest.json)";
    throw Error(ErrorKind::data,
                fmt::format("the test set of {} is not found ({}): {}", run.folder.string(),
                            not_found_text(named, cached), way_out));
  }
  RunTestSet found{file, read_test_set(file, grid, run.cluster + run.steps, run.trajectories,
                                       config::texts_in(run.manifest.identity.find("parameters")))};
  if (found.set.sha256 != run.test_sha256)
    throw Error(ErrorKind::data,
                fmt::format("the test set {} has hash {}, {} was evaluated with {}", file.string(),
                            found.set.sha256, run.folder.string(), run.test_sha256));
  return found;
}

}  // namespace stap
