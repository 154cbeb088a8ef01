#include "results/text_layout.h"

#include <algorithm>

#include <fmt/format.h>

#include "stap/core/shown_text.h"

namespace stap {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLongestLabel = 24;  // beside numbers, where not all of them fit otherwise
constexpr std::size_t kLabelLines = 2;     // of a label that has lines of its own

bool continues(char c) {
  return (c & 0xc0) == 0x80;
}

// The first bytes that take this many columns.
std::size_t bytes_of(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  while (end < text.size() && (columns > 0 || continues(text[end])))
    if (!continues(text[end++])) --columns;
  while (end < text.size() && continues(text[end])) ++end;
  return end;
}

// The middle goes: labels differ in their ends.
std::string shortened(const std::string& text, std::size_t columns) {
  if (width_of(text) <= columns) return text;
  const std::size_t front = columns / 2, back = columns - front - 1;
  return text.substr(0, bytes_of(text, front)) + "…" +
         text.substr(bytes_of(text, width_of(text) - back));
}

std::string padded(const std::string& text, std::size_t width, bool left, Paint paint,
                   const TextStyle& style) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  const std::string shown = painted(text, paint, style);
  return left ? shown + space : space + shown;
}

std::size_t column_width(const TextColumn& column) {
  std::size_t width = width_of(column.head);
  for (const TextCell& cell : column.cells) width = std::max(width, width_of(cell.text));
  return width;
}

// How many of these columns fit beside a label; one always does.
std::size_t fitting(std::span<const TextColumn> columns, std::size_t label, std::size_t most) {
  std::size_t count = 0, width = label;
  while (count < columns.size()) {
    width += kGap + column_width(columns[count]);
    if (width > most && count > 0) break;
    ++count;
  }
  return count;
}

void end_line(std::string& text, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + '\n';
}

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return !continues(c); }));
}

std::string one_line(std::string_view text) {
  std::string shown = printable(text);
  for (char& c : shown)
    if (c == '\n' || c == '\t') c = ' ';
  return shown;
}

std::string wrapped(std::string_view text, std::size_t columns, std::size_t hang) {
  std::string lines;
  std::size_t room = columns;
  for (;;) {
    const std::size_t fits = bytes_of(text, room);
    if (fits == text.size()) return lines.append(text) + '\n';
    std::size_t end = text.rfind(' ', fits);
    if (end == std::string_view::npos || end == 0) end = fits;
    lines.append(text.substr(0, end)) += '\n';
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    lines.append(hang, ' ');
    room = columns - std::min(hang, columns - 1);
  }
}

std::string painted(std::string_view text, Paint paint, const TextStyle& style) {
  if (!style.colour || paint == Paint::plain || text.empty()) return std::string(text);
  const int code = paint == Paint::bold    ? 1
                   : paint == Paint::dim   ? 2
                   : paint == Paint::green ? 32
                                           : 31;
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

std::string laid_out(const std::string& corner, std::span<const std::string> labels,
                     std::span<const TextColumn> columns, const TextStyle& style) {
  std::size_t longest = width_of(corner);
  for (const std::string& label : labels) longest = std::max(longest, width_of(label));
  const bool apart =
      longest > kLongestLabel && fitting(columns, longest, style.columns) < columns.size();
  const std::size_t room = apart ? 0 : longest;
  std::string text;
  for (auto rest = columns; !rest.empty();) {
    const auto band = rest.first(fitting(rest, room, style.columns));
    rest = rest.subspan(band.size());
    if (!text.empty()) text += '\n';
    if (apart) end_line(text, painted(shortened(corner, style.columns), Paint::dim, style));
    std::string line = padded(apart ? "" : corner, room, true, Paint::dim, style);
    for (const TextColumn& column : band)
      line += std::string(kGap, ' ') +
              padded(column.head, column_width(column), column.left, Paint::dim, style);
    end_line(text, line);
    for (std::size_t r = 0; r < labels.size(); ++r) {
      if (apart)
        text += wrapped(shortened(labels[r], kLabelLines * (style.columns - 4)), style.columns, 4);
      line = padded(apart ? "" : labels[r], room, true, Paint::plain, style);
      for (const TextColumn& column : band)
        line += std::string(kGap, ' ') + padded(column.cells[r].text, column_width(column),
                                                column.left, column.cells[r].paint, style);
      end_line(text, line);
    }
  }
  return text;
}

}  // namespace stap
