#pragma once

#include <filesystem>
#include <string>

namespace stap::app {

/// The report of a folder as it stands `now` (seconds since 1970), or a page that says why there is
/// none yet and, unless it is the `last` one, asks again by itself.
struct LivePage {
  std::string text;
  std::string policy;    ///< that of its contents, for the header
  bool waiting = false;  ///< there is no report
  bool last = false;     ///< and there will be none
};
LivePage live_page(const std::filesystem::path& folder, double now, bool last);

}  // namespace stap::app
