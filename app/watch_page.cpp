#include "watch_page.h"

#include <exception>
#include <span>

#include <fmt/format.h>

#include "stap/report/page.h"
#include "stap/report/watch.h"

namespace stap::app {

namespace {

// What is waited for, if a run says so; else why there is no report.
std::string why_none(const std::filesystem::path& folder, double now, const std::string& problem) {
  for (const LiveRun& run : look_at_live(folder, now).runs)
    if (run.status.phase == "data") return fmt::format("{}: {}", run.name, run.words);
  return problem;
}

}  // namespace

LivePage live_page(const std::filesystem::path& folder, double now, bool last) {
  LivePage page;
  try {
    page.text = page_text(gather_report(std::span(&folder, 1)), true);
  } catch (const std::exception& error) {  // nothing to show, or files that change below the reader
    page.text = waiting_page(folder.string(), why_none(folder, now, error.what()), last);
    page.waiting = true;
    page.last = last;
  }
  page.policy = page_policy(true);
  return page;
}

}  // namespace stap::app
