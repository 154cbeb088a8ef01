#include "stap/results/published.h"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "results/published_csv.h"
#include "stap/config/complaints.h"
#include "stap/core/error.h"
#include "stap/study/method.h"
#include "stap/study/study.h"

namespace stap {
namespace {

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// "SBAL+Ber(1/8)" as our programs write it: "sbal+bernoulli", the default of p being 1/8.
std::string our_method(const std::string& label) {
  std::string text = label;
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  auto replace = [&](std::string_view from, std::string_view to) {
    if (const std::size_t at = text.find(from); at != std::string::npos)
      text.replace(at, from.size(), to);
  };
  replace("+stap-10", "+stap(proposals=10)");
  replace("+ber(", "+bernoulli(p=");
  replace("+initialber(", "+initial-bernoulli(p=");
  if (const std::size_t at = text.find("1/"); at != std::string::npos) {
    const std::size_t end = text.find(')', at);
    const double p = 1.0 / std::stod(text.substr(at + 2, end - at - 2));
    text.replace(at, end - at, fmt::format("{}", p));
  }
  config::Value document;
  document.set("method", text);
  return method_text(make_study(std::move(document), Purpose::check).effective);
}

std::vector<Published> read() {
  std::vector<Published> values;
  std::map<std::string, std::string> methods;  // by label: writing one takes a check
  for (const std::string& line : split(published_csv(), '\n')) {
    if (line.empty() || line.starts_with("table,")) continue;
    const std::vector<std::string> cells = split(line, ',');
    if (cells.size() != 6)
      throw Error(ErrorKind::internal, fmt::format("published.csv holds the line '{}'", line));
    const std::string& label = cells[2];
    if (!methods.contains(label)) methods[label] = our_method(label);
    values.push_back({cells[0], cells[1], label, methods[label],
                      cells[3].substr(std::string_view("log_").size()), std::stod(cells[4]),
                      std::stod(cells[5])});
  }
  return values;
}

}  // namespace

std::span<const Published> published_values() {
  static const std::vector<Published> values = read();
  return values;
}

const Published* find_published(std::string_view problem, std::string_view method,
                                std::string_view metric) {
  for (const Published& value : published_values())
    if (value.problem == problem && value.method == method && value.metric == metric) return &value;
  return nullptr;
}

std::string_view published_caveat() {
  return "compare absolute numbers on problems as coded, where ours agree or lie 0.03 to 0.2 "
         "apart, on Burgers as two test sets do, on KS because its states are larger "
         "(docs/lab/reproduction.md), elsewhere order and differences";
}

std::string published_doubt(const Published& value) {
  const std::string base = value.label.substr(0, value.label.find('+'));
  if (base == "LCMD") return "its rows of LCMD are not LCMD: expect ours to differ";
  if (value.problem.starts_with("cns") && (base == "QbC" || base == "SBAL"))
    return "its rows of QbC and SBAL on CNS come from scores that are wrong for several channels: "
           "expect ours to differ";
  if (value.problem == "ins" && value.label == "SBAL" && value.metric == "rmse")
    return "it prints -0.422 for SBAL on INS in two more tables, a misprint of -0.461";
  return "";
}

}  // namespace stap
