#include <cerrno>
#include <cstring>
#include <iterator>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/pending_file.h"
#include "core/same_files.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/data/npy.h"
#include "stap/results/export.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReadme = "README.txt";
constexpr std::string_view kReadmeBegin = "Training set of a run of stap: ";

// A folder that takes its place when it is complete.
class PendingFolder {
 public:
  explicit PendingFolder(const fs::path& target) : target_(target) {
    if (!target_.has_filename()) target_ = target_.parent_path();  // "folder/"
    std::error_code error;
    there_ = fs::exists(target_, error) && !(fs::is_directory(target_) && fs::is_empty(target_));
    if (there_ && !is_one_of_these(target_)) refuse();
    remove_leftovers_of(target_);
    path_ = target_;
    path_ += pending_suffix(0);
    make_folder(path_);
  }
  ~PendingFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  PendingFolder(const PendingFolder&) = delete;
  PendingFolder& operator=(const PendingFolder&) = delete;

  const fs::path& path() const { return path_; }
  void commit() {
    if (there_) return is_same() ? void() : refuse();
    if (std::rename(path_.c_str(), target_.c_str()) != 0)
      throw Error(ErrorKind::storage,
                  fmt::format("cannot write {}: {}", target_.string(), std::strerror(errno)));
    path_.clear();
    sync_names(target_);
  }

 private:
  [[noreturn]] void refuse() const {
    throw Error(ErrorKind::config,
                fmt::format("{} exists and is not empty, and holds something else than this "
                            "export: choose another name, or remove it",
                            target_.string()));
  }
  static bool is_one_of_these(const fs::path& folder) {
    std::error_code error;
    return fs::is_regular_file(folder / kReadme, error) &&
           read_text_file(folder / kReadme).starts_with(kReadmeBegin);
  }
  bool is_same() const {
    const auto count = [](const fs::path& folder) {
      return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
    };
    for (const auto& entry : fs::directory_iterator(path_))
      if (!same_content(entry.path(), target_ / entry.path().filename())) return false;
    return count(path_) == count(target_);
  }

  fs::path target_, path_;
  bool there_ = false;
};

std::string readme(const TrainingData& data) {
  const TransitionSet& set = data.set;
  const std::string cluster =
      set.cluster == 1 ? ""
                       : fmt::format(
                             "Every state is a cluster of {} states one after the other: channel c "
                             "of state f is channel f * {} + c.\n",
                             set.cluster, data.grid.channels);
  const std::string varied =
      set.parameters.names.empty()
          ? ""
          : fmt::format("parameters.npy [n, {}] float64: {} of the trajectory\n",
                        set.parameters.names.size(), fmt::join(set.parameters.names, ", "));
  std::string parameters;
  for (const Parameter& p : data.parameters) parameters += fmt::format(" {}={}", p.name, p.value);
  for (const std::string& name : set.parameters.names) parameters += " " + name + " (varies)";
  return std::string(kReadmeBegin) +
         fmt::format(
             "transitions of {}, a state and the solver's answer to it.\n"
             "\n"
             "n = {} transitions; channels {}; {} points on a {} domain of lengths {}; a "
             "step is "
             "{:g}.\n"
             "Parameters:{}\n"
             "{}"
             "\n"
             "inputs.npy     [n, C, X...] float64: the state before the step\n"
             "outputs.npy    [n, C, X...] float64: the state after it, made by the solver\n"
             "candidate.npy  [n] int64: which initial condition of the pool the trajectory began "
             "with\n"
             "step.npy       [n] int64: from 0; leads from state `step` of that trajectory to the "
             "next\n"
             "round.npy      [n] int64: 0 for the initial trajectories, r for what was bought "
             "r-th\n"
             "synthetic.npy  [n] bool: the input was made by the surrogate (the mean of its "
             "members), not "
             "by the solver\n"
             "{}",
             data.problem, set.count(), fmt::join(data.channels, ", "),
             fmt::join(data.grid.points, " x "),
             data.grid.walled() ? fmt::format("walled ({})", fmt::join(wall_names(data.grid), ", "))
                                : "periodic",
             fmt::join(data.grid.lengths, " x "), set.dt, parameters.empty() ? " none" : parameters,
             cluster, varied);
}

}  // namespace

void export_npy(const TrainingData& data, const fs::path& folder) {
  const TransitionSet& set = data.set;
  const std::vector<std::size_t> n{set.count()};
  std::vector<std::size_t> shape{set.count(), set.grid.channels};
  shape.insert(shape.end(), set.grid.points.begin(), set.grid.points.end());
  std::vector<std::int64_t> candidate, step, round;
  for (const Provenance& origin : set.origins) {
    candidate.push_back(static_cast<std::int64_t>(origin.candidate));
    step.push_back(static_cast<std::int64_t>(origin.step));
    round.push_back(static_cast<std::int64_t>(origin.acquisition));
  }
  PendingFolder pending(folder);
  write_npy(pending.path() / "inputs.npy", shape, set.inputs);
  write_npy(pending.path() / "outputs.npy", shape, set.outputs);
  write_npy(pending.path() / "candidate.npy", n, candidate);
  write_npy(pending.path() / "step.npy", n, step);
  write_npy(pending.path() / "round.npy", n, round);
  if (!set.parameters.names.empty())
    write_npy(pending.path() / "parameters.npy",
              std::vector<std::size_t>{set.count(), set.parameters.names.size()},
              set.parameters.values);
  write_npy_booleans(pending.path() / "synthetic.npy", n, data.synthetic);
  write_text(pending.path() / kReadme, readme(data));
  pending.commit();
}

}  // namespace stap
