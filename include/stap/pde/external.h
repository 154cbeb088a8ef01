#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "stap/config/fields.h"
#include "stap/core/outline.h"

namespace stap {

/// A problem whose solver is not ours: what it is. How it is reached stands in the section `solver`
/// (stap/couple).
struct ExternalOptions {
  struct Guard {
    std::vector<double> min, max;  ///< one value a channel, or one for all; empty: no limit
  };

  std::string label = "external";             ///< name of the problem
  std::vector<std::string> channels = {"u"};  ///< their names
  std::vector<std::size_t> points = {64};     ///< per axis: 1 or 2
  std::vector<double> lengths;                ///< per axis; none: 1 for all
  std::vector<std::string> walls;             ///< with_walls(); none: all axes are periodic
  /// .npy files of the grid's points: 1 where there is a state, 0 where not; and [C, X...], static
  /// channels. Whoever makes a solver of this reads them (Outline::fixed).
  std::filesystem::path mask, fixed;
  double dt = 1.0;  ///< one learned step
  Guard guard;
  config::Quantities parameters;
};

const config::Fields<ExternalOptions>& external_fields();

/// Throws Error(config) for what does not fit: names that are taken, no names, or placeholders of
/// commands, guards of another number of channels, parameters that are no numbers.
Outline outline_of(const ExternalOptions& options);

}  // namespace stap
