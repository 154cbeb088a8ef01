// The page of a folder.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>

#include "commands.h"
#include "console.h"
#include "interrupt.h"
#include "stap/report/report.h"

namespace stap::app {

/// Where the report of a run or a sweep is.
std::filesystem::path report_file(const std::filesystem::path& folder);
/// Refuses to take the place of a file that is no page of ours, or a name that the folders it is
/// about may have a meaning for. Throws Error(config).
void check_report_output(const std::filesystem::path& file,
                         std::span<const std::filesystem::path> folders);
/// Gives the file. Throws Error(storage).
std::filesystem::path write_report(const Report& report, const std::filesystem::path& file);

/// The end of `run` and `sweep`: analyses a folder, unless it is analysed as it is, and writes its
/// report, whose place is printed. What goes wrong is a warning: the runs are finished and well.
/// `results`: of the folder, just read.
void report_at_end(const std::string& folder, std::vector<RunResult> results,
                   const Globals& globals, const InterruptGuard& interrupt, Console& console,
                   std::ostream& out);

}  // namespace stap::app
