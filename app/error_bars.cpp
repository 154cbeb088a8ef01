#include "error_bars.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "console.h"
#include "help.h"

namespace stap::app {
namespace {

// The lowest over channels.
double least_of_bands(const JudgedBars& judged, const Coverage& coverage, std::size_t step) {
  double least = 1.0;
  for (std::size_t c = 0; c < judged.channels; ++c)
    least = std::min(least, coverage.found[(1 + judged.channels + c) * judged.steps + step]);
  return least;
}

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{:.3e}", value) : "inf";
}

}  // namespace

void say_of_bars(const ErrorBars& bars, const PredictedBars& predicted, std::size_t rows,
                 std::size_t steps, Console& console) {
  if (steps > bars.steps)
    console.warning(fmt::format(
        "error bars reach to step {}, the length of the trajectories of the calibration: behind it "
        "they are infinite",
        bars.steps));
  if (predicted.unlike > 0)
    console.warning(fmt::format(
        "the networks disagree more on {} of {} than on any of the {} of the calibration: these "
        "inputs are of another kind, for which the error bars promise nothing",
        predicted.unlike, counted(rows, "trajectory", "trajectories"), bars.trajectories));
}

void write_bars(const ErrorBars& bars, const PredictedBars& predicted,
                const std::vector<std::size_t>& shape, bool anywhere, ArrayWriter& writer) {
  writer.add_attribute("bar_level", bars.level);
  writer.add_attribute("bar_steps", static_cast<double>(bars.steps));
  writer.add_attribute("bar_trajectories", static_cast<double>(bars.trajectories));
  writer.add_text_attribute("bar_start", anywhere ? "any" : "first");
  writer.add_text_attribute(
      "bar_meaning",
      "bar: sqrt of the sum over channels of the mean squared error over grid points is below it; "
      "bar_channels: the same of each channel; band: all points of a channel's field are within "
      "it. Each at one step, with probability bar_level. In the unit of the states");
  writer.add("bar", {shape[0], shape[1]}, predicted.all);
  writer.add("bar_channels", {shape[0], shape[1], shape[2]}, predicted.channels);
  if (!predicted.bands.empty()) writer.add("band", shape, predicted.bands);
}

std::string coverage_text(const JudgedBars& judged) {
  if (!judged.absent.empty()) return fmt::format("error bars  {}\n", judged.absent);
  std::string text = fmt::format(
      "error bars  {:g} % asked, {:.1f} to {:.1f} % expected; calibrated on {}, judged on {}{}\n\n",
      100 * judged.level, 100 * judged.least, 100 * judged.most,
      counted(judged.calibrated_on, "trajectory", "trajectories"),
      judged.left_out > 0 ? "the other " : "", judged.judged_on);
  constexpr const char* kRow = "{:<6}{:>9}{:>9}{:>12}{:>12}{:>11}{:>9}{:>12}\n";
  text +=
      fmt::format(kRow, "step", "in bar", "in band", "bar", "error", "in bar", "in band", "bar");
  for (std::size_t step = 0; step < judged.steps; ++step) {
    const auto share = [](double found) { return fmt::format("{:.1f} %", 100 * found); };
    text += fmt::format(
        kRow, step + 1, share(judged.first.found[step]),
        share(least_of_bands(judged, judged.first, step)), number(judged.first.bar[step]),
        number(judged.first.error[step]), share(judged.any.found[step]),
        share(least_of_bands(judged, judged.any, step)), number(judged.any.bar[step]));
  }
  text +=
      "\nLeft: rollouts from the first state of each trajectory, right: from every state. bar: the "
      "median. in band: the whole field within its band, in the channel where that is rarest.\n";
  if (judged.thirds.size() == 3)
    text += fmt::format(
        "By third of the bars' widths, narrow to wide: {:.1f}, {:.1f}, {:.1f} % in bar (left, all "
        "steps; not promised).\n",
        100 * judged.thirds[0], 100 * judged.thirds[1], 100 * judged.thirds[2]);
  return text;
}

}  // namespace stap::app
