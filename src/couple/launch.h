// What stands before a program and starts it, perhaps on other machines: srun, mpirun, ...
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "couple/allocation.h"
#include "stap/couple/solver_options.h"

namespace stap {

/// How the words before a program are made. Nothing is started.
class Launcher {
 public:
  struct Needs {
    bool streams = false;                  ///< the program is asked through stdin and stdout
    std::vector<std::string> variables{};  ///< of the environment, that it must get
  };

  /// Throws Error(config) for an allocation that cannot be read, fewer ranks than nodes, and a
  /// placeholder that is not known.
  Launcher(const SolverOptions& options, Needs needs);

  /// There is one.
  explicit operator bool() const { return !words_.empty(); }
  /// srun, mpirun and the like, which say what becomes of ranks and nodes, and live longer than
  /// these; not nice or valgrind.
  bool is_known() const;
  const Allocation& allocation() const { return allocation_; }

  /// What a slot's {ranks}, {nodes}, {per_node}, {cpus}, {memory}, {hosts} and {places} stand for.
  std::map<std::string, std::string> placeholders(std::size_t slot) const;
  /// The words before the program, filled in with those and `others`; without the words that are
  /// about something not said: "--mem={memory}", or "--mem" and "{memory}", with an empty memory.
  /// srun gets a -v, if it has none: only so it says that it waits.
  std::vector<std::string> words(std::size_t slot,
                                 const std::map<std::string, std::string>& others = {}) const;
  /// The same for one rank on every host.
  std::vector<std::string> words_everywhere() const;

 private:
  std::vector<std::string> filled(const std::map<std::string, std::string>& known) const;

  std::vector<std::string> words_;
  std::size_t ranks_, nodes_;
  std::string memory_;
  Allocation allocation_;
  std::vector<std::vector<std::string>> places_;  // hosts of each slot that fits
};

/// Seconds that a launcher has at least to end its ranks: killed, it would leave them behind.
constexpr double kLauncherGrace = 2.0;

}  // namespace stap
