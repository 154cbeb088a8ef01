// What the report says first: its finding, four answers, and what else must be known.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "report/headline.h"
#include "report/page_parts.h"
#include "support/contains.h"
#include "support/made_report.h"

namespace stap::test {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

Headline head_of(const std::vector<RunResult>& results) {
  const Report report = report_of(results);
  return headline_of(report, report.problems.at(0));
}

// -0.5 ± 0.02 over three seeds: t of 2 degrees of freedom is 4.303 for one comparison, and 7.649
// for three. exp(-0.5 ± 4.303 * 0.02 / sqrt(3)) = 0.577 .. 0.637, exp(-0.5 ± 0.0883) = 0.555 ..
// 0.663.
TEST(Headline, TheBestMethodHasAnIntervalCorrectedForAllComparisons) {
  const auto two = two_methods({-0.5, -0.52, -0.48});
  auto three = two;
  for (std::size_t seed = 0; seed < 3; ++seed)
    three.push_back(result("worse", seed, {1.0, 1.0 + 0.1 * static_cast<double>(seed)}));

  const Headline one = head_of(two), all = head_of(three);

  EXPECT_EQ(one.title, "sbal has 39 % lower error than random");
  EXPECT_TRUE(contains(one.text, "39 % below random (95 %: 36 to 42 % below)")) << one.text;
  EXPECT_TRUE(one.proved && one.command.empty());
  EXPECT_EQ(one.tiles.at(3).answer, "Yes");
  EXPECT_EQ(all.title, "sbal has the lowest error");
  EXPECT_TRUE(contains(all.text, "39 % below random (95 %: 34 to 44 % below) and 9")) << all.text;
  EXPECT_TRUE(contains(all.about, "corrected for 3 comparisons")) << all.about;
}

// The rule of all that is said: mutations are an interval of 5 % either way that is taken for the
// point estimate alone, and a difference too small for a word that counts as one.
TEST(Headline, OneRuleSaysWhatIsSignificantAndWhatIsNoDifference) {
  EXPECT_EQ(verdict_of(-0.2, 0.1), Verdict::lower);
  EXPECT_EQ(verdict_of(0.2, 0.1), Verdict::higher);
  EXPECT_EQ(verdict_of(-0.2, 0.3), Verdict::open);
  EXPECT_EQ(verdict_of(0.001, 0.8), Verdict::open);  // nothing is known of it
  EXPECT_EQ(verdict_of(0.001, 0.04), Verdict::same);
  EXPECT_EQ(verdict_of(-0.002, 0.001), Verdict::same);
  EXPECT_EQ(verdict_of(0.02, 0.04), Verdict::open);  // up to 6 % above
  EXPECT_EQ(verdict_of(0.1, std::nan("")), Verdict::open);

  const Headline wide = head_of(two_methods({-0.8, 0.8, 0.001}));
  const Headline same = head_of(two_methods({-0.004, 0.004, 0.001}));
  EXPECT_TRUE(wide.title.starts_with("No clear winner yet")) << wide.title;
  EXPECT_TRUE(same.title.starts_with("No difference: ")) << same.title;
  EXPECT_FALSE(wide.proved || same.proved);
}

// -0.1 ± 0.06 as a deviation: with three seeds 4.303 * 0.06 / sqrt(3) = 0.149 is too wide, with
// five 2.776 * 0.06 / sqrt(5) = 0.0745 is below 0.8 * 0.1.
TEST(Headline, MoreSeedsAreAskedForWhereTheyWouldSettleIt) {
  const double d = 0.06;
  Report report = report_of(two_methods({-0.1, -0.1 - d, -0.1 + d}));
  report.problems[0].again = "stap sweep demo";
  report.problems[0].again_out = "here";

  const Headline head = headline_of(report, report.problems[0]);

  EXPECT_TRUE(head.title.starts_with("No clear winner yet: sbal has the lowest error"))
      << head.title;
  EXPECT_TRUE(head.advice.starts_with("Two more seeds")) << head.advice;
  EXPECT_EQ(head.command, "stap sweep demo --grid method=random,sbal --grid seed=0..4 --out here");
  EXPECT_TRUE(contains(head.tiles.at(3).details, "About 5 seeds")) << head.tiles[3].details;
}

TEST(Headline, OneSeedAndOneMethodSayWhatTheyCan) {
  Report report = report_of(two_methods({-0.5}));
  report.problems[0].again = "stap sweep demo";
  report.problems[0].again_out = "here";
  const Headline seed = headline_of(report, report.problems[0]);
  Report alone = report_of({result("sbal", 0, {0.0, -1.0})});
  alone.problems[0].again = "stap sweep demo";
  alone.problems[0].again_out = "here-sweep";
  const Headline run = headline_of(alone, alone.problems[0]);

  EXPECT_TRUE(contains(seed.title, "each method has one seed")) << seed.title;
  EXPECT_FALSE(contains(seed.text, "95 %"));
  EXPECT_TRUE(contains(seed.command, "--grid seed=0..2")) << seed.command;
  EXPECT_EQ(run.title, "sbal reaches an error of 0.368 with 1,240 solver steps");
  EXPECT_TRUE(contains(run.text, "63 % lower")) << run.text;
  EXPECT_TRUE(contains(run.command, "method=random,sbal ")) << run.command;
  EXPECT_EQ(run.tiles.size(), 4u);
}

// Last errors exp(-1) of the members and exp(-2) of their average, which the page is about.
TEST(Headline, IsAboutTheAveragedModelWhereAllRunsHaveIt) {
  const RunResult with = result("sbal", 0, {0.0, -1.0}, 1, {0.0, -2.0}),
                  without = result("random", 0, {0.0, -1.0});

  EXPECT_EQ(head_of({with}).whose, ErrorsOf::mean_model);
  EXPECT_EQ(head_of({with}).tiles.at(0).answer, "0.135");
  EXPECT_EQ(head_of({with, without}).whose, ErrorsOf::members);
  EXPECT_EQ(head_of({with, without}).tiles.at(0).answer, "0.368");
}

TEST(Headline, DifferentBudgetsAreInTheTitle) {
  Report report = report_of(two_methods({-0.5, -0.52, -0.48}));
  report.problems[0].methods[1].solver_steps = 900;
  const std::string spent = headline_of(report, report.problems[0]).title;
  auto results = two_methods({-0.5, -0.52, -0.48});
  for (RunResult& run : results) run.test_sha256 = run.method == "random" ? "aa" : "bb";
  const Headline tests = head_of(results);
  for (RunResult& run : results) run.test_sha256 = "aa";
  for (RunResult& run : results)
    if (run.method == "random") {
      run.rounds = 2;
      for (auto& logs : run.members.logs) logs.push_back(-99);
    }

  EXPECT_TRUE(contains(spent, "different budgets (900 to 1,240 solver steps)")) << spent;
  EXPECT_EQ(tests.title, "No ranking: the methods differ in their test set");
  EXPECT_FALSE(tests.against.has_value());
  EXPECT_TRUE(contains(head_of(results).text, "rounds 0 to 1, which all of them have"));
}

TEST(Headline, SavingsAndTimeAreInTheTiles) {
  Report report = report_of(two_methods({-0.5, -0.52, -0.48}));
  ReportMethod& sbal = report.problems[0].methods[1];
  sbal.cost = ReportCost{.cost = {.terms = {.budget = 30, .rounds = 40, .acquire = 4e-6},
                                  .efficiency = 2.5,
                                  .efficiency_with_warm_ups = 0.5,
                                  .verdict = CostVerdict{.baseline_seconds = 10,
                                                         .active_seconds = 19,
                                                         .turning_acquire = 0.024}},
                         .baseline = "random",
                         .efficiency_by_seed = {2.0, 3.0, std::nullopt}};
  sbal.ledger.budget = 9;
  sbal.ledger.refused = 2;
  sbal.ledger.failed = sbal.ledger.charged_failures = 1;
  sbal.ledger.unspent = 2;
  const Headline head = headline_of(report, report.problems[0]);

  EXPECT_EQ(head.title, "sbal has 39 % lower error than random");  // a seed never reached it
  EXPECT_EQ(head.tiles.at(1).answer, "0.40 ×");
  EXPECT_EQ(head.tiles[1].pill, "−60 %");
  EXPECT_TRUE(contains(head.tiles[1].details, "in 2 of 3 seeds")) << head.tiles[1].details;
  EXPECT_TRUE(contains(head.tiles[1].details, "2.00 ×"));
  EXPECT_EQ(head.tiles.at(2).answer, "No");
  EXPECT_EQ(head.tiles[2].pill, "1.9 × slower");
  EXPECT_TRUE(contains(head.tiles[2].details, "24 ms per solver step; yours takes 4 µs"));
  sbal.cost->efficiency_by_seed[2] = 2.0;
  sbal.cost->cost.verdict->active_seconds = 10.4;
  const Headline all = headline_of(report, report.problems[0]);
  EXPECT_TRUE(contains(all.title, "and needs about 60 % fewer solver steps")) << all.title;
  EXPECT_EQ(all.tiles.at(2).answer, "About even");
  EXPECT_EQ(all.tiles[2].pill, "");
  const std::string text = words(report);
  EXPECT_TRUE(contains(text, "sbal: 2 queries refused, 1 failed")) << text;
  // Of errors that are not significantly different it is not certain.
  Report open = report_of(two_methods({-0.5, 0.4, -0.3}));
  open.problems[0].methods[1].cost = sbal.cost;
  const Headline guess = headline_of(open, open.problems[0]);
  EXPECT_FALSE(contains(guess.title, "fewer"));
  EXPECT_EQ(guess.tiles.at(1).pill, "not certain");
  EXPECT_EQ(guess.tiles.at(2).answer, "Not known yet");
  EXPECT_EQ(guess.tiles[2].pill, "");
}

TEST(Headline, RunsThatHaveNoErrorsOrDivergedAreSaid) {
  RunResult diverged = result("sbal", 0, {0.0, kInfinite});
  diverged.members.diverged = {0, 7};
  const RunResult without = result("random", 0, {});
  RunResult unfinished = result("random", 0, {0.0});
  unfinished.test_sha256 = "ab";
  Report mixed = report_of({result("random", 0, {0.0, 0.0})});
  mixed.runs.push_back({.folder = "x", .state = ReportRun::State::damaged, .words = "broken"});

  const Headline infinite = head_of({diverged, result("sbal", 1, {0.0, kInfinite})});
  EXPECT_TRUE(contains(infinite.title, "left the finite numbers")) << infinite.title;
  EXPECT_TRUE(contains(infinite.remarks.at(0), "sbal: 7 rollouts")) << infinite.remarks[0];
  EXPECT_TRUE(contains(head_of({without}).title, "has no test set"));
  EXPECT_EQ(head_of({without}).tiles.at(3).answer, "None");
  EXPECT_TRUE(contains(head_of({unfinished}).title, "no run is finished"));
  EXPECT_EQ(head_of({unfinished}).tiles.size(), 4u);
  EXPECT_TRUE(contains(words(mixed), "2 runs: 1 finished and 1 damaged.\n"));
  // Broken by: a study without a test set, of which all failed, that is said to lack only that.
  Report failed = report_of({without});
  failed.runs = {{.folder = "f", .state = ReportRun::State::failed, .words = "exit code 1"}};
  const Headline wrong = headline_of(failed, failed.problems.at(0));
  EXPECT_TRUE(contains(wrong.title, "1 of 1 run failed")) << wrong.title;
  EXPECT_TRUE(contains(wrong.text, "f: exit code 1.")) << wrong.text;
  // The NRMSE of such a run is exp(log RMSE - 1).
  const std::string useless = words(report_of({result("random", 0, {3.0, 1.5})}));
  EXPECT_TRUE(contains(useless, "No better than predicting zero: random (NRMSE 1.65).")) << useless;
}

// sbal is lower on the way (-3 of the mean against -2.5) and higher at the end. Mutations: the best
// after the last round taken for that of the mean, a rise that is looked for between neighbours.
TEST(Headline, WhatAMeanOverRoundsHidesIsARemark) {
  std::vector<RunResult> results;
  for (std::size_t seed = 0; seed < 3; ++seed) {
    const double by = 0.01 * static_cast<double>(seed);
    results.push_back(result("random", seed, {0, -3 - by, -4.5}, 2));
    results.push_back(result("sbal", seed, {0, -5 - by, -4}, 2));
  }
  const Headline head = head_of(results);

  EXPECT_EQ(head.best, std::optional<std::size_t>(1));
  ASSERT_EQ(head.remarks.size(), 2u);
  EXPECT_TRUE(contains(head.remarks[0], "random has the lowest error, 0.0111, and sbal 0.0183"))
      << head.remarks[0];
  EXPECT_TRUE(contains(head.remarks[1], "sbal (0.00667 after round 1, 0.0183 after the last)"))
      << head.remarks[1];
  RunResult held = result("sbal", 0, {-5.0, -4.0});
  EXPECT_EQ(head_of({held}).remarks.size(), 1u);
  held.validation = true;  // other steps are held back every round
  EXPECT_TRUE(head_of({held}).remarks.empty());
}

TEST(Headline, SettingsThatAllHaveAreSaidOnce) {
  auto results = two_methods({-0.5, -0.52, -0.48});
  for (RunResult run : std::vector<RunResult>(results)) {
    run.config = config::parse_yaml("pde: {name: none}\nstudy: {budget: 16}", "test");
    results.push_back(run);
  }
  const Headline head = head_of(results);

  EXPECT_EQ(head.title, "No ranking: the methods differ in their budget per round");
  EXPECT_TRUE(contains(head.text, "With study.budget=16: sbal has 39 % lower error than random"))
      << head.text;
  EXPECT_TRUE(head.command.empty());
  EXPECT_TRUE(contains(head.tiles.at(3).details, "budget per round")) << head.tiles[3].details;
}

// Broken by: a factor of 1 that is called growth, a curve that rises and is said to fall.
TEST(Headline, CaptionsSayWhatTheCurveDoes) {
  const Report report = report_of({result("sbal", 0, {0.0, -1.0})});
  const ReportProblem& problem = report.problems.at(0);
  const Headline head = headline_of(report, problem);
  const auto said = [&](const char* id, std::vector<double> y) {
    Chart chart;
    chart.series = {{.label = "sbal", .x = {0, 1, 2}, .y = std::move(y)}};
    return chart_finding(id, chart, problem, head);
  };

  EXPECT_TRUE(contains(said("quantiles", {1, 2, 3}), "3 times the median"));
  EXPECT_FALSE(contains(said("quantiles", {1, 1, 1.01}), "times"));
  EXPECT_TRUE(contains(said("by-step", {1, 2, 6.2}), "grow 6.2 times"));
  EXPECT_FALSE(contains(said("by-step", {1, 2, 0.9}), " times"));
  EXPECT_EQ(said("by-step", {0, 2, 3}), "");
  EXPECT_TRUE(contains(said("errors", {0.2, 0.4, 0.1}), "falls from 0.2 to 0.1"));
  EXPECT_TRUE(contains(said("errors", {0.2, 0.1, 0.4}), "rises from 0.2 to 0.4"));
}

}  // namespace
}  // namespace stap::test
