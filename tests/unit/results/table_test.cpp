#include "stap/results/table.h"

#include "stap/results/table_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stap/core/error.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"
#include "support/table_results.h"

namespace stap {
namespace {

using test::result;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Seeds 0 and 1 of both methods: headlines -2, -3 and -2.5, -4, so that the paired differences are
// -0.5 and -1; t of 0.975 with one degree of freedom is 12.7062.
std::vector<RunResult> two_methods() {
  return {result("random", 0, {-1, -3}), result("random", 1, {-2, -4}), result("sbal", 1, {-3, -5}),
          result("sbal", 0, {-1, -4}), result("sbal", 7, {-9, -9})};
}

TEST(Table, MeansAndPairedDifferences) {
  const auto tables = make_tables(two_methods());

  ASSERT_EQ(tables.size(), 1u);
  ASSERT_EQ(tables[0].rows.size(), 2u);
  const TableCell& random = tables[0].rows[0].members.of(Metric::rmse);
  const TableCell& sbal = tables[0].rows[1].members.of(Metric::rmse);
  EXPECT_DOUBLE_EQ(random.log.mean, -2.5);
  EXPECT_DOUBLE_EQ(random.log.deviation, std::sqrt(0.5));
  EXPECT_TRUE(std::isnan(random.difference.mean));
  EXPECT_EQ(sbal.difference.count, 2u);  // seed 7 has no partner
  EXPECT_DOUBLE_EQ(sbal.difference.mean, (-0.5 - 1.0) / 2);
  EXPECT_NEAR(sbal.difference_95, 12.7062 * std::sqrt(0.125) / std::sqrt(2.0), 1e-3);
  EXPECT_NEAR(random.by_round[1], std::exp(-3.5), 1e-12);
  const auto turned = make_tables(two_methods(), "sbal");
  EXPECT_DOUBLE_EQ(turned[0].rows[1].members.of(Metric::rmse).difference.mean, 0.75);
  EXPECT_THROW(make_tables(two_methods(), "qbc"), Error);
}

// test::result gives metric number m the logarithms of the RMSE minus m; the offset of L = 13 and
// Nx = 256 is the documented 1.570.
TEST(Table, EveryMetricHasItsOwnNumbers) {
  const auto tables = make_tables(two_methods());

  for (const MetricInfo& metric : metric_infos()) {
    const double m = static_cast<double>(metric.metric);
    EXPECT_DOUBLE_EQ(tables[0].rows[0].members.of(metric.metric).log.mean, -2.5 - m) << metric.name;
    EXPECT_DOUBLE_EQ(tables[0].rows[1].members.of(metric.metric).difference.mean, -0.75)
        << metric.name;
  }
  EXPECT_NEAR(tables[0].published_offset, 1.570, 5e-4);
}

// Standard errors of a tenth and of three tenths of the RMSE, one a round: two tenths.
TEST(Table, SaysHowMuchIsTheTestSets) {
  RunResult run = result("random", 0, {-1, -3});
  EXPECT_TRUE(std::isnan(make_tables({run})[0].rows[0].members.test_set_sd));
  run.members.standard_errors = {0.1 * std::exp(-1), 0.3 * std::exp(-3)};

  EXPECT_NEAR(make_tables({run})[0].rows[0].members.test_set_sd, 0.2, 1e-12);
  run.validation = true;
  EXPECT_TRUE(std::isnan(make_tables({run})[0].rows[0].members.test_set_sd));
}

// 13 clusters of 8 steps: sqrt(104 * 256) / 12, as Metrics::to_published has it.
TEST(Table, ThePublishedScaleCountsClusters) {
  RunResult run = result("random", 0, {-1, -3});
  run.steps = 104;
  run.cluster = 8;

  EXPECT_NEAR(make_tables({run})[0].published_offset, 2.610, 5e-4);
}

// Headlines of the mean model -3 and -5, and -4 and -9: differences -1 and -4. The run of seed 2 is
// from before it was measured.
TEST(Table, TheMeanModelHasItsOwnNumbers) {
  const auto tables = make_tables(
      {result("random", 0, {-1, -3}, 1, {-2, -4}), result("random", 1, {-2, -4}, 1, {-4, -6}),
       result("sbal", 0, {-2, -4}, 1, {-3, -5}), result("sbal", 1, {-4, -6}, 1, {-9, -9}),
       result("sbal", 2, {-1, -1})});

  const TableRow& sbal = tables[0].rows[1];
  EXPECT_DOUBLE_EQ(tables[0].rows[0].mean_model.of(Metric::rmse).log.mean, -4.0);
  EXPECT_DOUBLE_EQ(sbal.mean_model.of(Metric::rmse).log.mean, -6.5);
  EXPECT_DOUBLE_EQ(sbal.mean_model.of(Metric::mae).log.mean, -6.5 - 2);
  EXPECT_DOUBLE_EQ(sbal.mean_model.of(Metric::rmse).difference.mean, -2.5);
  EXPECT_EQ(sbal.mean_model.seeds, (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(sbal.members.seeds.size(), 3u);
  EXPECT_EQ(sbal.without(ErrorsOf::mean_model), 1u);
  EXPECT_DOUBLE_EQ(sbal.members.of(Metric::rmse).difference.mean, -1.5);
}

TEST(Table, UnfinishedRunsAreLeftOutAndCounted) {
  const auto tables = make_tables(
      {result("random", 0, {-1, -3}), result("random", 1, {-2}), result("sbal", 0, {-2})});

  const std::vector<TableRow>& rows = tables[0].rows;
  EXPECT_EQ(rows[0].incomplete, 1u);
  EXPECT_EQ(rows[0].members.seeds.size(), 1u);
  EXPECT_EQ(rows[1].incomplete, 1u);
  EXPECT_TRUE(
      std::isnan(rows[1].members.of(Metric::rmse).log.mean));  // not 0, which would be a good one
}

TEST(Table, OtherSettingsThatDifferStandInTheLabel) {
  RunResult more = result("random", 0, {-1, -3});
  more.config = config::parse_yaml("pde: {name: none}\nstudy: {budget: 16}", "test");
  RunResult precise = result("random", 0, {-1, -3});
  precise.config.set("compute", config::parse_yaml("{precision: fp32}", "test"));

  const auto tables = make_tables({result("random", 0, {-1, -3}), more, precise});

  ASSERT_EQ(tables.size(), 1u);
  ASSERT_EQ(tables[0].rows.size(), 3u);
  EXPECT_EQ(tables[0].rows[0].label, "random study.budget=8");
  EXPECT_EQ(tables[0].rows[1].label, "random study.budget=16");
  EXPECT_EQ(tables[0].rows[2].label, "random compute.precision=fp32 study.budget=8");
  EXPECT_EQ(tables[0].rows[2].method, "random");
}

RunResult with_study(RunResult run, const std::string& study, const std::string& test = "") {
  run.config = config::parse_yaml("pde: {name: none}\nstudy: " + study, "test");
  run.test_sha256 = test;
  return run;
}

// Mutation: rows are told apart by it; the run that was not measured over images counts in the
// place of its twin that was, or both do.
TEST(Table, HowARunIsKeptAndMeasuredMakesNoRow) {
  RunResult measured = with_study(result("random", 0, {-1, -3}), "{images: true}");
  measured.images = measured.mean_model_images = measured.members;

  const auto tables = make_tables(
      {with_study(result("random", 0, {-1, -3}), "{images: false}"), measured,
       with_study(result("random", 1, {-2, -4}), "{keep_committees: all, checkpoint_epochs: 7}")});

  ASSERT_EQ(tables[0].rows.size(), 1u);
  const TableRow& row = tables[0].rows[0];
  EXPECT_EQ(row.label, "random");
  EXPECT_EQ(row.members.seeds, (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(row.images.seeds, (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(row.repeated, 1u);
  EXPECT_EQ(row.without(ErrorsOf::members_images), 1u);
}

// Mutations: headlines over all rounds of a run (the difference would be -1 - (-4.5)), a first row
// that is looked up whatever the set.
TEST(Table, OnlyWhatIsComparableIsCompared) {
  const std::string few = "{budget: 8, rounds: 1}", many = "{budget: 8, rounds: 2}";
  const std::vector<RunResult> results{
      with_study(result("random", 0, {0, -9, -9}, 2), many, "aaaaaaaaaa"),
      with_study(result("sbal", 0, {-1, -2}, 1), few, "aaaaaaaaaa"),
      with_study(result("sbal", 0, {-7, -7}, 1), few, "bbbbbbbbbb"),
      with_study(result("sbal", 0, {-8, -8}, 1), "{budget: 9, rounds: 1}", "aaaaaaaaaa")};

  const ProblemTable table = make_tables(results).at(0);

  ASSERT_EQ(table.rows.size(), 4u);
  const auto cell = [&](std::size_t row) { return table.rows[row].members.of(Metric::rmse); };
  // Rounds 0 and 1, which both have: -1.5 - (-4.5).
  EXPECT_DOUBLE_EQ(cell(0).log.mean, -4.5);
  EXPECT_DOUBLE_EQ(cell(1).difference.mean, 3.0);
  EXPECT_EQ(cell(0).by_round.size(), 2u);
  EXPECT_EQ(cell(0).last, std::vector<double>{-9});
  EXPECT_TRUE(table.rows[0].cut && !table.rows[1].cut);
  EXPECT_EQ(table.rows[0].rounds, 1u);
  // An unfinished copy that comes first hides nothing; data that were there before set rows apart.
  std::vector<RunResult> copies{with_study(result("sbal", 0, {-1}, 1), few, "aaaaaaaaaa"),
                                results[1]};
  EXPECT_EQ(make_tables(copies).at(0).rows.at(0).members.seeds, std::vector<std::uint64_t>{0});
  copies[0] = results[1];
  copies[0].method = "random";
  copies[1].config.set("first", config::parse_yaml("{name: file, path: a.h5}", "test"));
  EXPECT_TRUE(
      std::isnan(make_tables(copies).at(0).rows.at(1).members.of(Metric::rmse).difference.mean));
  EXPECT_EQ(make_tables(copies).at(0).apart, "data from before");
  // Errors of single steps are no rollouts'.
  copies[1] = with_study(results[1], "{budget: 8, rounds: 1, validation: 0.2}");
  EXPECT_EQ(make_tables(copies).size(), 2u);
  // The same settings on another test set are another row.
  EXPECT_TRUE(table.rows[1].label.ends_with(" test=aaaaaaaa")) << table.rows[1].label;
  EXPECT_TRUE(table.rows[2].label.ends_with(" test=bbbbbbbb")) << table.rows[2].label;
  EXPECT_TRUE(std::isnan(cell(2).difference.mean) && std::isnan(cell(3).difference.mean));
  EXPECT_EQ(table.apart, "test set and budget per round");
}

// What differs between problems is no difference between the rows of one.
TEST(Table, EveryProblemHasItsOwnTable) {
  std::vector<RunResult> results = two_methods();
  for (RunResult& r : two_methods()) {
    r.config = config::parse_yaml("pde: {name: other}\nstudy: {budget: 5, steps: 26}", "test");
    r.steps = 26;
    for (auto& logs : r.members.logs)
      for (double& log : logs) log += r.method == "sbal" ? 3 : 1;
    results.push_back(r);
  }

  const auto tables = make_tables(results, "random");

  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].problem, "none");
  EXPECT_EQ(tables[1].problem, "other");
  EXPECT_EQ(tables[1].rows[1].label, "sbal");
  EXPECT_DOUBLE_EQ(tables[0].rows[1].members.of(Metric::mae).difference.mean, -0.75);
  EXPECT_DOUBLE_EQ(tables[1].rows[1].members.of(Metric::mae).difference.mean, -0.75 + 2);
  EXPECT_NEAR(tables[1].published_offset, 1.183, 5e-4);  // L = 26, Nx = 256
}

TEST(Table, ProblemsOfOneEquationSayWhatSetsThemApart) {
  RunResult thick = result("random", 0, {-1, -3}), thin = thick;
  thick.config = config::parse_yaml("pde: {name: none, viscosity: 2}", "test");
  thin.config = config::parse_yaml("pde: {name: none, viscosity: 1}", "test");

  const auto tables = make_tables({thick, thin});

  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].problem, "none pde.viscosity=2");
  EXPECT_EQ(tables[1].problem, "none pde.viscosity=1");
}

TEST(Table, ProblemsOfPresetsHaveTheirNames) {
  std::vector<RunResult> results;
  for (const char* name : {"paper/burgers", "as-coded/burgers", "paper/ins-forced"}) {
    results.push_back(result("random", 0, {-1, -3}));
    results.back().config = make_study(load_config(name)).effective;
  }

  const auto tables = make_tables(results);

  ASSERT_EQ(tables.size(), 3u);
  EXPECT_EQ(tables[0].problem, "paper/burgers");
  EXPECT_EQ(tables[1].problem, "as-coded/burgers");
  EXPECT_EQ(tables[2].problem, "paper/ins-forced");
  EXPECT_EQ(tables[1].published_problem, "burgers");
  EXPECT_TRUE(tables[1].published_sizes);
  EXPECT_EQ(tables[2].published_problem, "");  // a figure only
}

// Geometric means over seeds of the last evaluation that counts: sqrt(1 * 4) and sqrt(4 * 16).
// Mutation: the first evaluation, an arithmetic mean, channels of another row.
TEST(Table, HasErrorsByChannelOfTheLastRound) {
  std::vector<RunResult> results;
  for (const auto& [seed, last] : {std::pair(0, std::vector{1.0, 4.0}), {1, {4.0, 16.0}}}) {
    RunResult& run =
        results.emplace_back(result("random", static_cast<std::uint64_t>(seed), {-1, -3}));
    run.measured = {0, 1};
    run.manifest.identity.set("channels", config::list_of(std::vector<std::string>{"rho", "v"}));
    run.members.rmse_by_channel = {{9, 9}, last};
    run.members.nrmse_by_channel = {{9, 9}, {0.5, 0.25}};
  }

  const auto tables = make_tables(results);

  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].channels, (std::vector<std::string>{"rho", "v"}));
  const TableErrors& errors = tables[0].rows[0].members;
  ASSERT_EQ(errors.rmse_by_channel.size(), 2u);
  EXPECT_NEAR(errors.rmse_by_channel[0], 2.0, 1e-15);
  EXPECT_NEAR(errors.rmse_by_channel[1], 8.0, 1e-14);
  EXPECT_NEAR(errors.nrmse_by_channel[1], 0.25, 1e-15);
  EXPECT_TRUE(tables[0].rows[0].mean_model.rmse_by_channel.empty());
  const std::string text = tables_text(tables, {.metric = Metric::rmse}, {});
  EXPECT_NE(text.find("last RMSE by channel"), std::string::npos) << text;
  EXPECT_EQ(tables_text(tables, {.metric = Metric::mae}, {}).find("by channel"), std::string::npos);
}

TEST(Table, DivergedMeansStayInfiniteAndQuantilesStand) {
  RunResult diverged = result("random", 0, {-1, -3});
  diverged.members.logs[static_cast<std::size_t>(Metric::rmse)][1] = kInfinity;
  diverged.members.diverged = {1, 2};

  const auto tables = make_tables({diverged});

  const TableRow& row = tables[0].rows[0];
  EXPECT_EQ(row.members.of(Metric::rmse).log.mean, kInfinity);
  EXPECT_DOUBLE_EQ(row.members.of(Metric::q50).log.mean, -2.0 - 5);
  EXPECT_EQ(row.members.diverged, 3u);
}

}  // namespace
}  // namespace stap
