#pragma once

#include <string>

#include "stap/config/value.h"
#include "stap/report/report.h"

namespace stap {

/// One HTML page that needs nothing else and asks no network: styles and scripts are in it, and a
/// Content-Security-Policy allows these and nothing more. Without scripts it says the same. Texts
/// of folders and configurations are never anything but text. The same report gives the same bytes.
/// `live`: it may ask the server it came from for news (docs/report.md).
std::string page_text(const Report& report, bool live = false);

/// What the page allows itself, for who serves it as a header.
std::string page_policy(bool live);
/// In the place of a page that cannot be made, asked for again by itself every two seconds unless
/// it is the `last` one.
std::string waiting_page(const std::string& title, const std::string& why, bool last = false);

/// Format report/1: what the page shows, for programs.
config::Value report_value(const Report& report);

}  // namespace stap
