// The page of a folder.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>

#include "commands.h"
#include "console.h"
#include "interrupt.h"
#include "stap/report/report.h"

namespace stap::app {

/// Where the report of a run or a sweep is.
std::filesystem::path report_file(const std::filesystem::path& folder);
/// Refuses to take the place of a file that is no page of ours. Throws Error(config).
void check_report_output(const std::filesystem::path& file);
/// Gives the file. Throws Error(storage).
std::filesystem::path write_report(const Report& report, const std::filesystem::path& file);

/// The end of `run` and `sweep`: analyses a folder, unless it is analysed as it is, and writes its
/// report, whose place is printed. What goes wrong is a warning: the runs are finished and well.
void report_at_end(const std::string& folder, const Globals& globals,
                   const InterruptGuard& interrupt, Console& console, std::ostream& out);

}  // namespace stap::app
