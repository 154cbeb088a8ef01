// The report: its words, and the page as text.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "report/script_json.h"
#include "report/shortened.h"
#include "stap/core/error.h"
#include "stap/core/sha256.h"
#include "stap/report/page.h"
#include "support/contains.h"
#include "support/run_folder.h"
#include "support/table_results.h"
#include "support/temporary_folder.h"
#include "support/waiting.h"

namespace stap::test {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// A report of these runs, without files behind it.
Report report_of(std::vector<RunResult> results) {
  Report report;
  report.folders = {"somewhere/my-sweep"};
  report.results = std::move(results);
  for (const RunResult& result : report.results)
    report.runs.push_back(
        {.folder = "run", .state = ReportRun::State::finished, .seed = result.seed});
  for (const ProblemTable& table : make_tables(report.results)) {
    ReportProblem problem{.table = table, .methods = {}};
    for (const TableRow& row : table.rows) {
      problem.methods.push_back({.label = row.label, .method = row.method});
      problem.methods.back().initial_steps = 40;
      problem.methods.back().solver_steps = 1240;
    }
    report.problems.push_back(std::move(problem));
  }
  return report;
}

// `differences`: of the second method to the first, by seed.
std::vector<RunResult> two_methods(const std::vector<double>& differences) {
  std::vector<RunResult> results;
  for (std::size_t seed = 0; seed < differences.size(); ++seed) {
    const double level = 0.1 * static_cast<double>(seed) - 2.0;
    results.push_back(result("random", seed, {level, level}));
    results.push_back(result("sbal", seed, {level + differences[seed], level + differences[seed]}));
  }
  return results;
}

std::string words(const Report& report) {
  std::string text;
  for (const Finding& finding : findings(report)) text += finding.text + "\n";
  return text;
}

// -0.5 ± 0.02 over three seeds: t of 2 degrees of freedom is 4.303 for one comparison, and 7.649
// for three. exp(-0.5 ± 4.303 * 0.02 / sqrt(3)) = 0.577 .. 0.637, exp(-0.5 ± 0.0883) = 0.555 ..
// 0.663.
TEST(ReportWords, TheBestMethodHasAnIntervalCorrectedForAllComparisons) {
  const auto two = two_methods({-0.5, -0.52, -0.48});
  auto three = two;
  for (std::size_t seed = 0; seed < 3; ++seed)
    three.push_back(result("worse", seed, {1.0, 1.0 + 0.1 * static_cast<double>(seed)}));

  EXPECT_TRUE(contains(words(report_of(two)),
                       "sbal has the lowest error, as a mean over the rounds: 39 % lower (95 % "
                       "interval 36 to 42 %) than random. Paired by 3 seeds.\n"))
      << words(report_of(two));
  EXPECT_TRUE(
      contains(words(report_of(three)), "39 % lower (95 % interval 34 to 44 %) than random"))
      << words(report_of(three));
  EXPECT_TRUE(contains(words(report_of(three)), "Paired by 3 seeds, corrected for 3 comparisons."));
}

TEST(ReportWords, WhatCannotBeToldIsNotTold) {
  const std::string alike = words(report_of(two_methods({-0.1, 0.1, -0.05})));
  const std::string one_seed = words(report_of(two_methods({-0.5})));
  const std::string one_run = words(report_of({result("sbal", 0, {0.0, -1.0})}));

  EXPECT_TRUE(contains(alike,
                       "No method is the best one for sure: sbal, with the lowest error as a mean "
                       "over the rounds, cannot be told apart from random (1.7 % lower, 95 % "
                       "interval "))
      << alike;
  EXPECT_TRUE(contains(alike, "with 3 seeds."));
  EXPECT_FALSE(contains(alike, "has the lowest error,"));
  EXPECT_TRUE(
      contains(one_seed, "With one seed a method nothing can be told about which is better"));
  EXPECT_FALSE(contains(one_seed, "interval"));
  EXPECT_TRUE(contains(one_run, "One run of sbal: nothing can be told"));
  EXPECT_TRUE(contains(one_run,
                       "The RMSE of sbal went from 1 with 40 solver steps to 0.368 with "
                       "1,240"))
      << one_run;
}

// Last errors exp(-1), exp(-2) and exp(-3). Mutation: the members' are taken; it is always said.
TEST(ReportWords, TheMeanModelEndsWhereItDoesAlsoOverImages) {
  RunResult run = result("sbal", 0, {0.0, -1.0}, 1, {0.0, -2.0});
  const std::string without = words(report_of({run}));
  run.images = run.members;
  run.mean_model_images = result("sbal", 0, {0.0, -3.0}).members;

  const std::string with = words(report_of({run}));

  EXPECT_TRUE(contains(without, "what one deploys, ends at 0.135.\n"));
  EXPECT_TRUE(contains(with, "ends at 0.135, over images (stap predict --images) at 0.0498.\n"));
}

TEST(ReportWords, CostSavingsTroubleAndUselessErrorsAreSaid) {
  Report report = report_of(two_methods({-0.5, -0.52, -0.48}));
  ReportMethod& sbal = report.problems[0].methods[1];
  sbal.cost = ReportCost{.cost = {.terms = {.budget = 30, .rounds = 40}, .efficiency = 2.5},
                         .baseline = "random",
                         .efficiency_by_seed = {2.0, 3.0, std::nullopt}};
  sbal.cost->cost.text = "active learning pays";
  sbal.ledger.budget = 9;
  sbal.ledger.refused = 2;
  sbal.ledger.failed = sbal.ledger.charged_failures = 1;
  sbal.ledger.unspent = 2;
  sbal.ledger.pool_exhausted = true;
  Report slower = report;
  slower.problems[0].methods[1].cost->cost.efficiency = 0.5;

  const std::string text = words(report);
  EXPECT_TRUE(contains(text,
                       "sbal saves solver steps: what random reaches with 1,200 solver steps "
                       "beyond the initial ones it reaches with 480, 60 % fewer (so in 2 of 3 "
                       "seeds); sbal left 2 of 9 "
                       "solver steps unspent, as its pool ran dry."))
      << text;
  EXPECT_FALSE(contains(text, "Savings and cost are over"));
  Report turned = report;
  std::swap(turned.problems[0].table.rows[0], turned.problems[0].table.rows[1]);
  EXPECT_TRUE(contains(words(turned),
                       "Savings and cost are over random, as they were analysed; differences in "
                       "the tables are to sbal."));
  EXPECT_TRUE(contains(text, "Cost of sbal: active learning pays."));
  EXPECT_TRUE(contains(text,
                       "sbal: 2 queries refused, 1 failed, no candidate is left to choose, 2 of 9 "
                       "solver steps stay unspent."));
  EXPECT_TRUE(contains(words(slower), "for the same error it needs 2.00 times those of random"));
  EXPECT_TRUE(contains(words(report_of(two_methods({0.1, 0.2}))), "was not judged"));
  // The NRMSE of such a run is exp(log RMSE - 1).
  const std::string useless = words(report_of({result("random", 0, {3.0, 1.5})}));
  EXPECT_TRUE(contains(useless, "No better than predicting zero, at the end: random (NRMSE 1.65)."))
      << useless;
}

TEST(ReportWords, RunsThatHaveNoErrorsOrDivergedAreSaid) {
  RunResult diverged = result("sbal", 0, {0.0, kInfinite});
  diverged.members.diverged = {0, 7};
  RunResult without = result("random", 0, {});
  RunResult unfinished = result("random", 0, {0.0});
  unfinished.test_sha256 = "ab";
  Report mixed = report_of({result("random", 0, {0.0, 0.0})});
  mixed.runs.push_back({.folder = "x", .state = ReportRun::State::damaged, .words = "broken"});

  EXPECT_TRUE(contains(words(report_of({diverged})),
                       "sbal: 7 rollouts left the finite numbers, so that it has no mean error."));
  EXPECT_TRUE(
      contains(words(report_of({without})), "There are no errors: 1 run of a study without"));
  EXPECT_TRUE(contains(words(report_of({unfinished})), "as no run is finished: 1 run."));
  EXPECT_TRUE(contains(words(mixed), "2 runs: 1 finished and 1 damaged.\n"));
}

// sbal is lower on the way (-3 of the mean against -2.5) and higher at the end. Mutations: the best
// after the last round taken for that of the mean, a rise that is looked for between neighbours.
TEST(ReportWords, WhatAMeanOverRoundsHidesIsSaid) {
  std::vector<RunResult> results;
  for (std::size_t seed = 0; seed < 3; ++seed) {
    const double by = 0.01 * static_cast<double>(seed);
    results.push_back(result("random", seed, {0, -3 - by, -4.5}, 2));
    results.push_back(result("sbal", seed, {0, -5 - by, -4}, 2));
  }
  const std::string text = words(report_of(results));

  EXPECT_TRUE(contains(text, "sbal has the lowest error, as a mean over the rounds: "));
  EXPECT_TRUE(contains(text,
                       "After the last round it is another one: random has the lowest error there, "
                       "0.0111, and sbal 0.0183; 39 % lower (95 % interval 39 to 39 %).\n"))
      << text;
  EXPECT_TRUE(
      contains(text, "the error rises, of sbal (0.00667 after round 1, 0.0183 after the last)."))
      << text;
  EXPECT_FALSE(contains(words(report_of(two_methods({-0.5, -0.52, -0.48}))), "After the last"));
}

// Mutations: "another one has the lowest error, 0.0183 and 0.0183", "needs 1.00 times the steps".
TEST(ReportWords, WhatIsTheSameInTheDigitsShownIsNoDifference) {
  std::vector<RunResult> results;
  for (std::size_t seed = 0; seed < 3; ++seed) {
    const double by = 0.1 * static_cast<double>(seed);
    results.push_back(result("random", seed, {-4 - by, -4 - by}));
    results.push_back(result("sbal", seed, {-4.004 - by, -3.999 - by}));
  }
  Report report = report_of(results);
  report.problems[0].methods[1].cost =
      ReportCost{.cost = {.terms = {.budget = 30, .rounds = 40}, .efficiency = 0.995},
                 .baseline = "random",
                 .efficiency_by_seed = {0.9, 1.1, 1.0}};
  const std::string text = words(report);

  EXPECT_TRUE(contains(text,
                       "No difference between sbal and random: as a mean over the rounds their "
                       "errors are the same within 0.5 %, with 3 seeds."))
      << text;
  EXPECT_FALSE(contains(text, "After the last round"));
  EXPECT_FALSE(contains(text, "rises"));
  EXPECT_TRUE(contains(text, "The RMSE of sbal is the same with 40 solver steps as with 1,240"));
  EXPECT_TRUE(contains(text,
                       "By the mean curves sbal and random need the same number of solver steps "
                       "for the same error, within a per cent. That is a guess"))
      << text;
  EXPECT_FALSE(contains(text, "1.00") || contains(text, "1.01"));
}

TEST(ReportWords, HeldBackStepsAreOthersEveryRoundAndSettingsAreSaidOnce) {
  RunResult held = result("sbal", 0, {-5.0, -4.0});
  EXPECT_TRUE(contains(words(report_of({held})), "the error rises"));
  held.validation = true;
  const std::string text = words(report_of({held}));
  EXPECT_FALSE(contains(text, "rises")) << text;
  EXPECT_TRUE(contains(text, "The RMSE of sbal on held-back steps, other ones every round, was"));

  auto results = two_methods({-0.5, -0.52, -0.48});
  for (RunResult run : std::vector<RunResult>(results)) {
    run.config = config::parse_yaml("pde: {name: none}\nstudy: {budget: 16}", "test");
    results.push_back(run);
  }
  Report both = report_of(results);
  both.problems[0].methods[1].cost =
      ReportCost{.cost = {.efficiency = 2.0}, .baseline = both.problems[0].methods[0].label};
  const std::string twice = words(both);
  EXPECT_TRUE(contains(twice,
                       "With study.budget=16: sbal has the lowest error, as a mean over the "
                       "rounds: 39 % lower (95 % interval 36 to 42 %) than random."))
      << twice;
  EXPECT_TRUE(contains(twice, "With study.budget=8: sbal saves solver steps: what random reaches"))
      << twice;
}

TEST(ReportWords, WhatCannotBeComparedIsNotRanked) {
  auto results = two_methods({-0.5, -0.52, -0.48});
  for (RunResult& run : results) run.test_sha256 = run.method == "random" ? "aa" : "bb";
  const std::string tests = words(report_of(results));
  for (RunResult& run : results) run.test_sha256 = "aa";
  for (RunResult& run : results)
    if (run.method == "random") {
      run.rounds = 2;
      for (auto& logs : run.members.logs) logs.push_back(-99);
    }
  const std::string rounds = words(report_of(results));

  EXPECT_TRUE(contains(tests,
                       "Not all methods are ranked together: they differ in their test set, so "
                       "that their errors do not say which is better."))
      << tests;
  EXPECT_FALSE(contains(tests, "the lowest error"));
  EXPECT_TRUE(contains(rounds,
                       "sbal has the lowest error, as a mean over rounds 0 to 1, which all of them "
                       "have: 39 % lower"))
      << rounds;
}

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

  EXPECT_EQ(count_of(page_text(report, true), reload), 1u);
  EXPECT_EQ(count_of(page_text(report, false), reload), 0u);
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
  EXPECT_TRUE(contains(page, "39\u00a0% lower"));  // on one line
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
      "a guess, at this and any other cost of a solver step, as the error "
      "cannot be told apart from that of random with 3 seeds.";

  EXPECT_TRUE(contains(page({-0.1, 0.1, -0.05}), guess));
  const std::string sure = page({-0.5, -0.52, -0.48});
  EXPECT_FALSE(contains(sure, guess));
  EXPECT_TRUE(contains(sure, ">solver, per step (ms)</th>"));
  EXPECT_TRUE(contains(sure, "<td data-value=\"0.0002\">0.2</td>"));
  EXPECT_TRUE(contains(sure, "<td data-value=\"0.02\">20</td>"));
  EXPECT_TRUE(contains(sure, ">selection, per round (h)</th>"));
  EXPECT_TRUE(contains(sure, ">under 0.001</td>"));
}

// A trajectory says what its numbers are and how often steps were bought, without scripts; where
// there is none the page has the reason that applies.
TEST(ReportPage, TrajectoriesExplainThemselvesOrTheirAbsence) {
  Report report = report_of({result("sbal", 0, {0.0, -1.0})});
  const std::string none = page_text(report);
  ReportProblem& problem = report.problems[0];
  problem.table.validation = true;
  const std::string held_back = page_text(report);
  problem.table.validation = false;
  Field field{.width = 3, .height = 2, .times = {0, 1, 2}, .bought = {1, 0.25}};
  const Picture picture{.width = 3, .height = 2, .values = {0, 1, 2, 3, 4, 5}, .low = -0.4};
  field.channels = {{"u", picture, picture, picture}};
  problem.methods[0].fields = {field};
  const std::string page = page_text(report);

  EXPECT_TRUE(contains(none, "no trajectories here: the runs have kept none that can be read"));
  EXPECT_TRUE(contains(held_back, "no trajectories here: the study has no test set"));
  EXPECT_TRUE(contains(page, "<p>truth: colours from −0.400 to 1.00</p>")) << page.find("truth:");
  EXPECT_TRUE(contains(page, "<p>prediction: colours as of the truth</p>"));
  EXPECT_TRUE(contains(page, "<path d=\"M0 1V0H1V0.75H2V1Z\" class=\"bar g0\""));
  EXPECT_TRUE(contains(page, "full height is all of them"));
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
                       "below 5\u00a0MB it leaves out: charts of other metrics and of the mean "
                       "model."));
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
  EXPECT_TRUE(contains(words(report), "as no run is finished: 1 stopped."));
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
