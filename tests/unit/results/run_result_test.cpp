#include "stap/results/run_result.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stap/core/error.h"
#include "stap/results/table.h"
#include "stap/results/table_format.h"
#include "support/contains.h"
#include "support/refusals.h"
#include "support/run_folder.h"
#include "support/sealing.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::contains;
using test::TemporaryFolder;
using test::write_run_folder;

constexpr const char* kHash = "abc";

// A line of metrics.jsonl: the RMSE (or null) and, for the others, numbers of their own.
std::string line(int round, const std::string& rmse) {
  return R"({"round": )" + std::to_string(round) + R"(, "transitions": )" +
         std::to_string(48 + 24 * round) + R"(, "points": 77, "trajectories": 5, "diverged": )" +
         (rmse == "null" ? "3" : "0") + R"(, "rmse": )" + rmse +
         R"(, "rmse_q50": 0.25, "rmse_q95": 0.75, "rmse_q99": 0.875, "nrmse": 2, "mae": 0.125,)"
         R"( "rmse_by_step": [0.5, 1.5, 1, 1, 1, 1, 1, null]})"
         "\n";
}

std::string refusal(const std::filesystem::path& folder) {
  return test::error_text(ErrorKind::data, [&] { read_result(folder); });
}

// Nothing is relative to a test set of zeros. It is shown as no number, where a divergence is
// div(n).
TEST(RunResult, AnErrorThatIsRelativeToNothingIsNoDivergence) {
  const TemporaryFolder folder;
  std::string zero = line(0, "0.5"), diverged = line(1, "null");
  for (std::string* text : {&zero, &diverged})
    text->replace(text->find("\"nrmse\": 2"), 10, "\"nrmse\": null");
  write_run_folder(folder.path("r"), kHash, zero + diverged);

  const RunResult run = read_result(folder.path("r"));

  EXPECT_TRUE(std::isnan(run.members.values_of(Metric::nrmse)[0]));
  EXPECT_TRUE(std::isinf(run.members.values_of(Metric::nrmse)[1]));
}

// The demo has 64 points and the lines say 77: what a run says is read, not made again.
TEST(RunResult, IsWhatTheFolderSays) {
  const TemporaryFolder folder;
  write_run_folder(folder.path("r"), kHash, line(0, "0.5") + line(1, "null"));

  const RunResult run = read_result(folder.path("r"));

  EXPECT_EQ(run.method, "sbal+stap");
  EXPECT_EQ(run.rounds, 4u);
  EXPECT_EQ(run.steps, 8u);
  EXPECT_EQ(run.points, 77u);
  EXPECT_EQ(run.transitions, (std::vector<std::uint64_t>{48, 72}));
  EXPECT_EQ(run.members.values_of(Metric::rmse)[0], 0.5);
  EXPECT_TRUE(std::isinf(run.members.values_of(Metric::rmse)[1]));
  EXPECT_TRUE(std::isinf(run.members.logs_of(Metric::rmse)[1]));
  EXPECT_EQ(run.members.logs_of(Metric::q95)[1], std::log(0.75));
  EXPECT_EQ(run.members.rmse_by_step[0].at(1), 1.5);
  EXPECT_TRUE(std::isinf(run.members.rmse_by_step[0].at(7)));
  EXPECT_EQ(run.members.diverged, (std::vector<std::size_t>{0, 3}));
  EXPECT_FALSE(run.complete());
  EXPECT_FALSE(run.without_errors());
}

// A line with the errors of the mean model: those of line(), and another RMSE.
std::string line_with_mean(int round, const std::string& rmse, const std::string& mean) {
  std::string inner = line(round, mean), outer = line(round, rmse);
  inner.pop_back();
  outer.resize(outer.size() - 2);
  return outer + R"(, "mean_model": )" + inner + "}\n";
}

TEST(RunResult, HasTheMeanModelWhereEveryRoundHasIt) {
  const TemporaryFolder folder;
  write_run_folder(folder.path("new"), kHash,
                   line_with_mean(0, "0.5", "0.375") + line_with_mean(1, "0.25", "null"));
  write_run_folder(folder.path("old"), kHash, line(0, "0.5"));
  write_run_folder(folder.path("mixed"), kHash,
                   line(0, "0.5") + line_with_mean(1, "0.25", "0.125"));

  const RunResult run = read_result(folder.path("new"));

  EXPECT_EQ(run.members.values_of(Metric::rmse), (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(run.mean_model.values_of(Metric::rmse)[0], 0.375);
  EXPECT_EQ(run.mean_model.logs_of(Metric::rmse)[0], std::log(0.375));
  EXPECT_EQ(run.mean_model.diverged, (std::vector<std::size_t>{0, 3}));
  EXPECT_TRUE(read_result(folder.path("old")).mean_model.logs[0].empty());
  EXPECT_TRUE(read_result(folder.path("mixed")).mean_model.logs[0].empty());
  EXPECT_EQ(read_result(folder.path("mixed")).evaluated(), 2u);
}

// A run that a version without them began has them in its later rounds only, where nobody can tell
// which these are.
TEST(RunResult, HasStandardErrorsWhereEveryRoundHasThem) {
  const TemporaryFolder folder;
  const auto with = [](int round, const std::string& error) {
    std::string text = line(round, "0.5");
    text.resize(text.size() - 2);
    return text + R"(, "rmse_standard_error": )" + error + "}\n";
  };
  write_run_folder(folder.path("new"), kHash, with(0, "0.125") + with(1, "null"));
  write_run_folder(folder.path("mixed"), kHash, line(0, "0.5") + with(1, "0.125"));
  write_run_folder(folder.path("bad"), kHash, with(0, "-1"));

  const std::vector<double> errors = read_result(folder.path("new")).members.standard_errors;

  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0], 0.125);
  EXPECT_TRUE(std::isinf(errors[1]));
  EXPECT_TRUE(read_result(folder.path("mixed")).members.standard_errors.empty());
  EXPECT_NE(refusal(folder.path("bad")).find("rmse_standard_error"), std::string::npos);
}

// Runs of one sweep, begun by a version without an option and continued by one with it, are seeds
// of one method.
TEST(RunResult, OptionsThatAnEarlierVersionDidNotKnowHaveTheirDefaults) {
  const TemporaryFolder folder;
  config::Value document = make_study(load_config("demo")).effective;
  write_run_folder(folder.path("new"), kHash, line(0, "0.5"), document);
  document.find("train")->erase("symmetries");
  write_run_folder(folder.path("old"), kHash, line(0, "0.5"), document);

  EXPECT_EQ(read_result(folder.path("old")).config, read_result(folder.path("new")).config);
}

TEST(RunResult, OtherThingsAreRefused) {
  const TemporaryFolder folder;
  write_run_folder(folder.path("r"), kHash);
  test::change_sealed(folder.path("r/config.yaml"), "run/3", "run/4");
  std::filesystem::create_directory(folder.path("data"));
  folder.file("data/config.yaml", "pde: {name: burgers}\n");

  EXPECT_TRUE(contains(refusal(folder.path("r")), "has the format run/4, expected run/3"));
  EXPECT_FALSE(contains(refusal(folder.path("r")), "earlier"));
  EXPECT_TRUE(contains(refusal(folder.path("data")), "format is missing"));
  EXPECT_TRUE(contains(refusal(folder.path("nowhere")), "config.yaml"));
}

TEST(RunResult, DamageIsNamedByFileAndLine) {
  const TemporaryFolder folder;

  write_run_folder(folder.path("r"), kHash, line(0, "0.5") + "{\"round\": 1");
  EXPECT_TRUE(contains(refusal(folder.path("r")), "metrics.jsonl, line 2"));

  write_run_folder(folder.path("r"), kHash,
                   line(0, "0.5") + "{\"round\": 1, \"points\": 1, \"trajectories\": 1}\n");
  EXPECT_TRUE(contains(refusal(folder.path("r")), "metrics.jsonl, line 2: transitions"));

  // Numbers that are none, and errors of other steps than the study has: only null is infinite.
  const auto forged = [&](const std::string& from, const std::string& to) {
    std::string text = line(0, "0.5");
    text.replace(text.find(from), from.size(), to);
    write_run_folder(folder.path("r"), kHash, text);
    return refusal(folder.path("r"));
  };
  EXPECT_TRUE(contains(forged("\"nrmse\": 2", "\"nrmse\": \"2\""), "line 1: nrmse"));
  EXPECT_TRUE(contains(forged("\"mae\": 0.125", "\"mae\": -1"), "line 1: mae"));
  EXPECT_TRUE(contains(forged("[0.5, 1.5,", "[true, 1.5,"), "line 1: rmse_by_step"));
  EXPECT_TRUE(contains(forged("[0.5, 1.5,", "[0.5,"), "has 7 errors, expected one for each of 8"));

  std::filesystem::remove(folder.path("r/manifest.json"));
  EXPECT_TRUE(contains(refusal(folder.path("r")), "manifest.json"));
}

// Neither a file of metrics nor lines that hold nothing but sizes.
TEST(RunResult, AStudyWithoutATestSetHasNoErrorsAndTheTableSaysSo) {
  const TemporaryFolder folder;
  for (const char* metrics : {"", "{\"round\": 0, \"transitions\": 48}\n"}) {
    write_run_folder(folder.path("r"), "", metrics);

    const std::vector<RunResult> runs = read_results(folder.path("r"));
    const auto tables = make_tables(runs);

    EXPECT_TRUE(runs.at(0).without_errors());
    EXPECT_EQ(tables[0].rows[0].without_errors, 1u);
    EXPECT_EQ(tables[0].rows[0].incomplete, 0u);
    const std::string text = tables_text(tables);
    EXPECT_TRUE(contains(text, "1 runs have no errors: their study has no test set"));
    EXPECT_FALSE(contains(text, "nan"));
    EXPECT_FALSE(contains(text, "points"));
  }
}

// Its errors are still to come.
TEST(RunResult, ARunThatHasNotBeenEvaluatedIsNotFinished) {
  const TemporaryFolder folder;
  write_run_folder(folder.path("r"), kHash);

  const std::vector<RunResult> runs = read_results(folder.path("r"));

  EXPECT_FALSE(runs.at(0).without_errors());
  EXPECT_EQ(make_tables(runs)[0].rows[0].incomplete, 1u);
}

// Broken by: damage of one round that hides the others, or the run; rounds counted by what was
// measured.
TEST(RunResult, HasWhatBecameOfStagesAndTheirDamageIsNoError) {
  const TemporaryFolder folder;
  const auto staged = [](int round, const std::string& stages) {
    std::string text = line(round, "0.5");
    return text.insert(text.rfind('}'), ", " + stages);
  };
  write_run_folder(folder.path("r"), kHash,
                   line(0, "0.5") + staged(1, R"("stages": 1, "kept_stage": 0, "held_back": [])") +
                       staged(2, R"("stages": 3, "kept_stage": 1, "held_back": [2, 0.5, null])"));
  write_run_folder(folder.path("unmeasured"), "",
                   "{\"round\": 0}\n{\"round\": 1, \"stages\": 1, \"kept_stage\": 0, "
                   "\"held_back\": [0.25]}\n");

  const RunResult run = read_result(folder.path("r"));

  ASSERT_EQ(run.stages.size(), 2u);
  EXPECT_EQ(run.stages[0].round, 1u);
  EXPECT_TRUE(run.stages[0].held_back.empty());
  EXPECT_EQ(run.stages[0].thrown_away(), 0u);
  EXPECT_EQ(run.stages[1].round, 2u);
  EXPECT_EQ(run.stages[1].held_back, (std::vector<double>{2, 0.5, INFINITY}));
  EXPECT_EQ(run.stages[1].thrown_away(), 1u);
  EXPECT_FALSE(run.stages[0].damaged || run.stages[1].damaged);
  const RunResult unmeasured = read_result(folder.path("unmeasured"));
  ASSERT_EQ(unmeasured.stages.size(), 1u);
  EXPECT_EQ(unmeasured.stages[0].round, 1u);
  for (const char* damage :
       {R"("stages": 3)", R"("stages": 2, "kept_stage": 2, "held_back": [1, 1])",
        R"("stages": 3, "kept_stage": 1, "held_back": [1, 1])",
        R"("stages": 2, "kept_stage": 0, "held_back": [])",
        R"("stages": 2, "kept_stage": -1, "held_back": [1, 1])",
        R"("stages": null, "kept_stage": 0, "held_back": [1, 1])",
        R"("stages": 2, "kept_stage": 0.5, "held_back": [1, 1])",
        R"("stages": 1e300, "kept_stage": 0, "held_back": [1, 1])",
        R"("stages": 1, "kept_stage": 0, "held_back": null)",
        R"("stages": 1, "kept_stage": 0, "held_back": {"0": 1})",
        R"("stages": 2, "kept_stage": 0, "held_back": [1, "1"])",
        R"("stages": 2, "kept_stage": 0, "held_back": [1, [1]])",
        R"("stages": 2, "kept_stage": 0, "held_back": [1, -1])"}) {
    write_run_folder(
        folder.path("r"), kHash,
        staged(0, R"("stages": 1, "kept_stage": 0, "held_back": [1])") + staged(1, damage));
    const RunResult forged = read_result(folder.path("r"));
    ASSERT_EQ(forged.stages.size(), 2u) << damage;
    EXPECT_FALSE(forged.stages[0].damaged) << damage;
    EXPECT_TRUE(forged.stages[1].damaged && forged.stages[1].held_back.empty()) << damage;
    EXPECT_EQ(forged.evaluated(), 2u) << damage;
  }
}

}  // namespace
}  // namespace stap
