// A small working project with a solver of one's own, to start from. `stap init`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stap {

struct StarterOptions {
  std::string from = "command";      ///< how the solver is reached: command, worker
  std::string language = "python";   ///< that it is written in: python, c, fortran
  std::string label = "my-problem";  ///< of the problem
  std::size_t points = 64;           ///< of the grid
};
const std::vector<std::string>& starter_kinds();
const std::vector<std::string>& starter_languages();

struct StarterFile {
  std::string name, text;
};
/// The solver, what it needs to be built, study.yaml and README.md. Throws Error(config) for a kind
/// or language that there is not, and fewer than 8 points.
std::vector<StarterFile> starter_files(const StarterOptions& options);

/// Writes them into a folder, which is made. Throws Error(config) if there is anything in it, and
/// Error(storage).
void write_starter(const StarterOptions& options, const std::string& folder);

}  // namespace stap
