#include "stap/run/model_of.h"

#include <charconv>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/nn/model_file.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

// The round a folder's name stands for; empty if it is not a number.
std::optional<unsigned> round_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  unsigned round = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), round);
  if (problem != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return round;
}

}  // namespace

fs::path model_of(const fs::path& given) {
  std::error_code error;
  const fs::file_status status = fs::status(given, error);
  if (!fs::exists(status))
    throw Error(ErrorKind::data,
                fmt::format("{}: there is no such model file or run folder", given.string()));
  if (!fs::is_directory(status)) return given;
  fs::path newest;
  unsigned highest = 0;
  for (fs::directory_iterator entry(given / "rounds", error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code missing;
    const fs::path file = entry->path() / "committee.safetensors";
    const std::optional<unsigned> round = round_of(entry->path());
    if (!round || !fs::is_regular_file(file, missing)) continue;
    if (newest.empty() || *round > highest) {
      newest = file;
      highest = *round;
    }
  }
  if (newest.empty())
    throw Error(
        ErrorKind::data,
        fmt::format("{}: there is no rounds/NN/committee.safetensors in this folder; give a "
                    "run folder that has trained a committee, or a model file",
                    given.string()));
  return newest;
}

Surrogate load_surrogate(const fs::path& model_file, const ComputeOptions& compute, int threads) {
  const Model model = read_model(model_file);
  if (model.members.empty())
    throw Error(ErrorKind::data, fmt::format("{}: the model has no members", model_file.string()));
  std::vector<int> members(model.members.size());
  std::iota(members.begin(), members.end(), 0);
  Surrogate surrogate;
  surrogate.engine = make_engine(compute, model.shape, static_cast<int>(members.size()), threads);
  for (int m : members) surrogate.engine->load(m, model.members[static_cast<std::size_t>(m)]);
  surrogate.cluster = model.cluster;
  surrogate.committee = surrogate.engine->committee(std::move(members));
  return surrogate;
}

}  // namespace stap
