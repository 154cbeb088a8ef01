#include "stap/run/sweep.h"

#include <filesystem>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/folder/claim.h"
#include "stap/study/problem.h"
#include "stap/study/study.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

// Problems, each made once for all runs that share it.
class Problems {
 public:
  Problems(int threads, Observer& observer, const StopAsked& stop)
      : threads_(threads), observer_(observer), stop_(stop) {}

  std::shared_ptr<const Problem> of(const Study& study) {
    const DataRequest request = data_request(study);
    std::string key = config::yaml_text(data_document(request));
    key += fmt::format("{}\n{}\n{}\n{} {} {}", study.initial_file.string(),
                       study.test_file.string(), study.first_file.string(), study.options.pool,
                       study.options.test, study.network.time_input);
    std::shared_ptr<const Problem>& problem = made_[key];
    if (!problem)
      problem = std::make_shared<Problem>(make_problem(study, threads_, observer_, stop_));
    return problem;
  }

 private:
  int threads_;
  Observer& observer_;
  const StopAsked& stop_;
  std::map<std::string, std::shared_ptr<const Problem>> made_;
};

// sweep.json: the runs in the order of the grid, for tables.
void write_order(const std::vector<SweepRun>& runs, const fs::path& folder) {
  config::Value::List names;
  for (const SweepRun& run : runs) names.emplace_back(run.name);
  config::Value value;
  value.set("format", "sweep/1");
  value.set("runs", config::Value(std::move(names)));
  make_folder(folder);
  write_text(folder / "sweep.json", config::json_text(value) + "\n");
}

}  // namespace

std::vector<SweepRun> runs_in(const fs::path& folder) {
  const fs::path order = folder / "sweep.json";
  std::error_code error;
  if (fs::exists(folder / "config.yaml", error) || !fs::exists(order, error))
    return {{"", RunFolder(folder).read_config().document}};
  std::vector<SweepRun> runs;
  const config::Value sweep = read_document(order);
  const config::Value* names = sweep.find("runs");
  if (names == nullptr || !names->is_list()) throw_bad_field("runs", order);
  for (const config::Value& name : *names->list()) {
    if (name.text() == nullptr) throw_bad_field("runs", order);
    runs.push_back({*name.text(), RunFolder(folder / *name.text()).read_config().document});
  }
  return runs;
}

LoopEnd drive(const std::vector<SweepRun>& runs, const fs::path& folder, int threads,
              Observer& observer, const StopAsked& stop, ByHand* by_hand) {
  // All configurations first: a mistake in the last run must not show after an hour.
  std::vector<Study> studies;
  for (const SweepRun& run : runs) {
    studies.push_back(make_study(run.document));
    studies.back().failures = folder / "failures";  // runs that share a problem share its solver
  }
  if (!runs.empty() && !runs[0].name.empty() && fs::exists(folder / "config.yaml"))
    throw Error(
        ErrorKind::config,
        fmt::format("{} holds a run or data: give a sweep another folder", folder.string()));
  const auto folder_of = [&](const SweepRun& run) {
    return RunFolder(run.name.empty() ? folder : folder / run.name);
  };
  // Nothing is solved for a folder that will be refused.
  for (std::size_t r = 0; r < runs.size(); ++r)
    check_claim(folder_of(runs[r]), studies[r].effective);
  if (!runs.empty() && !runs[0].name.empty()) write_order(runs, folder);
  Problems problems(threads, observer, stop);
  std::vector<Run> open;
  open.reserve(runs.size());
  try {
    for (std::size_t r = 0; r < runs.size(); ++r) {
      auto problem = problems.of(studies[r]);
      open.push_back(
          open_run(std::move(studies[r]), folder_of(runs[r]).path(), std::move(problem), observer));
    }
  } catch (const Stopped&) {
    return LoopEnd::stopped;
  }
  return run_loop(open, threads, observer, stop, by_hand);
}

}  // namespace stap
