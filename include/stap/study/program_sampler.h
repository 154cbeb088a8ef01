#pragma once

#include <filesystem>
#include <memory>

#include "stap/config/fields.h"
#include "stap/core/parameters.h"
#include "stap/ic/sampler.h"

namespace stap {

/// Of `initial: {name: program, ...}`: initial conditions that a program of the user's draws.
struct ProgramSamplerOptions {
  /// {seed}: a whole number below 2^31; {output}: the .npy file to write; {NAME}: a parameter that
  /// varies, as it was drawn; {parameters}: a JSON file {"NAME": value, ...} to write, of all of
  /// them
  config::Arguments argv;
  double warm_up = 0.0;    ///< as Sampler::warm_up
  double seconds = 600.0;  ///< that one draw may take
  std::filesystem::path scratch;
};
const config::Fields<ProgramSamplerOptions>& program_sampler_fields();

/// The program must write the same state [C, X...], and parameters within their ranges if it does,
/// for the same seed. It runs once for every state that is drawn. Throws Error(config) for options
/// that do not fit and for a program that is not there; draw() throws Error(solver).
std::unique_ptr<Sampler> make_program_sampler(const ProgramSamplerOptions& options,
                                              const Grid& grid,
                                              std::vector<ParameterDraw> parameters = {});

}  // namespace stap
