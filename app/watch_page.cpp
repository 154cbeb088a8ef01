#include "watch_page.h"

#include <exception>
#include <span>

#include "stap/report/page.h"

namespace stap::app {

LivePage live_page(const std::filesystem::path& folder, bool last) {
  LivePage page;
  try {
    page.text = page_text(gather_report(std::span(&folder, 1)), true);
  } catch (const std::exception& error) {  // nothing to show, or files that change below the reader
    page.text = waiting_page(folder.string(), error.what(), last);
    page.waiting = true;
    page.last = last;
  }
  page.policy = page_policy(true);
  return page;
}

}  // namespace stap::app
