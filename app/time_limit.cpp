#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "stap/core/error.h"
#include "study_end.h"

namespace stap::app {

void add_time_limit(CLI::App& command, TimeLimitOptions& options) {
  command.add_option("--stop-after", options.stop_after,
                     "Be done by then (90s, 9m, 1h): what would not be is not begun, what was "
                     "answered is kept, and the same command goes on");
  command
      .add_option("--notice", options.notice,
                  "Seconds between SIGUSR1 and the end, where SLURM_JOB_END_TIME does not tell")
      ->check(CLI::Range(0.0, 65535.0))
      ->capture_default_str();
}

TimeLimit time_limit(const TimeLimitOptions& options) {
  TimeLimit limit{.stop_after = {}, .notice = options.notice};
  const std::string& text = options.stop_after;
  if (text.empty()) return limit;
  double number = 0;
  std::size_t used = 0;
  try {
    number = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  const std::string unit = text.substr(used);
  const double factor = unit.empty() || unit == "s" ? 1.0
                        : unit == "m"               ? 60.0
                        : unit == "h"               ? 3600.0
                                                    : 0.0;
  if (used == 0 || factor == 0.0 || !(number > 0))
    throw Error(ErrorKind::config,
                fmt::format("--stop-after '{}', expected a time such as 90s, 9m or 1.5h", text));
  limit.stop_after = std::chrono::duration<double>(number * factor);
  return limit;
}

}  // namespace stap::app
