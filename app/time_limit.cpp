#include <chrono>
#include <cmath>

#include <CLI/CLI.hpp>

#include "commands.h"
#include "duration.h"
#include "stap/core/error.h"
#include "study_end.h"

namespace stap::app {

void add_time_limit(CLI::App& command, TimeLimitOptions& options) {
  command
      .add_option(
          "--stop-after", options.stop_after,
          "Stop within this time (90s, 9m, 1h). Finished work is kept; run the same command "
          "again to continue")
      ->check(complaint_if_empty)
      ->type_name("TIME");
  command
      .add_option("--notice", options.notice,
                  "Seconds between SIGUSR1 and the end, if SLURM_JOB_END_TIME is not set")
      ->check(CLI::Range(0.0, 65535.0))  // which lets nan pass
      ->capture_default_str()
      ->type_name("S");
}

TimeLimit time_limit(const TimeLimitOptions& options) {
  if (std::isnan(options.notice))
    throw Error(ErrorKind::config, "--notice 'nan', expected seconds from 0 to 65535");
  TimeLimit limit{.stop_after = {}, .notice = options.notice};
  if (const auto seconds = seconds_of(options.stop_after, "--stop-after"))
    limit.stop_after = std::chrono::duration<double>(*seconds);
  return limit;
}

}  // namespace stap::app
