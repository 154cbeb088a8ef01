// Differences of many methods to the first one, with their intervals, below each other.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/frame.h"
#include "report/html.h"
#include "report/legend.h"
#include "report/page_parts.h"

namespace stap {
namespace {

constexpr std::size_t kFew = 5;  // methods that need none

struct Line {
  const ReportMethod* method;
  Comparison comparison;
};

// Ordered by error; empty where nothing can be compared with the first row.
std::vector<Line> lines_of(const ReportProblem& problem, const Headline& head) {
  std::vector<Line> lines;
  for (const auto& set : ranked_sets(problem.table, head.whose)) {
    if (std::ranges::find(set, std::size_t{0}) == set.end()) continue;
    for (const std::size_t row : set)
      if (row != 0)
        lines.push_back({&problem.methods[row], compare_rows(problem.table.rows[row].of(head.whose),
                                                             problem.table.rows[0].of(head.whose),
                                                             comparisons_of(set.size()))});
  }
  std::erase_if(lines, [](const Line& line) { return !std::isfinite(line.comparison.half); });
  return lines;
}

std::string change_of(double log) {
  return fmt::format("{}{:.0f}", log < 0 ? "−" : "+", std::abs(100 * std::expm1(log)));
}

}  // namespace

bool has_forest(const ReportProblem& problem, const Headline& head) {
  return problem.table.rows.size() > kFew && lines_of(problem, head).size() + 1 > kFew;
}

std::string forest_svg(const ReportProblem& problem, const Headline& head) {
  const std::vector<Line> lines = lines_of(problem, head);
  const FigureStyle style{.width_mm = 150, .height_mm = 80, .font_pt = 9, .page = true};
  const double font = style.font_pt, width = style.width_mm * kPointsPerMm, row = 1.75 * font;
  double left = 0, right = 0;
  std::vector<double> ends{1};
  std::vector<std::string> texts;
  for (const auto& [method, c] : lines) {
    const double low = c.paired.mean - c.half, high = c.paired.mean + c.half;
    ends.insert(ends.end(), {std::exp(low), std::exp(high)});
    texts.push_back(
        fmt::format("{} % ({} to {})", change_of(c.paired.mean), change_of(low), change_of(high)));
    left = std::max(left, text_width(method->label, font));
    right = std::max(right, text_width(texts.back(), font));
  }
  left = std::min(left, 0.3 * width) + font;
  Frame frame{.x = span_of(ends, true, 0.03, false)};
  frame.left = left;
  frame.right = width - right - 2 * font;
  frame.top = 0.3 * font;
  frame.bottom = frame.top + row * static_cast<double>(lines.size());
  frame.x_ticks = ticks_of(frame.x, 6);
  const std::string base = shortened(problem.table.rows[0].label);
  Svg svg(width, frame.bottom + 3 * font, style, "Error relative to " + base,
          "Marks: mean differences; lines: 95 % intervals");
  for (const double tick : frame.x_ticks.major) {
    const double x = frame.at_x(tick);
    svg.line(x, frame.top, x, frame.bottom, "class=\"grid\" stroke=\"#e4e4e4\"");
    svg.text(x, frame.bottom + 0.9 * font, Anchor::middle, change_of(std::log(tick)) + " %");
  }
  svg.line(frame.at_x(1), frame.top, frame.at_x(1), frame.bottom,
           "class=\"axis\" stroke=\"#333333\" stroke-width=\"0.8\"");
  svg.text((frame.left + frame.right) / 2, frame.bottom + 2.2 * font, Anchor::middle,
           "error relative to " + base);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto& [method, c] = lines[i];
    const double y = frame.top + row * (static_cast<double>(i) + 0.5);
    const std::string colour = group_colour(method->group);
    const double from = frame.at_x(std::exp(c.paired.mean - c.half)),
                 to = frame.at_x(std::exp(c.paired.mean + c.half));
    svg.cut_text(left - 0.7 * font, y, Anchor::end, shortened(method->label, left - font, font),
                 method->label);
    svg.add(
        fmt::format("<path d=\"M{0} {2}H{1}M{0} {3}V{4}M{1} {3}V{4}\" class=\"line g{5}\" "
                    "fill=\"none\" stroke=\"{6}\" stroke-width=\"1.2\"/>\n",
                    coordinate(from), coordinate(to), coordinate(y), coordinate(y - 2),
                    coordinate(y + 2), method->group, colour));
    svg.add(fmt::format("<path d=\"{}\" class=\"mark g{}\" fill=\"{}\"/>\n",
                        mark_path(method->group, frame.at_x(std::exp(c.paired.mean)), y, 3),
                        method->group, colour));
    svg.text(frame.right + 0.7 * font, y, Anchor::start, texts[i]);
  }
  const auto better = std::ranges::count_if(
      lines, [](const Line& line) { return line.comparison.verdict() == Verdict::lower; });
  return fmt::format(
      "<figure class=\"forest\"><figcaption><strong>{} a significantly lower "
      "error than {}</strong> <span>Averaged over the rounds, in per cent; 95 % intervals, "
      "paired by seed and corrected for {} comparisons.</span></figcaption><div class=\"plot\">{}"
      "</div></figure>\n",
      better == 0   ? std::string("No method has")
      : better == 1 ? fmt::format("One of {} methods has", lines.size())
                    : fmt::format("{} of {} methods have", better, lines.size()),
      escaped(base), lines.front().comparison.comparisons, std::move(svg).finish());
}

}  // namespace stap
