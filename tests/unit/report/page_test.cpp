// The page as text, and what is gathered for it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fmt/format.h>

#include "report/script_json.h"
#include "report/shortened.h"
#include "stap/core/error.h"
#include "stap/core/sha256.h"
#include "stap/report/page.h"
#include "support/contains.h"
#include "support/made_report.h"
#include "support/run_folder.h"
#include "support/temporary_folder.h"
#include "support/waiting.h"

namespace stap::test {
namespace {

// The text between the first `begin` behind `from` and the next `end`.
std::string between(const std::string& text, const std::string& begin, const std::string& end,
                    std::size_t from = 0) {
  const std::size_t at = text.find(begin, from);
  if (at == std::string::npos) return "";
  const std::size_t first = at + begin.size();
  return text.substr(first, text.find(end, first) - first);
}

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
  return count;
}

std::string hex_of_base64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bits, hex;
  for (const char c : text.substr(0, text.find('=')))
    for (int b = 5; b >= 0; --b) bits += (digits.find(c) >> b & 1U) != 0 ? '1' : '0';
  for (std::size_t i = 0; i + 8 <= bits.size(); i += 8)
    hex += fmt::format("{:02x}", std::stoul(bits.substr(i, 8), nullptr, 2));
  return hex;
}

TEST(ReportPage, OnlyItsOwnTwoScriptsMayRun) {
  const std::string page = page_text(report_of(two_methods({-0.5, -0.52, -0.48})));
  const std::string policy = between(page, "Content-Security-Policy\" content=\"", "\"");

  EXPECT_TRUE(policy.starts_with("default-src 'none'; script-src 'sha256-")) << policy;
  EXPECT_FALSE(contains(policy, "connect-src"));
  EXPECT_EQ(count_of(page, "<script"), 3u);
  EXPECT_EQ(count_of(page, "</script"), 3u);
  std::size_t script = page.find("<script>"), hash = 0;
  for (int i = 0; i < 2; ++i) {
    const std::string text = between(page, "<script>", "</script>", script);
    hash = policy.find("'sha256-", hash);
    EXPECT_EQ(hex_of_base64(between(policy, "'sha256-", "'", hash)),
              sha256_hex(std::as_bytes(std::span(text))));
    EXPECT_FALSE(contains(text, "<!--"));
    script = page.find("<script>", script + 1);
    ++hash;
  }
}

TEST(ReportPage, ReloadsItselfWhileRunsWorkAndOnlyThen) {
  const Report report = report_of(two_methods({-0.5}));
  const std::string reload = "http-equiv=\"refresh\"";
  const LivePage working{.done = 0.42, .left = "3 min"}, ended{.done = 0.9, .ended = true};

  const std::string page = page_text(report, &working), last = page_text(report, &ended);
  EXPECT_EQ(count_of(page, reload), 1u);
  EXPECT_TRUE(contains(page, "aria-valuenow=\"42\"><span style=\"width:42%\">"));
  EXPECT_TRUE(contains(page, "3 min left"));
  EXPECT_EQ(count_of(last, reload), 0u);
  EXPECT_TRUE(contains(last, "All runs have ended; this page no longer updates."));
  EXPECT_TRUE(contains(last, "width:100%"));
  EXPECT_EQ(count_of(page_text(report), reload), 0u);
  EXPECT_FALSE(contains(page_text(report), "class=\"live\""));
}

TEST(ReportPage, NamesStayTextHoweverTheyLook) {
  const std::string name = "</script><script>alert(1)</script>\" onload='x' <img src=x> \u2028";
  const std::string longest(10'000, 'a');
  auto runs = two_methods({-0.5, -0.52, -0.48});
  for (RunResult& run : runs) run.method = run.method == "random" ? name : longest;
  Report report = report_of(std::move(runs));
  report.problems[0].table.problem = name;
  report.folders = {"x/" + name};
  report.runs[0] = {.folder = name, .words = name, .label = name, .host = name};
  report.problems[0].methods[1].cost = ReportCost{.cost = {.text = name}, .baseline = name};

  const std::string page = page_text(report);

  EXPECT_EQ(count_of(page, "<script"), 3u);
  EXPECT_FALSE(contains(page, "<img src=x>"));
  EXPECT_TRUE(contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&#39;x&#39;"));
  const std::string data = between(page, "id=\"report-data\">", "</script>");
  EXPECT_FALSE(data.empty());
  EXPECT_FALSE(contains(data, "<"));
  EXPECT_FALSE(contains(data, "\u2028"));
  // Whole only where one can look it up, and there no longer than 2,000 characters; copies of
  // tables have it whole.
  const std::string seen = page.substr(0, page.find("id=\"report-data\""));
  EXPECT_FALSE(contains(seen, "onload='x'"));
  EXPECT_FALSE(contains(seen, std::string(1001, 'a')));
  EXPECT_TRUE(contains(seen, std::string(60, 'a') + "…" + std::string(59, 'a') + "</span>"));
}

TEST(ReportPage, ShortenedNamesKeepTheirCharactersWhole) {
  EXPECT_EQ(shortened("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(shortened("abcdefghijk", 10), "abcde…hijk");
  EXPECT_EQ(shortened("äöüäöüäöüäö", 6), "äöü…äö");
}

TEST(ReportPage, SaysWithoutScriptsWhatTablesSay) {
  const Report report = report_of(two_methods({-0.5, -0.52, -0.48}));

  const std::string page = page_text(report);

  // Seeds have -2.5, -2.42 and -2.28; the half interval is 4.303 * 0.02 / sqrt(3).
  EXPECT_TRUE(contains(page, ">-2.400 ± 0.111</td>"));
  EXPECT_TRUE(contains(page, ">-0.500 ± 0.050</td>"));
  EXPECT_TRUE(contains(page, "<th scope=\"row\">sbal</th><td data-value=\"3\">3</td>"));
  EXPECT_TRUE(contains(page, "id=\"p1-table\""));
  EXPECT_TRUE(
      contains(page, "<h1 class=\"finding\">sbal has 39\u00a0% lower error than random</h1>"));
  EXPECT_EQ(count_of(page, "<div class=\"tile\">"), 4u);
  EXPECT_EQ(page, page_text(report));
}

TEST(ReportPage, CostSaysWhatIsAGuessAndHasOneUnitAColumn) {
  const auto page = [](const std::vector<double>& differences) {
    Report report = report_of(two_methods(differences));
    report.problems[0].methods[0].cost =
        ReportCost{.cost = {.terms = {.acquire = 2e-4, .select = 0.5}}};
    report.problems[0].methods[1].cost =
        ReportCost{.cost = {.terms = {.acquire = 0.02, .select = 7200}, .efficiency = 2.0},
                   .baseline = "random"};
    return page_text(report);
  };
  const std::string guess =
      "not certain, as its error is not significantly different from that of random with 3 seeds.";

  EXPECT_TRUE(contains(page({-0.1, 0.1, -0.05}), guess));
  // Its 95 % interval is 0.001 ± 0.027.
  EXPECT_TRUE(contains(page({-0.01, 0.012, 0.002}),
                       "not certain, as its error is the same as that of random within"));
  const std::string sure = page({-0.5, -0.52, -0.48});
  EXPECT_FALSE(contains(sure, guess));
  EXPECT_TRUE(contains(sure, ">solver, per step (ms)</th>"));
  EXPECT_TRUE(contains(sure, "<td data-value=\"0.0002\">0.2</td>"));
  EXPECT_TRUE(contains(sure, "<td data-value=\"0.02\">20</td>"));
  EXPECT_TRUE(contains(sure, ">selection, per round (h)</th>"));
  EXPECT_TRUE(contains(sure, ">under 0.001</td>"));
}

// A trajectory says what its errors are and how often steps were bought, without scripts; where
// there is none the page has the reason that applies.
TEST(ReportPage, TrajectoriesExplainThemselvesOrTheirAbsence) {
  Report report = report_of({result("sbal", 0, {0.0, -1.0})});
  const std::string none = page_text(report);
  ReportProblem& problem = report.problems[0];
  problem.table.validation = true;
  const std::string held_back = page_text(report);
  problem.table.validation = false;
  Field field{.kind = ExtractKind::worst, .width = 3, .height = 2, .times = {0, 1, 2}};
  field.models = {{.label = "sbal", .rmse = 0.25, .bought = {1, 0.25}}};
  const Picture picture{.width = 3, .height = 2, .values = {0, 1, 2, 3, 4, 5}, .low = -0.4};
  field.channels = {{"u", picture, {picture}, {picture}}};
  problem.fields = {field};
  const std::string page = page_text(report);

  EXPECT_TRUE(contains(none, "no trajectories here: the runs have kept none that can be read"));
  EXPECT_TRUE(contains(held_back, "no trajectories here: the study has no test set"));
  EXPECT_TRUE(contains(page, "id=\"p1-case\""));
  EXPECT_TRUE(contains(page, "RMSE: sbal 0.250. Bars: share of the chosen trajectories"));
  EXPECT_TRUE(contains(page, "truth of u</text>"));
  EXPECT_TRUE(contains(page, ">−0.400</text>"));  // of the colour bar
  EXPECT_TRUE(contains(page, "class=\"bar g0\""));
  // One run has no differences and no seeds to pair.
  EXPECT_FALSE(contains(page.substr(0, page.find("report-data")), "aired by seed"));
}

// Single seeds first, then charts that replace others, pictures, charts, and rows of the list of
// runs.
TEST(ReportPage, StaysBelowFiveMegabytesWhateverThereIs) {
  Report report = report_of(two_methods({-0.5, -0.52, -0.48}));
  Chart chart{.title = "errors", .series = {{.label = "a", .x = {1, 2}, .y = {1, 2}}}};
  Chart large = chart;
  large.series[0].x = large.series[0].y = std::vector<double>(330'000, 1.23456);
  Report many = report;
  many.runs.assign(10'000, {.folder = std::string(100, 'f'), .words = std::string(400, 'w')});
  report.problems[0].charts = {{"errors", {chart, large}}};
  Report seeds = report;
  seeds.problems[0].charts[0].variants[1].series[0].seed = true;

  const std::string page = page_text(report), longest = page_text(many);
  const std::string means = page_text(seeds);

  EXPECT_LT(page.size(), 1'000'000u);
  EXPECT_TRUE(contains(page,
                       "below 5\u00a0MB it leaves out: charts of other metrics and of the "
                       "members."));
  EXPECT_TRUE(contains(page, "id=\"p1-errors\""));
  EXPECT_TRUE(contains(means, "it leaves out: single seeds in charts."));
  EXPECT_LT(longest.size(), 5'000'000u);
  EXPECT_TRUE(contains(longest, " of the 10000 runs in the list."));
  EXPECT_FALSE(contains(page_text(report_of(two_methods({-0.5}))), "it leaves out"));
}

// A process that was here and is gone, in the middle of a purchase whose ledger nobody can add up.
TEST(GatherReport, AKilledRunIsStoppedAndALedgerThatOverflowsIsDamage) {
  const TemporaryFolder folder;
  const auto line = [](int round) {
    return fmt::format(
        R"({{"round": {}, "transitions": 48, "points": 64, "trajectories": 5, "diverged": 0, )"
        R"("rmse": 1, "rmse_q50": 1, "rmse_q95": 1, "rmse_q99": 1, "nrmse": 1, "mae": 1, )"
        R"("rmse_by_step": [1, 1, 1, 1, 1, 1, 1, 1]}})"
        "\n",
        round);
  };
  write_run_folder(folder.path("r"), "abc", line(0));
  const RunFolder run(folder.path("r"));
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  test::wait_for(gone);
  run.write_status({.phase = "train", .round = 1, .rounds = 4});
  std::string status = content(folder.path("r/status.json"));
  const std::string mine = fmt::format("{}", getpid());
  status.replace(status.find(mine), mine.size(), fmt::format("{}", gone));
  folder.file("r/status.json", status);
  Ledger ledger;
  ledger.budget = ledger.bought = 7;
  config::Value head;
  head.set("run", run.run());
  AnswerLog(run.journal_file(), run.answers_file()).note(kRunLine, head);
  AnswerLog(run.journal_file(), run.answers_file()).note("ledger", to_value(0, ledger));
  const std::vector<std::filesystem::path> folders{folder.path("r")};

  const Report report = gather_report(folders);

  EXPECT_FALSE(contains(page_text(report), "-stages\""));  // it says nothing of any
  EXPECT_EQ(report.runs.at(0).state, ReportRun::State::stopped);
  EXPECT_TRUE(contains(report.runs[0].words, "evaluated; stopped while training, round 1"))
      << report.runs[0].words;
  EXPECT_TRUE(contains(words(report), "no run is finished"));
  EXPECT_TRUE(contains(words(report), "Runs: 1 stopped."));
  // One that was asked to stop is none that works, either.
  status.replace(status.find("\"train\""), 7, "\"stopped\"");
  folder.file("r/status.json", status);
  const Report asked = gather_report(folders);
  EXPECT_EQ(asked.runs.at(0).state, ReportRun::State::stopped);
  EXPECT_TRUE(asked.runs[0].words.ends_with(
      "evaluated; stopped, round 1 of 4; nobody works on it, and the same command continues"))
      << asked.runs[0].words;
  EXPECT_EQ(report.problems.at(0).methods.at(0).ledger.bought, 7u);
  ledger.bought = SIZE_MAX;
  AnswerLog(run.journal_file(), run.answers_file()).note("ledger", to_value(1, ledger));
  const Report forged = gather_report(folders);
  EXPECT_EQ(forged.runs.at(0).state, ReportRun::State::damaged);
  EXPECT_TRUE(contains(forged.runs[0].words, "the ledger of purchase 1 does not add up"));
  EXPECT_EQ(forged.problems.at(0).methods.at(0).ledger.bought, 0u);
}

// However the stages of training look, the run is shown with its errors. Mutation: a chart that is
// drawn but not on the page.
TEST(GatherReport, StagesOfTrainingAreOnThePageDamagedOrNot) {
  const TemporaryFolder folder;
  const auto page = [&](const std::string& held_back) {
    write_run_folder(
        folder.path("r"), "abc",
        R"({"round": 0, "transitions": 48, "points": 64, "trajectories": 5, "diverged": 0, )"
        R"("rmse": 1, "rmse_q50": 1, "rmse_q95": 1, "rmse_q99": 1, "nrmse": 1, "mae": 1, )"
        R"("rmse_by_step": [1, 1, 1, 1, 1, 1, 1, 1], "stages": 3, "kept_stage": 1, )"
        R"("held_back": )" +
            held_back + "}\n");
    const std::vector<std::filesystem::path> folders{folder.path("r")};
    return page_text(gather_report(folders));
  };

  const std::string whole = page("[0.5, 0.25, 0.375]"), damaged = page("\"many\"");

  EXPECT_TRUE(contains(whole, "<figure class=\"chart\" id=\"p1-stages\""));
  EXPECT_TRUE(contains(whole, "1 of 3 stages was thrown away"));
  EXPECT_TRUE(contains(damaged, "1 round of r is left out"));
  for (const std::string& text : {whole, damaged}) EXPECT_TRUE(contains(text, "id=\"p1-errors\""));
}

}  // namespace
}  // namespace stap::test
