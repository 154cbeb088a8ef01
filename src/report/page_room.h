// What a page leaves out where it would become too large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "stap/report/report.h"

namespace stap {

inline constexpr std::size_t kPageBytes = 4'900'000;  ///< with all of it below 5 MB

/// What is shown of a report.
struct PageRoom {
  std::size_t problems = SIZE_MAX, runs = SIZE_MAX;  ///< the first ones
  std::string kinds{};                               ///< what is left out of every problem
  std::string words{};                               ///< all that is left out; empty: nothing
};

/// Leaves out some more: single seeds, charts that replace others, pictures, charts, then problems
/// and runs. Returns whether there was anything left to leave out.
bool leave_out(Report& report, PageRoom& room);

}  // namespace stap
