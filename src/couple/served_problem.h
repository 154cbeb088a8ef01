// A problem of a spool folder, as a server of it sees it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/answer_times.h"
#include "core/breaker.h"
#include "couple/spool_folder.h"
#include "couple/spool_problem.h"
#include "stap/core/solver_queue.h"
#include "stap/couple/serve.h"

namespace stap {

/// Throws Error(config) for a setting that no section solver could have: said before a query comes.
void check_settings(const ServeOptions& options);

/// Its solver, with slots on this machine.
class ServedProblem {
 public:
  /// Null: there is none, or its file cannot be used, and `flaw` says why. Throws Error(config) if
  /// the folder is not to be trusted or the solver cannot be made.
  static std::unique_ptr<ServedProblem> open(const SpoolFolder& folder, const std::string& id,
                                             const ServeOptions& options, std::string& flaw);

  const Outline& outline() const { return problem_.outline; }
  SolverQueue& queue() { return *queue_; }
  std::size_t slots() const { return slots_; }
  double silence() const { return silence_; }  ///< after which a server is given up
  /// Whether the folder says something else by now.
  bool changed(const SpoolFolder& folder) const;

  AnswerTimes times;
  Breaker breaker{{}};

 private:
  ServedProblem(std::string id, std::string text, SpoolProblem problem,
                const ServeOptions& options);

  std::string id_, text_;  // of its file
  SpoolProblem problem_;
  std::size_t slots_ = 1;
  double silence_ = 60.0;
  std::unique_ptr<Solver> solver_;
  std::unique_ptr<SolverQueue> queue_;
};

}  // namespace stap
