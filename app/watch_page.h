#pragma once

#include <filesystem>
#include <string>

namespace stap::app {

/// The report of a folder as it stands, or a page that says why there is none yet and asks again by
/// itself.
struct LivePage {
  std::string text;
  std::string policy;  ///< that of its contents, for the header
};
LivePage live_page(const std::filesystem::path& folder);

}  // namespace stap::app
