// Queries that run wherever a server is, by way of a folder that all machines see.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "couple/spool_problem.h"
#include "stap/core/solver_queue.h"

namespace stap {

/// Puts queries into `folder` and takes the answers that `stap serve` leaves there. One process at
/// a time asks in a folder; next() throws Error(storage) if another one does. What that one, or
/// this one in an earlier life, has asked is found again by what is asked: what a server works on
/// is waited for, what is answered is taken. So is what this queue leaves in the end; what no
/// server has begun it takes along. A server that gives no sign of life for `silence` seconds is
/// given up and its queries go to others, which costs no try.
std::unique_ptr<SolverQueue> make_spool_queue(const std::filesystem::path& folder, double silence,
                                              SpoolProblem problem);

}  // namespace stap
