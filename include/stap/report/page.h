#pragma once

#include <string>

#include "stap/config/value.h"
#include "stap/report/report.h"

namespace stap {

/// One HTML page that needs nothing else and asks no network: styles and scripts are in it, and a
/// Content-Security-Policy allows these and nothing more. Without scripts it says the same. Texts
/// of folders and configurations are never anything but text. The same report gives the same bytes.
/// `live`: of a page that is made again while runs work; until they have ended it reloads itself.
struct LivePage {
  double done = 0;     ///< of all that the runs are to do, 0 to 1
  std::string left{};  ///< time, in words; empty: not known
  bool ended = false;
};
std::string page_text(const Report& report, const LivePage* live = nullptr);

/// Format report/1: what the page shows, for programs.
config::Value report_value(const Report& report);

}  // namespace stap
