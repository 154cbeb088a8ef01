#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "console.h"
#include "stap/data/array_file.h"
#include "stap/eval/coverage.h"
#include "stap/eval/predicted_bars.h"

namespace stap::app {

/// How well error bars hold, step by step, for `stap evaluate`.
std::string coverage_text(const JudgedBars& judged);

/// Warns where a prediction of so many rows and steps has no bars, or none that can be believed.
void say_of_bars(const ErrorBars& bars, const PredictedBars& predicted, std::size_t rows,
                 std::size_t steps, Console& console);
/// Adds the bars' datasets and attributes to a prediction of this shape, [B, T, C, X...]; they must
/// live until it is written.
void write_bars(const ErrorBars& bars, const PredictedBars& predicted,
                const std::vector<std::size_t>& shape, bool anywhere, ArrayWriter& writer);

}  // namespace stap::app
