#include "stap/results/table_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include <nlohmann/json.hpp>

#include "results/text_layout.h"
#include "support/contains.h"
#include "support/table_results.h"

namespace stap {
namespace {

using nlohmann::json;
using test::contains;
using test::result;
using test::unwrapped;

// Burgers with two seeds of each method: headlines of the RMSE -2 and -3 (mean -2.5, deviation
// sqrt(0.5) = 0.707), and 1 and 2 below them (mean -4, deviation sqrt(2) = 1.414; differences with
// mean -1.5, deviation 0.707, half interval 12.7062 * 0.5 = 6.353). L = 13, Nx = 256: + 1.570.
std::vector<RunResult> burgers() {
  std::vector<RunResult> results{result("random", 0, {-1, -3}), result("random", 1, {-2, -4}),
                                 result("sbal", 0, {-2, -4}), result("sbal", 1, {-4, -6})};
  for (RunResult& r : results)
    r.config = config::parse_yaml("pde: {name: burgers}\nstudy: {budget: 104}", "test");
  return results;
}
std::vector<ProblemTable> tables() {
  return make_tables(burgers());
}
std::vector<ProblemTable> diverged() {
  std::vector<RunResult> results = burgers();
  results[2].members.logs[static_cast<std::size_t>(Metric::rmse)][0] =
      std::numeric_limits<double>::infinity();
  results[2].members.diverged = {4};
  return make_tables(results);
}

TEST(TableText, CompactLineOfOneMetric) {
  const std::string text = tables_text(tables());

  EXPECT_TRUE(contains(text, "burgers: 13 steps, 256 points; errors of the members\n"));
  EXPECT_TRUE(contains(text, "log RMSE"));
  EXPECT_TRUE(contains(text, "\nsbal        2  -4.000 ± 1.414    -1.500 ± 6.353  "));
  EXPECT_TRUE(contains(text, "\nsbal     -2.430 ± 1.414\n"));
  EXPECT_FALSE(contains(text, "paper"));
  const std::string mae = tables_text(tables(), {Metric::mae, false});
  EXPECT_TRUE(contains(mae, "-6.000 ± 1.414    -1.500 ± 6.353"));
  EXPECT_FALSE(contains(mae, "published scale"));
}

// Would fail if warm-ups were added twice where they are charged, or another round's were taken.
TEST(TableText, WhatRowsHaveCost) {
  std::vector<RunResult> results = burgers();
  for (RunResult& r : results) {
    r.measured = {0, 1};
    r.transitions = {10, 30};
    r.cluster = 1;
    r.candidates = {2, r.method == "sbal" ? 22u : 4u};
    r.warm_up_steps = {12, 6 * r.candidates[1]};
  }

  const std::string text = tables_text(make_tables(results));
  EXPECT_TRUE(contains(text, "solver steps  trajectories  with warm-ups")) << text;
  EXPECT_TRUE(contains(text, "  30            22            162\n")) << text;
  EXPECT_TRUE(contains(unwrapped(text), "\"with warm-ups\" adds the learned steps"));
  for (RunResult& r : results) r.charge_warm_up = true;
  EXPECT_EQ(tables_text(make_tables(results)), text);
  EXPECT_EQ(make_tables(results)[0].rows[1].solver_steps, 30);
  results[3].candidates.clear();  // from before they were counted
  EXPECT_TRUE(std::isnan(make_tables(results)[0].rows[1].candidates));
}

TEST(TableText, NumbersOfAColumnEndBelowItsHead) {
  std::istringstream lines(tables_text(tables(), {std::nullopt, true}));
  std::string line, head;
  std::getline(lines, line);  // the problem
  std::getline(lines, line);  // the scale
  std::getline(lines, head);

  std::getline(lines, line);
  EXPECT_EQ(line.rfind("random", 0), 0u);
  // One byte more than columns: the ± has two.
  EXPECT_EQ(line.find("-2.500 ± 0.707") + std::string("-2.500 ± 0.707").size(),
            head.find("RMSE") + 4 + 1);
}

// Would fail if a label, a note or a column were put out as it is.
TEST(TableText, NoLineIsLongerThanTheColumnsWhateverTheNames) {
  for (const std::size_t length : {1u, 24u, 30u, 79u, 200u, 10000u}) {
    std::vector<RunResult> results = burgers();
    for (RunResult& r : results)
      if (r.method == "sbal") r.method = "é\033[31m " + std::string(length, 'x');
    const auto all = make_tables(results);
    for (const std::size_t columns : {60u, 80u, 133u})
      for (const auto& metric : {std::optional(Metric::rmse), std::optional<Metric>()}) {
        std::istringstream lines(tables_text(all, {metric, true}, {.columns = columns}));
        for (std::string line; std::getline(lines, line);) {
          EXPECT_LE(width_of(line), columns) << line;
          EXPECT_EQ(line.find('\033'), std::string::npos);
        }
      }
  }
  EXPECT_TRUE(contains(tables_text(tables(), {}, {.columns = 133}), "by round  published scale"));
}

TEST(TableText, ColoursTheBestAndWhatIsSure) {
  std::vector<RunResult> results;
  for (std::uint64_t seed = 0; seed < 3; ++seed)
    for (const auto& [method, log] : {std::pair{"random", -2.0}, {"lower", -3.0}, {"higher", -1.0}})
      results.push_back(result(method, seed, {log + 0.001 * static_cast<double>(seed), log}));
  results[3].members.logs[0][0] += 0.01;  // or the differences had no spread

  const std::string text = tables_text(make_tables(results), {}, {.colour = true});

  EXPECT_TRUE(contains(text, "\033[1m-3.000"));
  EXPECT_FALSE(contains(text, "\033[1m-1"));
  EXPECT_TRUE(contains(text, "\033[32m-1.00"));
  EXPECT_TRUE(contains(text, "\033[31m+0.99"));
  EXPECT_FALSE(contains(tables_text(make_tables(results)), "\033"));
}

// 0.1 and 0.001 with four digits of the smaller one; powers of ten where that gives no number that
// can be read.
TEST(TableText, ErrorsOfAColumnAreOnOneScale) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(on_one_scale(std::vector{0.1649, 0.00328}).texts, (Texts{"0.164900", "0.003280"}));
  EXPECT_EQ(on_one_scale(std::vector{123456.0, 2.0}).texts, (Texts{"123456.000", "2.000"}));
  const OneScale small = on_one_scale(std::vector<double>{3e-5, 2e-6, INFINITY});
  EXPECT_EQ(small.texts, (Texts{"30.000", "2.000", ""}));
  EXPECT_EQ(small.exponent, -6);
  EXPECT_EQ(on_one_scale(std::vector{3e20, 2e-6}).texts, (Texts{"3.000e+20", "2.000e-06"}));
  // By logarithm, over all lists: 1 is the middle of 0.01 and 100.
  EXPECT_EQ(sparklines(std::vector<std::vector<double>>{{100, 1.01}, {0.01, INFINITY, 1.01}}),
            (Texts{"█▅", "▁!▅"}));
}

TEST(TableText, AllMetricsOnBothScales) {
  const std::string text = tables_text(tables(), {std::nullopt, false});

  for (const char* title : {"RMSE", "NRMSE", "MAE", "RMSE 99 %", "RMSE 95 %", "RMSE 50 %"})
    EXPECT_TRUE(contains(text, title));
  EXPECT_TRUE(contains(text, "our scale"));
  EXPECT_TRUE(contains(text, "published scale"));
  EXPECT_TRUE(contains(text, "difference to random, 95 %"));
  EXPECT_TRUE(contains(text, "-3.500 ± 0.707"));  // NRMSE of random
  EXPECT_TRUE(contains(text, "-5.430 ± 1.414"));  // 99 % quantile of sbal, -7 + 1.570
}

TEST(TableText, PublishedNumbersWithTheirFootnotes) {
  std::vector<RunResult> results = burgers();
  results.push_back(results[0]);
  results.back().method = "lcmd";

  const std::string text = tables_text(make_tables(results), {Metric::rmse, true});

  EXPECT_TRUE(contains(text, "-3.388 ± 0.052"));
  EXPECT_TRUE(contains(text, "-0.507"));  // -3.388 + 2.881
  EXPECT_TRUE(contains(text, "not LCMD"));
  EXPECT_TRUE(contains(text, "other sizes"));
  RunResult forced = results[0];
  forced.config = config::parse_yaml("pde: {name: ins, forcing_rate: 0.2}", "test");
  EXPECT_TRUE(
      contains(tables_text(make_tables({forced}), {Metric::rmse, true}), "prints no number"));
}

TEST(TableText, MultiStepNetworksHaveTheirOwnNumbers) {
  std::vector<RunResult> results = burgers();
  for (RunResult& r : results)
    r.config = config::parse_yaml("pde: {name: burgers}\nstudy: {cluster: 8}", "test");

  const std::string text = tables_text(make_tables(results), {Metric::rmse, true});

  EXPECT_TRUE(contains(text, "-1.893 ± 0.053"));
  EXPECT_FALSE(contains(text, "-3.388"));
  EXPECT_TRUE(contains(text, "multi-step"));
}

// 1.96 sqrt(2) 0.1 = 0.277, of the row that depends most on its test set; other metrics and runs
// that do not say have no such note.
TEST(TableText, SaysWhatAnotherTestSetWouldChange) {
  std::vector<RunResult> results = burgers();
  const auto text = [&](Metric metric) {
    return unwrapped(tables_text(make_tables(results), {metric, false}));
  };
  EXPECT_FALSE(contains(text(Metric::rmse), "Test set"));
  for (RunResult& r : results)
    for (const double log : r.members.logs_of(Metric::rmse))
      r.members.standard_errors.push_back((r.method == "sbal" ? 0.1 : 0.02) * std::exp(log));

  EXPECT_TRUE(contains(text(Metric::rmse), "higher or lower by up to 0.28 (95 %)"));
  EXPECT_FALSE(contains(text(Metric::mae), "Test set"));
}

// Metric 1 is the NRMSE, whose logarithm is one less than that of the RMSE here.
TEST(TableText, SaysOnceWhatIsNoBetterThanZero) {
  const auto text = [](double last) {
    return unwrapped(tables_text(make_tables({test::result("random", 0, {3.0, last}),
                                              test::result("sbal", 0, {3.0, last + 1}),
                                              test::result("qbc", 0, {3.0, 0.5})})));
  };

  EXPECT_TRUE(contains(text(1.0), "predicting zero, at the end: random (1), sbal (2.72). That"));
  EXPECT_TRUE(contains(text(0.5), "predicting zero, at the end: sbal (1.65). That"));
  EXPECT_FALSE(contains(text(-0.5), "predicting zero"));
}

TEST(TableText, DivergenceIsShownAndCounted) {
  const std::string text = tables_text(diverged());

  EXPECT_TRUE(contains(text, "div(4)"));
  EXPECT_TRUE(contains(text, "not finite"));
  EXPECT_FALSE(contains(text, "inf"));
  EXPECT_FALSE(contains(text, "nan"));
}

// The runs of burgers(), with mean models that are 1 (random) and 3 (sbal) lower.
std::vector<ProblemTable> with_mean_model() {
  std::vector<RunResult> results = burgers();
  for (RunResult& r : results) {
    r.mean_model.logs = r.members.logs;
    for (auto& logs : r.mean_model.logs)
      for (double& log : logs) log -= r.method == "sbal" ? 3 : 1;
  }
  results[0].mean_model.diverged = {7};
  return make_tables(results);
}

TEST(TableText, TheMeanModelIsShownWhereItIsAskedFor) {
  const auto all = with_mean_model();

  const std::string members = tables_text(all);
  const std::string mean = tables_text(all, {Metric::rmse, true, ErrorsOf::mean_model});
  const std::string blocks = tables_text(all, {std::nullopt, false, ErrorsOf::mean_model});
  const std::string latex = tables_latex(all, {Metric::rmse, false, ErrorsOf::mean_model});

  EXPECT_TRUE(contains(members, "; errors of the members\n"));
  EXPECT_TRUE(contains(members, "-4.000 ± 1.414"));
  EXPECT_FALSE(contains(members, "div(7)"));
  EXPECT_TRUE(contains(mean, "; errors of the averaged model\n"));
  EXPECT_TRUE(contains(mean, "-7.000 ± 1.414"));
  EXPECT_TRUE(contains(mean, "-3.500 ± 6.353"));
  EXPECT_TRUE(contains(mean, "div(7)"));
  EXPECT_TRUE(contains(mean, "-3.388 ± 0.052"));
  EXPECT_TRUE(contains(unwrapped(mean), "errors of the members, not of the averaged model"));
  EXPECT_TRUE(contains(blocks, "-8.000 ± 1.414"));  // NRMSE of sbal
  EXPECT_TRUE(contains(latex, "RMSE, averaged model: logarithm"));
  EXPECT_TRUE(contains(latex, "$\\mathbf{-7.000} \\pm 1.414$"));
}

// with_mean_model(), of which random was measured over images, too: members 4 lower, the mean model
// 5 lower.
std::vector<RunResult> with_images() {
  std::vector<RunResult> results = burgers();
  for (RunResult& r : results) {
    if (r.method != "random") continue;
    r.images = r.mean_model_images = r.members;
    for (auto& logs : r.images.logs)
      for (double& log : logs) log -= 4;
    for (auto& logs : r.mean_model_images.logs)
      for (double& log : logs) log -= 5;
  }
  return results;
}

// The same, with mean models that are no better than the members.
std::vector<RunResult> with_both() {
  std::vector<RunResult> results = with_images();
  for (RunResult& r : results) r.mean_model = r.members;
  return results;
}

// Mutation: the two are mixed up; rows that were not measured over images are taken for others.
TEST(TableText, ErrorsOverImagesAreShownWhereTheyAreAskedFor) {
  const auto all = make_tables(with_images());

  const std::string members = tables_text(all, {Metric::rmse, false, ErrorsOf::members_images});
  const std::string mean = tables_text(all, {Metric::rmse, true, ErrorsOf::mean_model_images});
  const json table = json::parse(config::json_text(tables_value(all)));

  EXPECT_TRUE(contains(members, "; errors of the members over images\n"));
  EXPECT_TRUE(contains(members, "-6.500 ± 0.707"));
  EXPECT_TRUE(contains(mean, "; errors of the averaged model over images\n"));
  EXPECT_TRUE(contains(mean, "-7.500 ± 0.707"));
  EXPECT_TRUE(contains(unwrapped(mean), "errors of the members, not of the averaged model over"));
  EXPECT_TRUE(contains(unwrapped(mean),
                       "sbal: 2 runs were not measured over images (study.images) and are not "
                       "counted"));
  EXPECT_TRUE(contains(unwrapped(tables_text(make_tables(with_both()))),
                       "random: over images log RMSE is -4.000 ± 0.000 (members) and -5.000 ± "
                       "0.000 (averaged model) against without them"));
  EXPECT_TRUE(contains(unwrapped(tables_text(make_tables(with_images(), "sbal"),
                                             {Metric::rmse, false, ErrorsOf::members_images})),
                       "no differences, since errors of the members over images were not measured "
                       "in the row sbal"));
  const json& random = table.at("rows").at(0);
  EXPECT_DOUBLE_EQ(random.at("images").at("log_rmse_mean").get<double>(), -6.5);
  EXPECT_DOUBLE_EQ(random.at("mean_model_images").at("log_rmse_mean").get<double>(), -7.5);
  EXPECT_FALSE(table.at("rows").at(1).contains("images"));
}

TEST(TableText, RunsFromBeforeTheMeanModelWasMeasuredAreCounted) {
  const std::string text = tables_text(tables(), {Metric::rmse, false, ErrorsOf::mean_model});

  EXPECT_TRUE(
      contains(unwrapped(text), "sbal: 2 runs are from before the averaged model was measured"));
  EXPECT_FALSE(contains(text, "nan"));
  EXPECT_FALSE(contains(tables_text(tables()), "from before"));
}

TEST(TableLatex, MethodsByProblemsWithTheBestInBold) {
  std::vector<RunResult> results = burgers();
  for (RunResult r : burgers()) {
    if (r.method == "sbal") r.method = "random", r.config.set("extra_key", 1);
    r.config.set("pde", config::parse_yaml("{name: kdv}", "test"));
    results.push_back(r);
  }

  const std::string text = tables_latex(make_tables(results), {Metric::rmse, false});

  EXPECT_TRUE(contains(text, "\\begin{tabular}{lcc}"));
  EXPECT_TRUE(contains(text, " & burgers & kdv \\\\"));
  EXPECT_TRUE(contains(text, "sbal & $\\mathbf{-4.000} \\pm 1.414$ & -- \\\\"));
  EXPECT_TRUE(contains(text, "random & $-2.500 \\pm 0.707$ & $-2.500 \\pm 0.707$ \\\\"));
  EXPECT_TRUE(contains(text, "random extra\\_key=1 & -- & $\\mathbf{-4.000} \\pm 1.414$ \\\\"));
  EXPECT_TRUE(contains(text, "\\mathbf{-2.430} \\pm 1.414"));
  EXPECT_TRUE(contains(text, "sbal & $-1.500 \\pm 6.353$"));
  EXPECT_TRUE(contains(text, "95 \\%"));
}

TEST(TableLatex, MethodsByMetrics) {
  const std::string text = tables_latex(diverged(), {std::nullopt, true});

  EXPECT_TRUE(contains(text, "\\begin{tabular}{lcccccc}"));
  EXPECT_TRUE(
      contains(text, " & RMSE & NRMSE & MAE & RMSE 99 \\% & RMSE 95 \\% & RMSE 50 \\% \\\\"));
  EXPECT_TRUE(contains(text, "sbal & div(4) & $\\mathbf{-5.000} \\pm 1.414$"));
  EXPECT_TRUE(contains(text, "random & $\\mathbf{-2.500} \\pm 0.707$ & $-3.500"));
  EXPECT_TRUE(contains(text, "$\\mathbf{-3.388} \\pm 0.052$ & $\\mathbf{-4.081} \\pm 0.061$"));
}

// A cluster of 2: a transition is two solver steps. The first evaluation of the run diverged, the
// mean model of the other one was not measured.
TEST(TableCsv, OneLineForEachRunAndRound) {
  RunResult first = burgers()[0], second = burgers()[3];
  first.cluster = 2;
  first.transitions = {10, 15};
  second.transitions = {20};
  const double infinite = std::numeric_limits<double>::infinity();
  for (std::size_t m = 0; m < kMetrics; ++m) {
    const double d = static_cast<double>(m);
    first.members.values[m] = {m == 0 ? infinite : 0.5 + d, 1.5 + d};
    first.mean_model.values[m] = {2.5 + d, 3.5 + d};
    second.members.values[m] = {4.5 + d};
  }
  first.mean_model.logs = first.members.logs;
  first.members.diverged = {4, 0};
  first.mean_model.diverged = {1, 0};
  second.members.diverged = {0};
  for (auto& logs : second.members.logs) logs.resize(1);
  second.method = "sbal(exponent=2,x=1)";

  first.candidates = {3, 8};
  first.warm_up_steps = {12, 32};

  const std::string text = runs_csv({first, second});

  EXPECT_EQ(
      text,
      "problem,label,method,seed,round,solver_steps,transitions,candidates,warm_up_steps,"
      "rmse,nrmse,mae,rmse_q99,rmse_q95,rmse_q50,diverged,"
      "mean_model_rmse,mean_model_nrmse,mean_model_mae,mean_model_rmse_q99,"
      "mean_model_rmse_q95,mean_model_rmse_q50,mean_model_diverged\n"
      "burgers,random,random,0,0,20,10,3,12,,1.5,2.5,3.5,4.5,5.5,4,2.5,3.5,4.5,5.5,6.5,7.5,1\n"
      "burgers,random,random,0,1,30,15,8,32,1.5,2.5,3.5,4.5,5.5,6.5,0,3.5,4.5,5.5,6.5,7.5,8.5,0\n"
      "burgers,\"sbal(exponent=2,x=1)\",\"sbal(exponent=2,x=1)\",1,0,20,20,,,"
      "4.5,5.5,6.5,7.5,8.5,9.5,0,,,,,,,\n");
  EXPECT_TRUE(contains(runs_csv({first}, Metric::q95),
                       ",warm_up_steps,rmse_q95,diverged,mean_model_rmse_q95,mean_model_diverged\n"
                       "burgers,random,random,0,0,20,10,3,12,4.5,4,6.5,1\n"));
}

TEST(TableCsv, OneLineForEachMetricAndScale) {
  std::vector<RunResult> results = burgers();
  for (RunResult& r : results)
    if (r.method == "sbal") r.method = "sbal(exponent=2,x=1)";

  std::istringstream lines(tables_csv(make_tables(results), {std::nullopt, true}));

  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(
      line,
      "problem,label,model,seeds,metric,scale,mean,sd,difference,difference_95,pairs,diverged,"
      "incomplete,paper_mean,paper_sd,paper_difference");
  std::getline(lines, line);
  EXPECT_EQ(line, "burgers,random,members,2,rmse,own,-2.5,0.7071067811865476,,,0,0,0,,,");
  std::getline(lines, line);
  EXPECT_EQ(line.rfind("burgers,random,members,2,rmse,published,-0.92984", 0), 0u) << line;
  EXPECT_TRUE(contains(line, ",-2.881,0.06,"));
  std::getline(lines, line);
  EXPECT_TRUE(contains(line, "nrmse,own,-3.5,"));
  EXPECT_TRUE(contains(line, ",-3.955,0.06,"));
  std::size_t count = 3;
  while (std::getline(lines, line)) ++count;
  EXPECT_EQ(count, 2u * (6 + 4));
  EXPECT_TRUE(contains(line = tables_csv(make_tables(results), {Metric::mae, false}),
                       "burgers,\"sbal(exponent=2,x=1)\",members,2,mae,own,-6,"));
  EXPECT_TRUE(contains(tables_csv(diverged(), {Metric::rmse, false}), "sbal,members,2,rmse,own,,"));
}

TEST(TableJson, KeepsTheFieldsOfTheFirstFormat) {
  const json table = json::parse(config::json_text(tables_value(tables(), {std::nullopt, true})));

  EXPECT_EQ(table.at("format"), "table/3");
  ASSERT_EQ(table.at("rows").size(), 2u);
  const json& random = table["rows"][0];
  const json& sbal = table["rows"][1];
  for (const char* key :
       {"label", "seeds", "log_rmse_mean", "log_rmse_sd", "log_rmse_published_mean",
        "log_rmse_published_sd", "difference_mean", "difference_95", "difference_pairs",
        "rmse_by_round", "diverged", "log_rmse_test_set_sd", "incomplete"})
    EXPECT_TRUE(sbal.contains(key)) << key;
  EXPECT_EQ(sbal.at("problem"), "burgers");
  EXPECT_DOUBLE_EQ(sbal.at("difference_mean").get<double>(), -1.5);
  EXPECT_TRUE(random.at("difference_mean").is_null());
  EXPECT_EQ(sbal.at("metrics").size(), 6u);
  EXPECT_DOUBLE_EQ(sbal["metrics"]["q50"]["log_mean"].get<double>(), -9.0);
  EXPECT_FALSE(sbal["metrics"]["mae"].contains("log_published_mean"));
  EXPECT_DOUBLE_EQ(sbal["metrics"]["rmse"]["paper"]["mean"].get<double>(), -3.388);
  EXPECT_TRUE(random["metrics"]["rmse"]["paper"]["difference"].is_null());
}

// Whatever is shown, both are there; a published number stands beside the members' only.
TEST(TableJson, HasMembersAndMeanModel) {
  const json table = json::parse(config::json_text(
      tables_value(with_mean_model(), {std::nullopt, true, ErrorsOf::mean_model})));

  const json& sbal = table.at("rows").at(1);
  const json& mean = sbal.at("mean_model");
  EXPECT_DOUBLE_EQ(sbal.at("log_rmse_mean").get<double>(), -4.0);
  EXPECT_DOUBLE_EQ(mean.at("log_rmse_mean").get<double>(), -7.0);
  EXPECT_DOUBLE_EQ(mean.at("difference_mean").get<double>(), -3.5);
  EXPECT_DOUBLE_EQ(mean.at("metrics").at("q50").at("log_mean").get<double>(), -12.0);
  EXPECT_EQ(mean.at("seeds"), sbal.at("seeds"));
  EXPECT_TRUE(sbal.at("metrics").at("rmse").contains("paper"));
  EXPECT_FALSE(mean.at("metrics").at("rmse").contains("paper"));
  EXPECT_EQ(table.at("rows").at(0).at("mean_model").at("diverged"), 7);
  EXPECT_TRUE(json::parse(config::json_text(tables_value(tables())))
                  .at("rows")
                  .at(0)
                  .at("mean_model")
                  .is_null());
}

TEST(TableJson, DivergedIsNull) {
  const json table = json::parse(config::json_text(tables_value(diverged())));

  const json& sbal = table.at("rows").at(1);
  EXPECT_TRUE(sbal.at("log_rmse_mean").is_null());
  EXPECT_TRUE(sbal.at("difference_mean").is_null());
  EXPECT_EQ(sbal.at("diverged"), 4);
}

}  // namespace
}  // namespace stap
