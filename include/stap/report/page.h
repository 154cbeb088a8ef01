#pragma once

#include <string>

#include "stap/config/value.h"
#include "stap/report/report.h"

namespace stap {

/// One HTML page that needs nothing else and asks no network: styles and scripts are in it, and a
/// Content-Security-Policy allows these and nothing more. Without scripts it says the same. Texts
/// of folders and configurations are never anything but text. The same report gives the same bytes.
/// `live`: of runs that still work; the page reloads itself.
std::string page_text(const Report& report, bool live = false);

/// Format report/1: what the page shows, for programs.
config::Value report_value(const Report& report);

}  // namespace stap
