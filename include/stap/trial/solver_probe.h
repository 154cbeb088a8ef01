// A study's solver, made ready to be checked.
#pragma once

#include <filesystem>
#include <memory>

#include "stap/study/study.h"
#include "stap/trial/solver_check.h"

namespace stap {

class PrivateFolder;

/// Its programs work below a private folder, which also is their TMPDIR unless the configuration
/// says another; what they leave there, beside the configuration and in the working folder is
/// noticed. Folders go with this object, but for bundles of failed queries.
class SolverProbe {
 public:
  /// `calls_most`: of the check. Throws Error(config) for a solver that is built in or no program,
  /// Error(data) for a file of initial conditions that cannot be read, Error(solver) for a program
  /// that cannot draw them, and Error(storage).
  SolverProbe(const Study& study, std::size_t calls_most);
  ~SolverProbe();
  SolverProbe(const SolverProbe&) = delete;
  SolverProbe& operator=(const SolverProbe&) = delete;

  const SolverToCheck& solver() const { return solver_; }
  /// Where bundles of failed queries are, if there are any.
  const std::filesystem::path& failures() const;

 private:
  std::unique_ptr<PrivateFolder> folder_, failures_;
  SolverToCheck solver_;
};

}  // namespace stap
