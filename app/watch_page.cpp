#include "watch_page.h"

#include <exception>
#include <span>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/report/page.h"

namespace stap::app {
namespace {

std::string as_text(std::string_view raw) {
  std::string text;
  for (const char c : raw)
    text += c == '<'   ? "&lt;"
            : c == '>' ? "&gt;"
            : c == '&' ? "&amp;"
            : c == '"' ? "&quot;"
                       : std::string(1, c);
  return text;
}

// What the page itself says in its head: a header may say it, too, and more.
std::string policy_of(const std::string& page) {
  constexpr std::string_view before = "http-equiv=\"Content-Security-Policy\" content=\"";
  const std::size_t found = page.find(before);
  if (found == std::string::npos) return "default-src 'none'; style-src 'unsafe-inline'";
  const std::size_t begin = found + before.size();
  std::string policy = page.substr(begin, page.find('"', begin) - begin);
  for (std::size_t at; (at = policy.find("&#39;")) != std::string::npos;)
    policy.replace(at, 5, "'");
  return policy;
}

std::string waiting_page(const std::filesystem::path& folder, std::string_view why) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"refresh\" content=\"2\">\n"
      "<title>stap watch</title></head>\n<body><main><h1>{}</h1>\n<p>{}</p>\n"
      "<p>This page asks again by itself. <a href=\"status.json\">status.json</a></p></main></body>"
      "</html>\n",
      as_text(folder.string()), as_text(why));
}

}  // namespace

LivePage live_page(const std::filesystem::path& folder) {
  LivePage page;
  try {
    page.text = page_text(gather_report(std::span(&folder, 1)), true);
  } catch (const Error& error) {
    page.text = waiting_page(folder, error.what());
  } catch (const std::exception& error) {  // a file system that changes below the reader
    page.text = waiting_page(folder, error.what());
  }
  page.policy = policy_of(page.text);
  return page;
}

}  // namespace stap::app
