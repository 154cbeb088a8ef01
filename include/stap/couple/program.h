#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "stap/config/fields.h"
#include "stap/data/store.h"

namespace stap {

/// A program of the user's that is run once and writes an array.
struct ProgramCall {
  config::Arguments argv;  ///< with {output}, and {NAME} of:
  std::map<std::string, std::string> placeholders{};
  std::vector<std::string> env{};
  std::filesystem::path scratch{};  ///< as SolverOptions
  double seconds_most = 600.0;
  std::size_t values_most = 0;  ///< of the output
  std::string text{};           ///< name of a further placeholder: a text file that it writes
};
struct ProgramOutput {
  Array<double> array;  ///< of {output}, a `.npy` file
  std::string text{};   ///< of the text file, if there is one
};

/// Throws Error(config) for a program that is not there and a placeholder that is not known.
void check_call(const ProgramCall& call);

/// What it wrote. Waits for it. Throws Error(config) for a placeholder
/// that is not known, Error(solver) with the end of its log if it fails, takes too long or writes
/// something else.
ProgramOutput output_of(const ProgramCall& call);

}  // namespace stap
