#include "stap/run/sweep.h"

#include <filesystem>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "run/files.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/study/study.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

// Pool, test set and solver, shared by runs whose problem is the same.
struct Problem {
  std::shared_ptr<const Solver> solver;
  std::shared_ptr<const StudyData> data;
};

class Problems {
 public:
  Problems(int threads, Observer& observer) : threads_(threads), observer_(observer) {}

  Problem of(const Study& study) {
    const DataRequest request = data_request(study);
    const std::string key =
        fmt::format("{}{}{} {} {} {} {}", config::yaml_text(request.pde.value()),
                    config::yaml_text(request.initial.value()), request.pool, request.test,
                    request.steps, request.cluster, request.data_seed);
    Problem& problem = made_[key];
    if (!problem.solver) {
      problem.solver = make_solver(study, threads_);
      problem.data = std::make_shared<StudyData>(
          make_study_data(request, *problem.solver, threads_, observer_));
      if (request.cluster > 1)
        problem.solver = make_clustered_solver(problem.solver, request.cluster);
    }
    return problem;
  }

 private:
  int threads_;
  Observer& observer_;
  std::map<std::string, Problem> made_;
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

LoopEnd drive(const std::vector<SweepRun>& runs, const fs::path& folder, int threads,
              Observer& observer, const std::function<bool()>& stop) {
  // All configurations first: a mistake in the last run must not show after an hour.
  std::vector<Study> studies;
  for (const SweepRun& run : runs) studies.push_back(make_study(run.document));
  if (!runs.empty() && !runs[0].name.empty()) write_order(runs, folder);
  Problems problems(threads, observer);
  std::vector<Run> open;
  open.reserve(runs.size());
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const Problem problem = problems.of(studies[r]);
    open.push_back(open_run(std::move(studies[r]),
                            runs[r].name.empty() ? folder : folder / runs[r].name, problem.data,
                            problem.solver, observer));
  }
  return run_loop(open, threads, observer, stop);
}

}  // namespace stap
