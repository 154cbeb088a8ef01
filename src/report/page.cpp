#include "stap/report/page.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/assets.h"
#include "report/base64.h"
#include "report/html.h"
#include "report/page_parts.h"
#include "report/page_room.h"
#include "report/shortened.h"
#include "stap/core/sha256.h"
#include "stap/core/version.h"

namespace stap {
namespace {

// 'sha256-...' of a script's text, as a Content-Security-Policy names it.
std::string source_of(std::string_view script) {
  const std::string hex = sha256_hex(std::as_bytes(std::span(script.data(), script.size())));
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    bytes += static_cast<char>(static_cast<unsigned char>(byte));
  }
  return fmt::format("'sha256-{}'", base64(bytes));
}

std::string title_of(const Report& report) {
  std::vector<std::string> names;
  for (const std::string& folder : report.folders) {
    // "." and the like have a name, too.
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::weakly_canonical(folder, error);
    const std::string name = (error ? std::filesystem::path(folder) : whole).filename().string();
    names.push_back(name.empty() ? folder : name);
  }
  return shortened(fmt::format("{}", fmt::join(names, ", ")));
}

constexpr const char* kReload = "<meta http-equiv=\"refresh\" content=\"5\">\n";  // seconds

std::size_t shown_problems(const Report& report, const PageRoom& room) {
  return std::min(room.problems, report.problems.size());
}

std::string header_html(const Report& report, const PageRoom& room, bool live) {
  std::string html = fmt::format(
      "<header><h1>{}</h1>\n<p class=\"subtitle\">{} {} of {} {}, by stap {}{}</p>\n<nav><a "
      "href=\"#summary\">Summary</a>",
      escaped(title_of(report)), report.runs.size(), report.runs.size() == 1 ? "run" : "runs",
      report.problems.size(), report.problems.size() == 1 ? "problem" : "problems",
      escaped(version()), live ? "; runs are working, and this page reloads itself" : "");
  for (std::size_t p = 0; p < shown_problems(report, room); ++p)
    html += fmt::format(" <a href=\"#p{}\">{}</a>", p + 1,
                        escaped(shortened(report.problems[p].table.problem, 40)));
  return html +
         " <a href=\"#runs\">Runs</a> <a href=\"#reading\">How to read this</a></nav>\n<div "
         "class=\"tools\"></div></header>\n";
}

std::string summary_html(const Report& report, const PageRoom& room) {
  std::string html = "<section id=\"summary\"><h2>What came out</h2>\n";
  if (!room.words.empty())
    html += fmt::format(
        "<p class=\"about\">To keep this page below 5\u00a0MB it leaves out: {}. 'stap report' of "
        "fewer "
        "folders shows them, 'stap plot' draws them, and --json has the numbers.</p>\n",
        escaped(room.words));
  std::vector<Finding> all = findings(report);
  std::erase_if(all, [&](const Finding& finding) {
    const auto is = [&](const ReportProblem& p) { return p.table.problem == finding.problem; };
    return std::ranges::find_if(report.problems, is) - report.problems.begin() >=
               static_cast<std::ptrdiff_t>(shown_problems(report, room)) &&
           !finding.problem.empty();
  });
  for (std::size_t i = 0; i < all.size();) {
    const std::string& problem = all[i].problem;
    if (!problem.empty() && report.problems.size() > 1)
      html += fmt::format("<h3>{}</h3>\n", name_html(problem));
    html += "<ul class=\"findings\">\n";
    for (; i < all.size() && all[i].problem == problem; ++i)
      html += fmt::format("<li>{}</li>\n", prose_html(all[i].text));
    html += "</ul>\n";
  }
  return html + "</section>\n";
}

// The words that figures and tables take for granted; of what is not there nothing is said.
std::string reading_html(const Report& report) {
  const auto any = [&](auto is) { return std::ranges::any_of(report.problems, is); };
  const bool tests = any([](const ReportProblem& p) { return !p.table.validation; });
  const bool held_back = any([](const ReportProblem& p) { return p.table.validation; });
  const bool several = report.results.size() > 1;
  const bool fields = any([](const ReportProblem& p) {
    return std::ranges::any_of(p.methods, [](const auto& m) { return !m.fields.empty(); });
  });
  std::string html = "<section id=\"reading\"><h2>How to read this</h2>\n<dl>\n";
  const auto entry = [&](bool wanted, std::string_view word, std::string_view meaning) {
    if (wanted) html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", word, meaning);
  };
  entry(tests, "RMSE, NRMSE, MAE",
        "Errors of whole rollouts from the first state of a test trajectory: the root of the mean "
        "square over steps and grid points, the same relative to the size of the states, and the "
        "mean of the absolute value; means over trajectories, then members. Quantiles (50, 95, 99 "
        "%) are of the RMSE over trajectories.");
  entry(held_back, "errors on held-back steps",
        "Without a test set: errors of single steps on transitions that were bought and never "
        "trained on. There are more of them every round, so that rounds do not compare exactly. "
        "Quantiles are over these steps.");
  entry(true, "members, mean model",
        "Every network of the committee by itself, as published tables have it; the average of "
        "their outputs, step by step, which is what one deploys.");
  entry(true, "solver steps",
        "What is paid for: learned time steps that the solver was asked for, the initial "
        "trajectories included.");
  entry(true, "logarithms",
        "Natural; 0.1 lower is about 10 % less error. Means over the rounds tell how good a method "
        "was all along, not only at its end.");
  entry(several, "differences and intervals",
        "Paired by seed, with the 95 % interval of Student's t. In the summary intervals are "
        "wider: corrected (Bonferroni) for all pairs of methods, because the best one is picked "
        "after the fact. Bands in charts are 95 % intervals over seeds; of fewer than three seeds "
        "from the least to the largest.");
  entry(tests, "diverged",
        "Rollouts that left the finite numbers; their errors are infinite and so are means over "
        "them.");
  entry(true, "pays",
        "Choosing at random buys everything and trains once; active learning buys less but trains "
        "and selects every round. It pays when the solver steps it saves cost more time than "
        "that.");
  entry(fields, "best, median, worst",
        "Test trajectories by the RMSE of the mean model after the last round. Pictures have 8 "
        "bits a value; truth and prediction share a scale, errors are symmetric about 0.");
  return html + fmt::format(
                    "</dl>\n<p>This file needs no network and loads nothing. It holds what it "
                    "shows: errors, chosen steps, times, names of folders, hosts and processors, "
                    "settings that differ between methods{}. It holds no networks and no training "
                    "data.</p>\n",
                    fields ? ", and a few states of test trajectories" : "");
}

std::string page_policy() {
  return fmt::format(
      "default-src 'none'; script-src {} {}; style-src 'unsafe-inline'; img-src data:; base-uri "
      "'none'; form-action 'none'",
      source_of(uplot_script()), source_of(page_script()));
}

std::string whole_page(const Report& report, const PageRoom& room, bool live) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"generator\" content=\"stap\">\n<meta "
      "http-equiv=\"Content-Security-Policy\" content=\"{}\">\n{}<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" "
      "content=\"no-referrer\">\n<title>{}</title>\n<style>{}</style>\n<style>{}</style>\n</head>\n"
      "<body>\n",
      page_policy(), live ? kReload : "", escaped(title_of(report)), uplot_style(), page_style());
  html += header_html(report, room, live) + "<main>\n";
  html += summary_html(report, room);
  for (std::size_t p = 0; p < shown_problems(report, room); ++p)
    html += problem_html(fmt::format("p{}", p + 1), report.problems[p]);
  html += runs_html(report, room.runs);
  html += reading_html(report);
  html += fmt::format(
      "<details><summary>Charts that can be zoomed are drawn by uPlot; its "
      "licence</summary><pre>{}</pre></details>"
      "</section>\n</main>\n",
      escaped(uplot_licence()));
  html += fmt::format("<script type=\"application/json\" id=\"report-data\">{}</script>\n",
                      page_data(report, shown_problems(report, room)));
  html += fmt::format("<script>{}</script>\n<script>{}</script>\n</body>\n</html>\n",
                      uplot_script(), page_script());
  return html;
}

}  // namespace

std::string page_text(const Report& report, bool live) {
  std::string page = whole_page(report, {}, live);
  if (page.size() <= kPageBytes) return page;
  Report smaller = report;
  PageRoom room;
  while (page.size() > kPageBytes && leave_out(smaller, room))
    page = whole_page(smaller, room, live);
  return page;
}

}  // namespace stap
