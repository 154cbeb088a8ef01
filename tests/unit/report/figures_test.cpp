// Charts, pictures and their drawings.
#include "stap/report/figures.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <limits>
#include <regex>
#include <set>

#include <fmt/format.h>

#include "report/html.h"
#include "report/page_parts.h"
#include "report/ticks.h"
#include "stap/core/error.h"
#include "stap/core/rng.h"
#include "stap/folder/run_folder.h"
#include "stap/report/field.h"
#include "stap/results/published.h"
#include "support/contains.h"
#include "support/table_results.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::result;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What is wrong with a piece of XML, by a small reader of what we write: elements, attributes in
// double quotes, text, and the five entities; empty if nothing is.
std::string xml_complaint(const std::string& xml) {
  static const std::regex tag(
      R"(<(/?)([A-Za-z][\w:-]*)((?:\s+[A-Za-z][\w:-]*="[^"<]*")*)\s*(/?)>)");
  static const std::regex bad_entity(R"(&(?!(amp|lt|gt|quot|#39);))");
  std::vector<std::string> open;
  std::size_t at = 0;
  for (auto it = std::sregex_iterator(xml.begin(), xml.end(), tag); it != std::sregex_iterator();
       ++it) {
    const std::string between = xml.substr(at, static_cast<std::size_t>(it->position()) - at);
    if (between.find_first_of("<>") != std::string::npos) return "no tag: " + between.substr(0, 80);
    at = static_cast<std::size_t>(it->position() + it->length());
    if ((*it)[1].length() > 0) {
      if (open.empty() || open.back() != (*it)[2]) return "closes another: " + it->str();
      open.pop_back();
    } else if ((*it)[4].length() == 0) {
      open.push_back((*it)[2]);
    }
  }
  if (!open.empty()) return "not closed: " + open.back();
  if (xml.substr(at).find_first_not_of(" \n") != std::string::npos) return "text behind the end";
  return std::regex_search(xml, bad_entity) ? "a bare &" : "";
}

// Attribute numbers of the first element that matches.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
};
double attribute(const std::string& element, const std::string& name) {
  std::smatch found;
  const std::regex pattern(" " + name + "=\"([-0-9.]+)\"");
  return std::regex_search(element, found, pattern) ? std::stod(found[1]) : kNan;
}
// The first two lines of class axis: below and left of the data.
Box frame_of(const std::string& svg) {
  static const std::regex axis(R"(<line [^>]*class="axis"[^>]*>)");
  auto it = std::sregex_iterator(svg.begin(), svg.end(), axis);
  const std::string below = it->str(), left = std::next(it)->str();
  return {attribute(below, "x1"), attribute(left, "y1"), attribute(below, "x2"),
          attribute(left, "y2")};
}

// Places of all M and L in paths of a class.
std::vector<std::pair<double, double>> places(const std::string& svg, const std::string& css) {
  std::vector<std::pair<double, double>> found;
  const std::regex path("<path d=\"([^\"]*)\" class=\"" + css + "[ \"]");
  static const std::regex place(R"([ML](-?[\d.]+) (-?[\d.]+))");
  for (auto it = std::sregex_iterator(svg.begin(), svg.end(), path); it != std::sregex_iterator();
       ++it) {
    const std::string d = (*it)[1];
    for (auto p = std::sregex_iterator(d.begin(), d.end(), place); p != std::sregex_iterator(); ++p)
      found.emplace_back(std::stod((*p)[1]), std::stod((*p)[2]));
  }
  return found;
}

Chart two_lines() {
  return {.title = "two",
          .x = {.label = "steps"},
          .y = {.label = "error", .unit = "m", .log = true},
          .series = {{.label = "a", .group = 0, .x = {1, 2, 3}, .y = {0.1, 0.01, 0.001}},
                     {.label = "b",
                      .group = 1,
                      .x = {1, 2, 3},
                      .y = {0.2, 0.1, 0.05},
                      .low = {0.1, 0.05, 0.02},
                      .high = {0.3, 0.2, 0.1}}}};
}

TEST(ChartSvg, StatesItsSizeAndFontAndPutsValuesWhereTheyBelong) {
  const std::string svg = svg_text(two_lines(), {.width_mm = 90, .height_mm = 55, .font_pt = 7});

  EXPECT_EQ(xml_complaint(svg), "");
  EXPECT_TRUE(test::contains(svg, "width=\"90mm\" height=\"55mm\""));
  EXPECT_TRUE(test::contains(svg, "font-size=\"7\""));
  EXPECT_TRUE(test::contains(svg, "role=\"img\" aria-label=\"two\""));
  EXPECT_TRUE(test::contains(svg, ">error (m)<"));
  const Box box = frame_of(svg);
  const auto lines = places(svg, "line g0");
  ASSERT_EQ(lines.size(), 3u);
  // Equal factors are equal distances on a logarithmic axis, equal steps on the other; half a
  // hundredth is the rounding of coordinates.
  EXPECT_NEAR(lines[1].second - lines[0].second, lines[2].second - lines[1].second, 0.02);
  EXPECT_NEAR(lines[1].first - lines[0].first, lines[2].first - lines[1].first, 0.02);
  EXPECT_LT(lines[0].second, lines[1].second);  // 0.1 lies higher than 0.01
  for (const auto& css : {"line g0", "line g1", "band g1"})
    for (const auto& [x, y] : places(svg, css)) {
      EXPECT_GE(x, box.left);
      EXPECT_LE(x, box.right);
      EXPECT_GE(y, box.top);
      EXPECT_LE(y, box.bottom);
    }
  // Groups differ in colour and, for those who do not see it, in dashes.
  EXPECT_NE(group_colour(0), group_colour(1));
  EXPECT_TRUE(test::contains(svg, "stroke-dasharray"));
  const std::string page = svg_text(two_lines(), {.page = true});
  EXPECT_TRUE(test::contains(page, "width=\"100%\" viewBox="));
  EXPECT_FALSE(test::contains(page, "class=\"paper\""));
}

// Mutations: axes that bands widen up to a limit (as they once were), an end that no axis can hold
// drawn as one that is there.
TEST(ChartSvg, IntervalsAreWholeOrGoOnVisibly) {
  Chart chart = two_lines();
  Series& line = chart.series[1];
  line.low = {1e-9, 0.05, 0.02};
  line.high = {0.3, 1e6, 0.1};
  Series whiskers = line;
  whiskers.mark = Series::Mark::points;
  whiskers.group = 2;
  chart.series.push_back(whiskers);
  const std::string svg = svg_text(chart, {});
  const Box box = frame_of(svg);

  for (const char* css : {"band g1", "line g2"}) {
    const auto ends = places(svg, css);
    ASSERT_FALSE(ends.empty()) << css;
    for (const auto& [x, y] : ends) {
      EXPECT_GT(y, box.top + 0.1) << css;
      EXPECT_LT(y, box.bottom - 0.1) << css;
    }
  }
  EXPECT_FALSE(test::contains(svg, "beyond the axis"));
  chart.series[1].low[0] = chart.series[2].low[0] = 0;
  chart.series[2].high[1] = kInfinity;
  const std::string open = svg_text(chart, {});
  EXPECT_TRUE(test::contains(open, "3 ends of intervals are beyond the axis (arrows)"));
  EXPECT_EQ(xml_complaint(open), "");
}

// A column's width has no room for five names side by side. Mutations: a name that is cut, a zero
// or a bar of half a point without its number.
TEST(ChartSvg, NamesHaveTwoRowsAndBarsThatCannotBeSeenTheirNumber) {
  Chart chart{.title = "bars"};
  chart.x.names = {"bought", "warm-ups", "failed", "refused", "unspent"};
  for (std::size_t m = 0; m < 3; ++m)
    chart.series.push_back({.label = fmt::format("method {}", m),
                            .group = m,
                            .mark = Series::Mark::bars,
                            .x = {0, 1, 2, 3, 4},
                            .y = {1000, 500, 0, 0.25, 0}});
  const std::string svg = svg_text(chart, {});
  const auto count = [&](const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = svg.find(what, at)) != std::string::npos; ++at) ++n;
    return n;
  };

  EXPECT_FALSE(test::contains(svg, "…")) << svg;
  EXPECT_EQ(count(">warm-<"), 1u);
  EXPECT_EQ(count(">ups<"), 1u);
  EXPECT_EQ(count(">refused<"), 1u);
  EXPECT_EQ(count(">0<"), 7u);  // of the bars, and of the axis
  EXPECT_EQ(count(">0.250<"), 3u);
}

TEST(ChartSvg, HostileTextStaysText) {
  Chart chart = two_lines();
  chart.title = chart.note = chart.x.label = chart.y.unit =
      "</title><script>alert('1')</script>&\"";
  chart.series[0].label = std::string(10'000, 'x') + "<b>";
  chart.series[1].label = "\x01\xff\xc0\xaf\xed\xa0\x80 \xe2\x82\xac";

  const std::string svg = svg_text(chart, {});

  EXPECT_EQ(xml_complaint(svg), "");
  EXPECT_FALSE(test::contains(svg, "<script"));
  EXPECT_LT(svg.size(), 20'000u);  // long names are cut
  EXPECT_EQ(escaped("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(escaped("\xe2\x82\xac"), "\xe2\x82\xac");
  EXPECT_EQ(escaped("\x01"), "\xef\xbf\xbd");
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // a lone surrogate
  EXPECT_EQ(escaped("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");  // too long for its code
}

// Breaks if can_show() lets what is not finite (or, on a logarithmic axis, not above 0) through, if
// equal values are not widened, or if a band is not cut at the frame.
TEST(ChartSvg, RandomChartsAreNeverDrawnOutsideOrAsNoNumbers) {
  constexpr double kOdd[] = {0,     -0.0,   -1,     1,      kNan, kInfinity, -kInfinity,
                             1e300, -1e308, 1e-320, 1e-300, 3,    1e9,       1e9 + 1};
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const Rng rng = Rng(seed).split("chart");
    std::uint64_t draw = 0;
    const auto below = [&](std::uint64_t n) { return rng.below(draw++, n); };
    const auto value = [&]() -> double {
      if (below(3) == 0) return kOdd[below(std::size(kOdd))];
      return rng.normal(draw++) * std::pow(10.0, static_cast<double>(below(12)) - 6);
    };
    Chart chart{.title = "r"};
    chart.x.log = below(3) == 0;
    chart.y.log = below(2) == 0;
    if (below(4) == 0) chart.x.names.assign(below(6) + 1, "name");
    const std::size_t count = below(7);
    for (std::size_t s = 0; s < count; ++s) {
      Series series{.label = "s" + std::to_string(s), .group = below(20)};
      series.mark = static_cast<Series::Mark>(below(3));
      series.seed = below(4) == 0;
      series.guide = below(6) == 0;
      series.published = below(6) == 0;
      const std::size_t n = below(30);
      for (std::size_t i = 0; i < n; ++i) {
        series.x.push_back(
            chart.x.names.empty() ? value() : static_cast<double>(below(chart.x.names.size())));
        series.y.push_back(value());
        series.low.push_back(value());
        series.high.push_back(value());
      }
      if (below(2) == 0) series.low.clear();
      if (below(5) == 0) series.y.resize(n / 2);
      chart.series.push_back(std::move(series));
    }
    const FigureStyle style{.width_mm = 30.0 + static_cast<double>(below(100)),
                            .height_mm = 25.0 + static_cast<double>(below(80)),
                            .font_pt = 5.0 + static_cast<double>(below(8)),
                            .page = below(2) == 0,
                            .seeds = below(2) == 0};

    const std::string svg = svg_text(chart, style);

    EXPECT_EQ(xml_complaint(svg), "") << seed;
    static const std::regex no_number(
        R"(="[^"]*(?:nan|inf)[^"]*"|(?: [xy][12]?| d| width| height)="[^"]*\de[-+]?\d)");
    std::smatch bad;
    EXPECT_FALSE(std::regex_search(svg, bad, no_number)) << seed << ": " << bad.str();
    const Box box = frame_of(svg);
    for (const auto& [x, y] : places(svg, "(?:line|band|dots)")) {
      EXPECT_GE(x, box.left - 0.3 * style.font_pt) << seed;  // caps of whiskers
      EXPECT_LE(x, box.right + 0.3 * style.font_pt) << seed;
      EXPECT_GE(y, box.top - 0.01) << seed;
      EXPECT_LE(y, box.bottom + 0.01) << seed;
    }
    static const std::regex bar("<rect [^>]*class=\"bar[^>]*>");
    for (auto it = std::sregex_iterator(svg.begin(), svg.end(), bar); it != std::sregex_iterator();
         ++it) {
      EXPECT_GE(attribute(it->str(), "y"), box.top - 0.01) << seed;
      EXPECT_LE(attribute(it->str(), "y") + attribute(it->str(), "height"), box.bottom + 0.02)
          << seed;
    }
  }
}

TEST(ChartSvg, SaysWhatALogarithmicAxisCannotShow) {
  Chart chart = two_lines();
  chart.series[0].y = {-1, 0, 0.5};
  chart.series[1].y[2] = kNan;  // a gap needs no words

  const std::string svg = svg_text(chart, {});

  EXPECT_TRUE(test::contains(svg, "2 values are not shown: infinite, or not above 0"));
  EXPECT_TRUE(
      test::contains(svg_text(Chart{.title = "t", .note = "no run yet"}, {}), ">no run yet<"));
}

// Breaks if a step of 1, 2, 5 is skipped or a last tick is lost to rounding.
TEST(Ticks, AreRoundAndCoverTheirSpan) {
  for (std::uint64_t i = 0; i < 400; ++i) {
    const Rng rng(i);
    const bool log = i % 2 == 0;
    const double size = std::pow(10.0, rng.uniform(0, -9, 9));
    const double low = log ? size : rng.normal(1) * size;
    const double high = log ? low * std::pow(10.0, rng.uniform(2, 0.01, i % 3 == 0 ? 40 : 4))
                            : low + size * rng.uniform(2, 0.01, 9);
    const Span span{low, high, log};

    const Ticks ticks = ticks_of(span, 6);

    ASSERT_GE(ticks.major.size(), 2u) << low << " " << high << " " << log;
    EXPECT_LE(ticks.major.size(), 9u) << low << " " << high << " " << log;
    ASSERT_EQ(ticks.labels.size(), ticks.major.size());
    EXPECT_EQ(std::set<std::string>(ticks.labels.begin(), ticks.labels.end()).size(),
              ticks.labels.size());
    double widest = 0;
    for (std::size_t k = 1; k < ticks.major.size(); ++k)
      widest = std::max(widest, span.part(ticks.major[k]) - span.part(ticks.major[k - 1]));
    // No stretch as long as half the axis is without a tick.
    EXPECT_GT(widest, 0);
    EXPECT_LT(widest, 0.52) << low << " " << high << " " << log;
    EXPECT_LT(span.part(ticks.major.front()), 0.5) << low << " " << high << " " << log;
    EXPECT_GT(span.part(ticks.major.back()), 0.5) << low << " " << high << " " << log;
    EXPECT_GE(ticks.major.front(), low);
    EXPECT_LE(ticks.major.back(), high);
  }
}

TEST(Ticks, AreWrittenPlainly) {
  EXPECT_EQ(ticks_of({0, 10, false}, 5).labels,
            (std::vector<std::string>{"0", "2", "4", "6", "8", "10"}));
  EXPECT_EQ(ticks_of({-0.5, 0.5, false}, 2).labels,
            (std::vector<std::string>{"\u22120.5", "0.0", "0.5"}));
  EXPECT_EQ(ticks_of({0.0005, 2, true}, 8).labels,
            (std::vector<std::string>{"0.001", "0.01", "0.1", "1"}));
  EXPECT_EQ(ticks_of({1e-7, 1e-4, true}, 8).labels,
            (std::vector<std::string>{"10⁻⁷", "10⁻⁶", "10⁻⁵", "10⁻⁴"}));
  EXPECT_EQ(ticks_of({0.02, 0.3, true}, 8).labels,
            (std::vector<std::string>{"0.02", "0.05", "0.1", "0.2"}));
  const Ticks large = ticks_of({0, 4e7, false}, 5);
  EXPECT_EQ(large.exponent, 6);
  EXPECT_EQ(large.labels.back(), "40");
  EXPECT_EQ(axis_text({.label = "cost", .unit = "s"}, large.exponent), "cost (10⁶ s)");
  EXPECT_EQ(number_text(0.012345), "0.0123");
  EXPECT_EQ(number_text(-12345), "\u221212\u2009345");
  EXPECT_EQ(number_text(1.5e-7), "1.5·10⁻⁷");
}

// A PNG by its format alone: chunks with their sums, then rows with their filters.
struct Decoded {
  std::size_t width = 0, height = 0;
  std::vector<Colour> colours;
  std::vector<std::uint8_t> values;
};
Decoded decode(const std::string& png) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(png.at(i)); };
  const auto number = [&](std::size_t i) {
    return std::size_t{byte(i)} << 24U | std::size_t{byte(i + 1)} << 16U |
           std::size_t{byte(i + 2)} << 8U | byte(i + 3);
  };
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  Decoded out;
  std::string packed;
  for (std::size_t at = 8; at < png.size();) {
    const std::size_t size = number(at);
    const std::string type = png.substr(at + 4, 4);
    EXPECT_EQ(number(at + 8 + size), crc32(0, reinterpret_cast<const Bytef*>(png.data() + at + 4),
                                           static_cast<uInt>(size + 4)));
    if (type == "IHDR") out.width = number(at + 8), out.height = number(at + 12);
    if (type == "PLTE")
      for (std::size_t i = 0; i < size; i += 3)
        out.colours.push_back({byte(at + 8 + i), byte(at + 9 + i), byte(at + 10 + i)});
    if (type == "IDAT") packed += png.substr(at + 8, size);
    at += 12 + size;
  }
  std::string rows((out.width + 1) * out.height, '\0');
  uLongf size = static_cast<uLongf>(rows.size());
  EXPECT_EQ(
      uncompress(reinterpret_cast<Bytef*>(rows.data()), &size,
                 reinterpret_cast<const Bytef*>(packed.data()), static_cast<uLong>(packed.size())),
      Z_OK);
  EXPECT_EQ(size, rows.size());
  for (std::size_t y = 0; y < out.height; ++y) {
    const int filter = rows[y * (out.width + 1)];
    EXPECT_LE(filter, 2);
    for (std::size_t x = 0; x < out.width; ++x) {
      unsigned v = static_cast<std::uint8_t>(rows[y * (out.width + 1) + 1 + x]);
      if (filter == 1 && x > 0) v += out.values[y * out.width + x - 1];
      if (filter == 2 && y > 0) v += out.values[(y - 1) * out.width + x];
      out.values.push_back(static_cast<std::uint8_t>(v & 255U));
    }
  }
  return out;
}

TEST(Png, DecodesToTheSameValuesAndDistinctColours) {
  for (const auto& [width, height] : {std::pair{1, 1}, std::pair{257, 3}, std::pair{16, 33}})
    for (const bool smooth : {true, false}) {
      Picture picture{.width = static_cast<std::size_t>(width),
                      .height = static_cast<std::size_t>(height)};
      const Rng rng(3);
      for (std::size_t i = 0; i < picture.width * picture.height; ++i)
        picture.values.push_back(static_cast<std::uint8_t>(smooth ? i / 3 : rng.below(i, 256)));

      const Decoded decoded = decode(png_bytes(picture));

      EXPECT_EQ(decoded.width, picture.width);
      EXPECT_EQ(decoded.values, picture.values);
    }
  for (const Palette palette : {Palette::sequential, Palette::diverging, Palette::bought}) {
    Picture one{.width = 1, .height = 1, .values = {7}, .palette = palette};
    const Decoded decoded = decode(png_bytes(one));
    EXPECT_EQ(std::set<Colour>(decoded.colours.begin(), decoded.colours.end()).size(), 256u);
  }
  EXPECT_THROW(png_bytes({.width = 2, .height = 2, .values = {1}}), Error);
  EXPECT_EQ(data_uri({.width = 1, .height = 1, .values = {0}}).substr(0, 30),
            "data:image/png;base64,iVBORw0K");
}

TEST(Picture, RoundsToTheNearestLevel) {
  const std::vector<float> values{-1, 0, 1, 5, std::numeric_limits<float>::quiet_NaN(), 0.25F};

  const Picture picture = make_picture(3, 2, values, -1, 1, Palette::diverging);

  EXPECT_EQ(picture.values, (std::vector<std::uint8_t>{0, 127, 254, 254, kNoNumber, 159}));
  EXPECT_EQ(picture.value(1, 0), 0.0);  // 0 is a level: no error is white
  EXPECT_TRUE(std::isnan(picture.value(1, 1)));
  EXPECT_NEAR(picture.value(2, 1), 0.25, 1.0 / 254);
}

// test::result gives logarithms by round. Three seeds: t of 0.975 with two degrees of freedom is
// 4.3027.
TEST(Figures, ErrorsAreGeometricMeansOverSeedsAgainstSolverSteps) {
  std::vector<RunResult> results{result("random", 0, {-1, -2}),      result("random", 1, {-2, -3}),
                                 result("random", 2, {-3, -7}),      result("sbal", 0, {-1, -4}),
                                 result("sbal", 1, {-3, kInfinity}), result("sbal", 1, {-9, -9})};
  for (RunResult& run : results) {
    run.measured = {0, 1};
    run.transitions = {10, 30};
    run.cluster = 2;
  }
  const auto problems = methods_of(results);

  ASSERT_EQ(problems.size(), 1u);
  ASSERT_EQ(problems[0].methods.size(), 2u);
  EXPECT_EQ(problems[0].methods[1].runs.size(), 2u);  // a seed counts once
  const Chart chart = errors_chart(problems[0], Metric::rmse, ErrorsOf::members);

  ASSERT_GE(chart.series.size(), 2u);
  const Series &random = chart.series[0], &sbal = chart.series[1];
  EXPECT_EQ(random.label, "random");
  EXPECT_NE(random.group, sbal.group);
  EXPECT_EQ(random.x, (std::vector<double>{20, 60}));  // two solver steps a transition
  EXPECT_NEAR(random.y[1], std::exp(-4.0), 1e-12);
  // Deviation sqrt(((2)² + 1² + 3²) / 2) = sqrt(7); the table of t has five digits.
  EXPECT_NEAR(std::log(random.high[1]), -4 + 4.3027 * std::sqrt(7.0 / 3), 2e-4);
  EXPECT_NEAR(sbal.low[0], std::exp(-3.0), 1e-12);  // of two: least and largest
  EXPECT_TRUE(std::isnan(sbal.y[1]));               // infinite: a gap, not averaged away
  EXPECT_TRUE(test::contains(chart.note, "95 % interval"));
  EXPECT_EQ(std::ranges::count_if(chart.series, &Series::seed), 5);
  EXPECT_EQ(std::ranges::count_if(chart.series, &Series::published), 0);
  ProblemMethods paper = problems[0];
  paper.published_problem = "burgers";
  paper.published_offset = 1.5;
  const Chart compared = errors_chart(paper, Metric::rmse, ErrorsOf::members);
  const auto level = std::ranges::find_if(compared.series, &Series::published);
  ASSERT_NE(level, compared.series.end());
  const Published* printed = find_published("burgers", "random", "rmse");
  EXPECT_NEAR(std::log(level->y[0]), printed->mean - 1.5, 1e-12);  // on our scale
  const config::Value value = to_value(chart);
  EXPECT_EQ(value.find("series")->list()->at(0).find("x")->list()->at(1).real(), 60.0);
  EXPECT_EQ(xml_complaint(svg_text(chart, {.seeds = true})), "");
}

TEST(Figures, CostTurnsAtBreakEven) {
  const CostTerms terms{.initial = 100,
                        .budget = 50,
                        .rounds = 4,
                        .efficiency = 2,
                        .acquire = 1e-6,
                        .train = 0.01,
                        .select = 0.1};
  const double turning = judge_cost(terms).turning_acquire;
  const std::vector<MethodCost> costs{
      {.label = "sbal", .baseline = "random", .group = 1, .terms = terms}};

  const Chart chart = cost_chart(costs);

  ASSERT_FALSE(chart.series.empty());
  for (std::size_t i = 0; i < chart.series[0].x.size(); ++i)
    EXPECT_EQ(chart.series[0].y[i] > 1, chart.series[0].x[i] > turning) << chart.series[0].x[i];
  EXPECT_LT(chart.series[0].x.front(), turning);
  EXPECT_GT(chart.series[0].x.back(), turning);
  EXPECT_TRUE(cost_chart({}).series.empty());
  // 1 is in view with numbers on both sides, on paper and for scripts.
  const std::string svg = svg_text(chart, {});
  EXPECT_TRUE(test::contains(svg, ">1<"));
  EXPECT_TRUE(test::contains(svg, ">3<") || test::contains(svg, ">2<"));
  const config::Value value = to_value(chart);
  const config::Value& y = *value.find("y");
  EXPECT_LT(y.find("low")->real().value(), 1);
  EXPECT_GT(y.find("high")->real().value(), 1);
}

TEST(Figures, ErrorsOnHeldBackStepsAreOfNoRollouts) {
  RunResult run = result("sbal", 0, {0.0, -1.0});
  run.validation = true;
  run.measured = {0, 1};
  run.transitions = {5, 9};
  run.members.diverged = {0, 0};
  run.members.rmse_by_step = {{0.1}, {0.2}};
  const std::vector<RunResult> results{run};
  const ProblemMethods problem = methods_of(results).front();

  const Chart quantiles = quantiles_chart(problem, ErrorsOf::members);
  const Chart by_step = by_step_chart(problem, ErrorsOf::members);

  ASSERT_EQ(quantiles.series.size(), 1u);
  EXPECT_EQ(quantiles.x.label, "held-back steps with a smaller error");
  EXPECT_FALSE(test::contains(quantiles.title + quantiles.note, "traject"));
  EXPECT_TRUE(by_step.series.empty());
  EXPECT_TRUE(test::contains(by_step.note, "there are no rollouts"));
}

// Truth: 100 c + 10 x + y + t / 10 (1-D: y is missing).
RunExtracts made_extracts(std::vector<std::size_t> points, std::size_t times) {
  RunExtracts made{.round = 3,
                   .extracts = {},
                   .states = {"eq", {2, points, std::vector<double>(points.size(), 1.0)}, 0.5}};
  Extract one{.kind = ExtractKind::worst, .trajectory = 5, .rmse = 0.25};
  for (std::size_t t = 0; t < times; ++t) {
    made.extracts.times.push_back(t);
    for (std::size_t c = 0; c < 2; ++c)
      for (std::size_t x = 0; x < points[0]; ++x)
        for (std::size_t y = 0; y < (points.size() > 1 ? points[1] : 1); ++y) {
          one.truth.push_back(static_cast<float>(100 * c + 10 * x + y) +
                              static_cast<float>(t) / 10);
          one.mean.push_back(one.truth.back() - 0.5F);
        }
  }
  made.extracts.rollouts.push_back(one);
  return made;
}

Field field_of(const RunExtracts& extracts, ExtractKind kind, std::size_t pixels) {
  const FieldSource source{&extracts, {.label = "sbal"}};
  return make_field(std::span(&source, 1), kind, {"u", "v"}, pixels);
}

TEST(Field, PutsTimeRightSpaceUpAndFramesInTiles) {
  const Field line = field_of(made_extracts({4}, 3), ExtractKind::worst, 1000);
  const Field plane = field_of(made_extracts({3, 2}, 5), ExtractKind::worst, 1000);

  const FieldChannel& v = line.channels.at(1);
  EXPECT_EQ(v.name, "v");
  ASSERT_EQ(v.truth.width, 3u);
  ASSERT_EQ(v.truth.height, 4u);
  // A level is 1/254 of the range.
  const double level = (v.truth.high - v.truth.low) / 254;
  EXPECT_NEAR(v.truth.value(2, 3), 100.2, level);  // bottom: x = 0
  EXPECT_NEAR(v.truth.value(0, 0), 130, level);    // top: x = 3
  EXPECT_NEAR(v.errors.at(0).value(1, 1), -0.5, 1e-6);
  EXPECT_EQ(v.errors[0].low, -v.errors[0].high);
  EXPECT_EQ(v.truth.low, v.predictions.at(0).low);
  EXPECT_EQ(line.times, (std::vector<double>{0, 0.5, 1}));
  ASSERT_EQ(plane.columns, 3u);
  const Picture& u = plane.channels.at(0).truth;
  ASSERT_EQ(u.width, 9u);
  ASSERT_EQ(u.height, 4u);
  // Time 4 is the second tile of the second row; x = 2, y = 1 is its right upper pixel.
  EXPECT_NEAR(u.value(3 + 2, 2), 21.4, (u.high - u.low) / 254);
  EXPECT_TRUE(std::isnan(u.value(8, 3)));  // no sixth frame
  EXPECT_EQ(xml_complaint(svg_text(line, 0, kNan, {})), "");
  EXPECT_EQ(xml_complaint(svg_text(plane, 1, 1.0, {})), "");
  const Field thin = field_of(made_extracts({64, 64}, 9), ExtractKind::worst, 2000);
  EXPECT_LE(thin.times.size() * thin.width * thin.height, 2000u);
  EXPECT_EQ(thin.times[1], 1.0);  // every second one
  EXPECT_THROW(field_of(made_extracts({4}, 3), ExtractKind::best, 10), Error);
}

// Mutations: each model on a scale of its own, or on a trajectory of its own.
TEST(Field, SeveralModelsShareTrajectoryAndScales) {
  const RunExtracts near = made_extracts({4}, 3);
  RunExtracts far = near, other = near;
  far.extracts.rollouts[0].rmse = 2;
  for (float& value : far.extracts.rollouts[0].mean) value -= 3.5F;
  other.extracts.rollouts[0].trajectory = 6;
  const std::vector<FieldSource> sources{{&near, {.label = "sbal"}}, {&far, {.label = "random"}}};
  const std::vector<FieldSource> apart{{&near, {}}, {&other, {}}};

  const Field field = make_field(sources, ExtractKind::worst, {"u", "v"}, 1000);

  ASSERT_EQ(field.models.size(), 2u);
  EXPECT_EQ(field.models[0].rmse, 0.25);
  EXPECT_EQ(field.models[1].rmse, 2);
  const FieldChannel& u = field.channels[0];
  EXPECT_EQ(u.errors[0].high, u.errors[1].high);
  EXPECT_NEAR(u.errors[1].high, 4, 1e-6);
  EXPECT_NEAR(u.errors[0].value(0, 0), -0.5, 4.0 / 127);
  EXPECT_EQ(u.predictions[0].low, u.predictions[1].low);
  EXPECT_EQ(u.truth.low, u.predictions[1].low);
  const std::string svg = svg_text(field, 0, kNan, {});
  EXPECT_EQ(xml_complaint(svg), "");
  for (const char* text : {">sbal<", ">random<", ">error: 0.250<", ">error: 2.00<"})
    EXPECT_TRUE(test::contains(svg, text)) << text;
  EXPECT_THROW(make_field(apart, ExtractKind::worst, {"u", "v"}, 1000), Error);
}

// Of both signs: 0 is the middle, and white. Mutation: -1 and 3 on a scale from -1 to 3.
TEST(Field, StatesOfBothSignsAreSymmetricAboutZero) {
  RunExtracts both = made_extracts({4}, 3);
  for (float& value : both.extracts.rollouts[0].truth) value -= 10;
  for (float& value : both.extracts.rollouts[0].mean) value -= 10;

  const Field field = field_of(both, ExtractKind::worst, 1000);

  const Picture& u = field.channels[0].truth;  // -10 to 20.2
  EXPECT_EQ(u.palette, Palette::diverging);
  EXPECT_EQ(u.low, -u.high);
  const Colour& middle = palette_colours(u.palette)[kTopLevel / 2];
  EXPECT_GT(*std::ranges::min_element(middle), 240);
  EXPECT_EQ(field.channels[1].truth.palette, Palette::sequential);  // 90 to 120
}

// On a page all frames are in the drawing, and one is seen: scripts move the window only, so that
// axes and colour bars stay.
TEST(Field, OnAPageAllFramesAreBehindAWindow) {
  const Field plane = field_of(made_extracts({8, 4}, 9), ExtractKind::worst, 10'000);

  const std::string page = svg_text(plane, 1, kNan, {.page = true}),
                    print = svg_text(plane, 1, 1, {});

  EXPECT_EQ(xml_complaint(page), "");
  // The last of nine tiles of three in a row.
  EXPECT_TRUE(test::contains(page, "viewBox=\"16 8 8 4\""));
  EXPECT_TRUE(test::contains(page, "<image x=\"0\" y=\"0\" width=\"24\" height=\"12\""));
  EXPECT_TRUE(test::contains(page, "data-when=\"\">t = 4.00</text>"));
  EXPECT_FALSE(test::contains(print, "viewBox=\"16"));
  EXPECT_TRUE(test::contains(print, ">t = 1.00</text>"));
}

// Mutation: the greys are those of methods, or two methods of twelve share a colour.
TEST(Figures, OneColourIsOneMethod) {
  std::set<std::string> colours;
  for (std::size_t group = 0; group < 12; ++group) colours.insert(group_colour(group));
  colours.insert(group_colour(kNoMethod));
  colours.insert(group_colour(kNoMethod + 1));

  EXPECT_EQ(colours.size(), 14u);
}

// One method has the training of round 0 for all. Mutation: each run's own rounds (10 and 2).
TEST(Figures, TimesAreOfTheRoundsThatAllRunsHave) {
  const test::TemporaryFolder folder;
  std::vector<RunResult> results{result("random", 0, {-1, -2}), result("sbal", 0, {-1, -2})};
  std::filesystem::create_directory(folder.path("a"));
  std::filesystem::create_directory(folder.path("b"));
  results[0].folder = folder.path("a");
  results[1].folder = folder.path("b");
  RunFolder(folder.path("a")).add_timing({0, "train", 18});
  for (const char* run : {"a", "b"}) RunFolder(folder.path(run)).add_timing({1, "train", 2});
  RunFolder(folder.path("b")).add_timing({1, "select", 1});
  const auto problems = methods_of(results);

  const Chart chart = times_chart(problems[0]);

  ASSERT_EQ(chart.series.size(), 2u);
  EXPECT_EQ(chart.series[0].y[0], 2.0);
  EXPECT_EQ(chart.series[1].y[0], 2.0);
  EXPECT_TRUE(test::contains(chart.note, "train 1, select 1")) << chart.note;
}

// Stages take 1, 2, 4, ... times as long as the first. Mutations: rounds that are joined, a stage
// at its number's share of the round, other seeds than the first, losses that hide what was thrown
// away.
TEST(Figures, StagesLieInTheirRoundsAndWhatIsThrownAwayIsSaid) {
  const test::TemporaryFolder folder;
  std::vector<RunResult> results{result("random", 0, {-1, -2, -3}), result("sbal", 0, {-1, -2}),
                                 result("sbal", 1, {-1, -2})};
  for (const char* run : {"a", "b", "c"}) std::filesystem::create_directory(folder.path(run));
  for (std::size_t r = 0; r < 3; ++r) results[r].folder = folder.path(std::string(1, "abc"[r]));
  const std::vector<Loss> losses{{0, 0, 0, 1.0}, {0, 0, 1, 0.5}};
  for (const char* run : {"a", "b"}) RunFolder(folder.path(run)).add_losses(losses);
  const auto chart_of = [&] { return stages_chart(methods_of(results).at(0)); };
  const auto losses_note = [&] { return losses_chart(methods_of(results).at(0)).note; };

  EXPECT_FALSE(has_stages(methods_of(results).at(0)));
  EXPECT_TRUE(chart_of().series.empty());
  EXPECT_TRUE(test::contains(chart_of().note, "No round was trained in stages"));
  EXPECT_FALSE(test::contains(losses_note(), "stage"));

  results[2].stages = {{.round = 0, .kept = 0, .held_back = {9, 9}}};  // the second seed
  EXPECT_TRUE(has_stages(methods_of(results).at(0)));
  EXPECT_TRUE(chart_of().series.empty());
  EXPECT_FALSE(test::contains(losses_note(), "stage"));

  results[0].stages = {{.round = 0, .kept = 1, .held_back = {0.5, 0.25, 0.75}},
                       {.round = 1, .damaged = true},
                       {.round = 2, .kept = 0, .held_back = {0.125, kInfinity}}};
  results[1].stages = {{.round = 0}, {.round = 1, .kept = 1, .held_back = {0.5, 0.25}}};
  const Chart chart = chart_of();
  ASSERT_EQ(chart.series.size(), 2u);
  const Series &random = chart.series[0], &sbal = chart.series[1];
  EXPECT_EQ(random.label, "random");
  // The sums of 1, 2, 4 over their sum, rounded once or twice.
  const std::vector<double> expected{1.0 / 7, 3.0 / 7, 1, 2, 2 + 1.0 / 3, 3};
  ASSERT_EQ(random.x.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(random.x[i], expected[i], 1e-15);
  EXPECT_EQ((std::vector<double>(random.y.begin(), random.y.begin() + 3)),
            (std::vector<double>{0.5, 0.25, 0.75}));
  EXPECT_TRUE(std::isnan(random.y[3]));  // the gap between two rounds
  EXPECT_EQ(random.y[4], 0.125);
  EXPECT_TRUE(std::isinf(random.y[5]));
  EXPECT_EQ(sbal.y, (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(sbal.x[1], 2.0);
  EXPECT_TRUE(test::contains(chart.note, "2 of 7 stages were thrown away")) << chart.note;
  EXPECT_TRUE(test::contains(chart.note, "1 round of a is left out")) << chart.note;
  EXPECT_TRUE(test::contains(chart.note, "nothing was held back")) << chart.note;
  const std::string svg = svg_text(chart, {});
  EXPECT_EQ(xml_complaint(svg), "");
  EXPECT_TRUE(test::contains(svg, "1 value is not shown")) << svg;
  EXPECT_TRUE(test::contains(losses_note(), "The epochs of 2 stages of training")) << losses_note();
}

TEST(ChartSvg, RoundsHaveWholeTicksAndLongNamesAreThereWhole) {
  Chart chart = two_lines();
  for (Series& series : chart.series) series.x = {0.5, 1.2, 2.1};
  const std::string name(90, 'n');
  chart.series[0].label = name;
  const std::string halves = svg_text(chart, {});
  chart.x.whole = true;

  const std::string svg = svg_text(chart, {});

  EXPECT_TRUE(test::contains(halves, ">0.5<") || test::contains(halves, ">1.5<"));
  EXPECT_FALSE(test::contains(svg, ">0.5<") || test::contains(svg, ">1.5<"));
  EXPECT_TRUE(test::contains(svg, "…"));
  EXPECT_TRUE(test::contains(svg, "<title>" + name + "</title>"));
}

}  // namespace
}  // namespace stap
