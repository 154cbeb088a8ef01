#include "stap/folder/run_folder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "stap/core/error.h"
#include "stap/folder/run_id.h"
#include "support/networks.h"
#include "support/refusals.h"
#include "support/sealing.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;
using test::content;
using test::TemporaryFolder;

class RunFolderTest : public ::testing::Test {
 protected:
  // The message of the Error(data) that `act` throws, which must name the file.
  std::string damage(const std::string& file, const std::function<void()>& act) const {
    try {
      act();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data) << error.what();
      EXPECT_NE(std::string(error.what()).find(folder_.path(file)), std::string::npos)
          << error.what();
      return error.what();
    }
    ADD_FAILURE() << "nothing was thrown: " << file;
    return {};
  }
  static void expect_says(const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    test::change_sealed(folder_.path(file), from, to);
  }

  TemporaryFolder folder_;
  RunFolder run_{folder_.path()};
};

Value some_document() {
  Value study, document;
  study.set("rounds", 2);
  document.set("study", study);
  return document;
}

TEST_F(RunFolderTest, Configuration) {
  run_.write_config(some_document());

  EXPECT_EQ(run_.read_config(), some_document());
  EXPECT_EQ(content(folder_.path("config.yaml")).substr(0, 14), "format: run/3\n");
  const auto read = [&] { run_.read_config(); };
  folder_.file("config.yaml", "format: run/4\n");
  expect_says(damage("config.yaml", read), "run/4");
  folder_.file("config.yaml", "format: run/3\nstudy: {rounds: 2}\n");
  expect_says(damage("config.yaml", read), "has no checksum");
  folder_.file("config.yaml", "format: run/3\nstudy: {\n");
  expect_says(damage("config.yaml", read), "config.yaml:3");
  folder_.file("config.yaml", "study: {rounds: 2}\n");
  damage("config.yaml", read);
  fs::remove(folder_.path("config.yaml"));
  damage("config.yaml", read);
}

Manifest some_manifest() {
  Manifest manifest = this_machine();
  manifest.run = "1234";
  manifest.device = "cpu";
  manifest.solver = "burgers";
  manifest.seed = 18446744073709551615u;
  manifest.data_seed = 4;
  manifest.identity.set("name", "burgers");
  manifest.identity.set("dt", 0.1);
  manifest.identity.set("pool_sha256", "ab12");
  return manifest;
}

TEST_F(RunFolderTest, ManifestComesBack) {
  const Manifest manifest = some_manifest();

  run_.write_manifest(manifest);
  const Manifest back = run_.read_manifest();

  EXPECT_EQ(back.version, manifest.version);
  EXPECT_EQ(back.compiler, manifest.compiler);
  EXPECT_EQ(back.cpu, manifest.cpu);
  EXPECT_EQ(back.instruction_set, manifest.instruction_set);
  EXPECT_EQ(back.device, "cpu");
  EXPECT_EQ(back.solver, "burgers");
  EXPECT_EQ(back.seed, manifest.seed);
  EXPECT_EQ(back.data_seed, 4u);
  EXPECT_EQ(back.identity, manifest.identity);
  EXPECT_EQ(back.run, "1234");
  EXPECT_EQ(identity_text(back, "pool_sha256"), "ab12");
  EXPECT_EQ(identity_text(back, "test_sha256"), "");
}

TEST_F(RunFolderTest, ManifestThatIsDamaged) {
  const auto read = [&] { run_.read_manifest(); };
  damage("manifest.json", read);
  for (const char* key :
       {"\"format\"", "\"version\"", "\"compiler\"", "\"device\"", "\"cpu\"", "\"instruction_set\"",
        "\"solver\"", "\"seed\"", "\"data_seed\"", "\"identity\"", "\"run\""}) {
    run_.write_manifest(some_manifest());
    replace("manifest.json", std::string(key) + ":", "\"else\":");
    damage("manifest.json", read);
  }
  run_.write_manifest(some_manifest());
  replace("manifest.json", "\"seed\":", "\"seed\"");
  expect_says(damage("manifest.json", read), "line 10");
  run_.write_manifest(some_manifest());
  replace("manifest.json", "manifest/3", "manifest/7");
  expect_says(damage("manifest.json", read), "manifest/7");
}

TEST_F(RunFolderTest, Metrics) {
  EXPECT_TRUE(run_.read_metrics().empty());
  const std::vector<std::string> lines{R"({"run":"r","round":0,"rmse":0.5})",
                                       R"({"run":"r","round":1,"rmse":null})"};

  run_.write_metrics(lines);

  const auto back = run_.read_metrics();
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].text, lines[0]);
  EXPECT_TRUE(back[1].value.find("rmse")->is_null());
  const auto read = [&] { run_.read_metrics(); };
  replace("metrics.jsonl", "\"round\":1", "\"round\":3");
  expect_says(damage("metrics.jsonl", read), "line 2 is of round 3");
  run_.write_metrics(lines);
  fs::resize_file(folder_.path("metrics.jsonl"), content(folder_.path("metrics.jsonl")).size() - 2);
  expect_says(damage("metrics.jsonl", read), "line 2 is cut off");
  run_.write_metrics(lines);
  replace("metrics.jsonl", "0.5", "0.5.");
  expect_says(damage("metrics.jsonl", read), "line 1");
}

TEST_F(RunFolderTest, Timings) {
  run_.add_timing({0, "train", 0.25});
  run_.add_timing({3, "select", 1e-9});

  const auto timings = run_.read_timings();

  ASSERT_EQ(timings.size(), 2u);
  EXPECT_EQ(timings[1].round, 3u);
  EXPECT_EQ(timings[1].phase, "select");
  EXPECT_EQ(timings[1].seconds, 1e-9);
  folder_.file("timings.jsonl", R"({"round":0,"phase":7,"seconds":0.25})"
                                "\n");
  expect_says(damage("timings.jsonl", [&] { run_.read_timings(); }), "line 1: phase");
}

// Epochs that are trained again after a kill have their losses once.
TEST_F(RunFolderTest, Losses) {
  const std::vector<Loss> first{{0, 0, 0, 0.5}, {0, 1, 0, std::nan("")}, {0, 0, 1, 0.1}};
  const std::vector<Loss> second{{1, 0, 0, 0.25}, {1, 0, 1, 0.125}};
  run_.add_losses(first);
  const std::string one_round = content(folder_.path("losses.jsonl"));
  run_.add_losses(second);

  const auto losses = run_.read_losses();
  ASSERT_EQ(losses.size(), 5u);
  EXPECT_EQ(losses[2].epoch, 1);
  EXPECT_EQ(losses[2].loss, 0.1);
  EXPECT_EQ(losses[1].member, 1);
  EXPECT_TRUE(std::isnan(losses[1].loss));

  run_.cut_losses(1, 2);
  EXPECT_EQ(run_.read_losses().size(), 5u);
  run_.cut_losses(1, 1);
  EXPECT_EQ(run_.read_losses().size(), 4u);
  run_.cut_losses(1, 0);
  EXPECT_EQ(content(folder_.path("losses.jsonl")), one_round);
  run_.cut_losses(0, 1);
  EXPECT_EQ(run_.read_losses().size(), 2u);
  replace("losses.jsonl", "0.5", "\"0.5\"");
  expect_says(damage("losses.jsonl", [&] { run_.read_losses(); }), "line 1: loss");
}

// What each line's checksum cannot tell. Files of earlier versions say nothing of it.
TEST_F(RunFolderTest, LossesThatAreMissingDoubledOrSwappedAreNoticed) {
  run_.add_losses(
      std::vector<Loss>{{0, 0, 0, 0.5}, {0, 1, 0, 0.25}, {0, 0, 1, 0.1}, {0, 1, 1, 0.2}});
  run_.add_losses(std::vector<Loss>{{1, 0, 0, 0.25}, {1, 1, 0, 0.125}});
  const std::string hash = run_.keep_losses(0);
  EXPECT_EQ(hash.size(), 16u);
  EXPECT_NE(run_.keep_losses(1), hash);
  const auto metrics = [&](const std::string& losses) {
    run_.write_metrics(
        std::vector<std::string>{R"({"run":")" + run_.run() + R"(","round":0)" + losses + "}"});
  };
  const std::string whole = content(folder_.path("losses.jsonl"));
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < whole.size(); at = whole.find('\n', at) + 1)
    lines.push_back(whole.substr(at, whole.find('\n', at) + 1 - at));
  ASSERT_EQ(lines.size(), 6u);
  const auto reading = [&](const std::vector<std::size_t>& which) {
    std::string text;
    for (const std::size_t i : which) text += lines[i];
    folder_.file("losses.jsonl", text);
    return test::error_text(ErrorKind::data, [&] { run_.read_whole_losses(run_.read_metrics()); });
  };

  metrics(R"(,"losses":")" + hash + "\"");
  EXPECT_EQ(run_.read_whole_losses(run_.read_metrics()).size(), 6u);
  for (const std::vector<std::size_t>& which :
       std::vector<std::vector<std::size_t>>{{0, 1},                 // the last epoch is cut off
                                             {0, 1, 2, 4, 5},        // a line is missing
                                             {1, 0, 2, 3, 4, 5},     // two are swapped
                                             {0, 1, 2, 3, 3, 4, 5},  // one is doubled
                                             {4, 5, 0, 1, 2, 3},
                                             {}})
    EXPECT_NE(reading(which).find("lines of round"), std::string::npos);
  folder_.file("losses.jsonl", lines[1] + lines[0] + lines[2] + lines[3]);
  EXPECT_EQ(run_.read_losses().size(), 4u);  // a run continues
  // A round under way has none, and its last line may be cut off by a kill.
  folder_.file("losses.jsonl", whole.substr(0, whole.size() - 5));
  EXPECT_EQ(run_.read_whole_losses(run_.read_metrics()).size(), 5u);
  metrics("");
  folder_.file("losses.jsonl", lines[1] + lines[0] + lines[2] + lines[3]);
  EXPECT_EQ(run_.read_whole_losses(run_.read_metrics()).size(), 4u);
}

Plan some_plan() {
  Plan plan;
  plan.purchases = {{7, Pattern::parse("0110")}, {2, Pattern::parse("1000")}};
  plan.unspent = 3;
  plan.not_finite = 1;
  return plan;
}

TEST_F(RunFolderTest, PlansOfAllPasses) {
  EXPECT_EQ(run_.passes(4), 0u);
  Plan other = some_plan();
  other.purchases.pop_back();

  run_.write_plan(4, 1, some_plan());
  run_.write_plan(4, 2, other);

  EXPECT_EQ(run_.plan_file(4, 1), folder_.path("rounds/04/plan.json"));
  EXPECT_EQ(run_.plan_file(4, 2), folder_.path("rounds/04/plan-2.json"));
  EXPECT_EQ(run_.passes(4), 2u);
  EXPECT_EQ(run_.read_plan(4, 1, 10, 4), some_plan());
  EXPECT_EQ(run_.read_plan(4, 2, 10, 4), other);
  run_.remove_plans(4, 2);
  EXPECT_EQ(run_.passes(4), 1u);
  run_.remove_plans(4, 1);
  EXPECT_EQ(run_.passes(4), 0u);
}

// More than the YAML reader would take.
TEST_F(RunFolderTest, LargePlans) {
  Plan plan;
  for (std::size_t i = 0; i < 30'000; ++i) plan.purchases.push_back({i, Pattern::parse("0110")});
  run_.write_plan(0, 1, plan);
  ASSERT_GT(fs::file_size(run_.plan_file(0, 1)), config::kMaxYamlBytes);

  EXPECT_EQ(run_.read_plan(0, 1, 30'000, 4), plan);
}

TEST_F(RunFolderTest, PlansThatAreDamaged) {
  const auto read = [&] { run_.read_plan(0, 1, 10, 4); };
  const std::string file = "rounds/00/plan.json";
  damage(file, read);
  const auto broken = [&](const std::string& from, const std::string& to) {
    run_.write_plan(0, 1, some_plan());
    replace(file, from, to);
    return damage(file, read);
  };

  expect_says(broken("\"candidate\": 7", "\"candidate\": 70"), "purchase 1: candidate 70");
  expect_says(broken("\"candidate\": 7", "\"candidate\": 2"), "purchase 2: candidate 2");
  expect_says(broken("\"candidate\": 7", "\"candidate\": -1"), "purchase 1");
  expect_says(broken("0110", "01100"), "purchase 1");
  expect_says(broken("0110", "0120"), "purchase 1");
  expect_says(broken("1000", "0000"), "purchase 2");
  expect_says(broken("1000", "1100"), "costs 4");
  expect_says(broken("\"round\": 0", "\"round\": 1"), "the plan of round 1");
  expect_says(broken("\"pass\": 1", "\"pass\": 2"), "pass 2");
  expect_says(broken("plan/2", "plan/9"), "plan/2");
  expect_says(broken("\"unspent\": 3", "\"unspent\": 3,,"), "line 7");
  for (const char* key : {"cost", "unspent", "not_finite", "purchases"}) broken(key, "else");
}

Ledger some_ledger(std::size_t bought) {
  Ledger ledger;
  ledger.budget = bought + 3;
  ledger.bought = bought;
  ledger.refused = 4;
  ledger.refused_by_trust = 2;
  ledger.failed = 1;
  ledger.charged_failures = 1;
  ledger.unspent = 2;
  ledger.passes = 5;
  ledger.pool_exhausted = true;
  ledger.reasons = {"candidate 7, step 3: failed: ..."};
  return ledger;
}

TEST_F(RunFolderTest, LedgersAndAnswersOfTheJournal) {
  {
    AnswerLog log(run_.journal_file(), run_.answers_file());
    log.append(0, {.candidate = 3, .status = Answer::Status::ok, .state = {1.0}, .seconds = 0.5});
    log.note("ledger", to_value(0, some_ledger(1)));
    log.note("ledger", to_value(1, some_ledger(10)));
  }

  const auto ledgers = run_.read_ledgers();
  std::vector<AnswerRecord> answers;
  run_.read_answers([&](std::size_t, const AnswerRecord& a) { answers.push_back(a); });

  EXPECT_EQ(ledgers, (std::vector<Ledger>{some_ledger(1), some_ledger(10)}));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].candidate, 3u);
  {
    Journal journal(run_.journal_file());
    journal.cut(0, 0);
    journal.append("ledger", to_value(1, some_ledger(1)));
    journal.commit();
  }
  expect_says(damage("journal.jsonl", [&] { run_.read_ledgers(); }), "line 1");
}

TransitionSet some_set(const Grid& grid) {
  TransitionSet set{.grid = grid};
  set.equation = "burgers";
  set.dt = 0.5;
  set.acquisitions = 1;
  set.origins = {{0, 1, 2}};
  set.inputs.assign(grid.values(), 1.0);
  set.outputs.assign(grid.values(), 2.0);
  return set;
}

TEST_F(RunFolderTest, TransitionsAndNetworks) {
  const NetworkSpec shape = test::small_shape({16}, {8});
  Model model{shape, {fresh_member(shape, test::some_scaling(1), Rng(1))}, 1, {}};
  EXPECT_FALSE(run_.read_networks(0).has_value());
  Manifest manifest = some_manifest();
  manifest.run = run_id(some_document(), manifest.identity);
  run_.write_manifest(manifest);
  run_.write_config(some_document());
  model.origin = {run_.run(), 0, "data"};
  run_.write_transitions(some_set(shape.grid));
  run_.write_training(0, model);
  EXPECT_TRUE(run_.read_networks(0)->members == model.members);
  EXPECT_FALSE(run_.read_stage(0).has_value());
  run_.write_stage(0, model);
  EXPECT_FALSE(fs::exists(run_.training_file(0)));
  EXPECT_FALSE(run_.read_networks(0).has_value());
  EXPECT_TRUE(run_.read_stage(0)->members == model.members);
  run_.write_training(0, model);
  EXPECT_THROW(run_.newest_committee(), Error);

  run_.write_committee(0, model);

  EXPECT_FALSE(fs::exists(run_.training_file(0)));
  EXPECT_FALSE(fs::exists(run_.stage_file(0)));
  EXPECT_TRUE(run_.read_networks(0)->members == model.members);
  EXPECT_EQ(run_.newest_committee().path, run_.committee_file(0));
  EXPECT_EQ(run_.read_transitions().equation, "burgers");
  EXPECT_EQ(run_.read_transitions().grid, shape.grid);

  // Files of another run or round.
  fs::create_directories(run_.round_folder(1));
  fs::copy_file(run_.committee_file(0), run_.committee_file(1));
  expect_says(damage("rounds/01/committee.safetensors", [&] { run_.read_networks(1); }), "round 0");
  fs::remove(run_.committee_file(1));
  Value other = some_document();
  other.find("study")->set("seed", 1);
  run_.write_config(other);
  damage("manifest.json", [&] { run_.read_transitions(); });
  manifest.run = run_id(other, manifest.identity);
  run_.write_manifest(manifest);
  expect_says(damage("transitions.h5", [&] { run_.read_transitions(); }), "of run");
  damage("rounds/00/committee.safetensors", [&] { run_.read_networks(0); });

  folder_.file("transitions.h5", "no HDF5");
  damage("transitions.h5", [&] { run_.read_transitions(); });
  folder_.file("rounds/00/committee.safetensors", "no weights");
  damage("rounds/00/committee.safetensors", [&] { run_.read_networks(0); });
  run_.remove_old_networks(1, false);
  EXPECT_TRUE(fs::exists(run_.committee_file(0)));
  run_.remove_old_networks(1, true);
  EXPECT_FALSE(run_.read_networks(0).has_value());
}

}  // namespace
}  // namespace stap
