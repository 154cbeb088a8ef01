#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "stap/config/registry.h"
#include "stap/core/outline.h"
#include "stap/core/solver.h"
#include "stap/couple/solver_options.h"

namespace stap {

/// What the maker of a kind of solver may need.
struct CoupleContext {
  std::filesystem::path failures{};  ///< where bundles of failed queries go; empty: none are kept
  config::Value recipe{};            ///< the sections pde and solver, for those bundles
  std::filesystem::path kept{};      ///< where folders of good calls go; empty: they are removed
};

/// A way to reach a solver that is not ours.
struct CoupledRow : config::Entry {
  /// Starts nothing. Throws Error(config) for options that do not fit each other or the outline.
  std::function<std::unique_ptr<Solver>(const config::AnyOptions&, const Outline&,
                                        const CoupleContext&)>
      make{};
};

/// command, worker, by-hand, and what was added.
const config::Registry<CoupledRow>& solver_table();
/// As config::Registry::add says, and when.
void add_solver(CoupledRow row);

/// A program that is started anew for every call: `argv` with its placeholders {input}, {output},
/// {time}, {dt}, {steps}, {here} and {NAME} of every parameter, in a private folder of its own.
struct CommandOptions : SolverOptions {
  enum class Format { npy, hdf5 };

  Format format = Format::npy;       ///< of input and output
  std::filesystem::path files_from;  ///< a folder that is copied into every query's; empty: none
};
const config::Fields<CommandOptions>& command_fields();
std::unique_ptr<Solver> make_command_solver(const CommandOptions& options, const Outline& outline,
                                            const CoupleContext& context = {});

/// A program that is started once a slot and asked by frames (docs/internals/worker-protocol.md).
struct WorkerOptions : SolverOptions {
  enum class Connect { automatic, pipe, socket };

  /// Its standard streams, or a socket that it connects back to; automatic: pipe, but socket behind
  /// a launcher.
  Connect connect = Connect::automatic;
  /// Of this machine, where TCP listens for it; empty: a Unix socket, or, in a job of several
  /// hosts, the address that the name of this one stands for.
  std::string address;

  bool by_pipe() const {
    return connect == Connect::pipe || (connect == Connect::automatic && launch.words.empty());
  }
};
const config::Fields<WorkerOptions>& worker_fields();
std::unique_ptr<Solver> make_worker_solver(const WorkerOptions& options, const Outline& outline,
                                           const CoupleContext& context = {});

}  // namespace stap
