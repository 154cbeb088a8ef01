#include "progress_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace stap::app {
namespace {

constexpr std::size_t kWidestBar = 30, kNarrowestBar = 10;

// Characters of UTF-8: all bytes that do not continue one.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

// Per cent of all work, whatever is counted: 100 only at the end.
std::string count_text(const ProgressText& text) {
  // The epochs of a run count for all that it does.
  const bool beside = text.unit == "epochs" && text.phase.find("train") == std::string::npos;
  const std::string all = text.unit.empty() ? ""
                          : beside          ? " of all work"
                                            : fmt::format(" of {} {}", text.total, text.unit);
  return fmt::format("{} %{}", 100 * text.done / text.total, all);
}

std::string left_text(const ProgressText& text) {
  return text.left.empty() ? "" : fmt::format(", {} left", text.left);
}

}  // namespace

std::string cut_to(std::string text, std::size_t columns) {
  while (width(text) > columns) {
    while ((text.back() & 0xC0) == 0x80) text.pop_back();
    text.pop_back();
  }
  return text;
}

std::string log_line(const ProgressText& text) {
  return fmt::format("{}: {}{}", text.phase, count_text(text), left_text(text));
}

std::string bar_line(const ProgressText& text, std::size_t columns) {
  const std::string counted = count_text(text) + left_text(text);
  const bool plain = text.last_warning.find('\n') == std::string::npos;
  const std::string warned =
      text.last_warning.empty() || !plain ? "" : fmt::format("; warning: {}", text.last_warning);
  for (const std::string& end : {warned, std::string()}) {
    const std::size_t rest = width(text.phase) + width(" [] ") + width(counted) + width(end);
    if (rest + kNarrowestBar > columns) continue;
    const std::size_t bar = std::min(kWidestBar, columns - rest);
    const double part = static_cast<double>(text.done) / static_cast<double>(text.total);
    const auto filled = static_cast<std::size_t>(part * static_cast<double>(bar));
    return fmt::format("{} [{:#<{}}{:{}}] {}{}", text.phase, "", filled, "", bar - filled, counted,
                       end);
  }
  for (const std::string& end : {": " + counted, ": " + count_text(text)})
    if (width(text.phase) + width(end) <= columns) return text.phase + end;
  const std::string end = "..: " + count_text(text);
  if (width(end) >= columns) return cut_to(count_text(text), columns);
  return cut_to(text.phase, columns - width(end)) + end;
}

LogPace::Verdict LogPace::judge(const std::string& phase, std::size_t done, std::size_t total,
                                Time now) {
  const std::size_t tenth = done >= total ? 10 : done * 10 / total;
  const auto seen = tenths_.find(phase);
  if (seen != tenths_.end() && seen->second == tenth) return Verdict::never;
  const auto apart = std::clamp<Time::duration>((now - start_) / 20, std::chrono::seconds(1),
                                                std::chrono::minutes(10));
  if (!tenths_.empty() && now - last_ < apart) return Verdict::later;
  tenths_[phase] = tenth;
  last_ = now;
  return Verdict::show;
}

}  // namespace stap::app
