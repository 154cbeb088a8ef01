// The files of a spool folder that say what it is and how to make the solver of a problem.
#pragma once

#include <filesystem>
#include <string>

#include "stap/config/value.h"
#include "stap/core/outline.h"

namespace stap {

inline constexpr const char* kSpoolFormat = "spool/2";

/// How to make the solver of a problem, for who never saw the configuration.
struct SpoolProblem {
  Outline outline;
  config::Value recipe;            ///< the sections pde and solver
  std::filesystem::path failures;  ///< as CoupleContext; absolute
};
std::string problem_text(const SpoolProblem& problem);
/// The problem `id`. Throws Error(data) naming the file.
SpoolProblem read_problem(const std::string& text, const std::string& id,
                          const std::filesystem::path& file);

/// Of spool.json and files of problems: with a seal (stap/core/seal.h).
std::string sealed_text(const config::Value& value);
/// Throws Error(data), naming the file, for what is damaged or of another version.
config::Value sealed_value(const std::string& text, const std::filesystem::path& file);

}  // namespace stap
