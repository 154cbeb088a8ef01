// Studies whose surrogates make states that the solver refuses or chokes on.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "stap/folder/run_folder.h"
#include "support/killing.h"
#include "support/sealing.h"
#include "support/small_study.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Waves that the solver keeps just below the guard's limit, and networks that have learned too fast
// to stay there.
std::vector<std::string> unstable_study() {
  return {"pde.points=32",
          "pde.length=16",
          "pde.dt=0.1",
          "pde.scheme=etdrk4",
          "pde.max_abs=1.12",
          "initial.terms=1",
          "initial.warm_up=0",
          "network.modes=[8]",
          "initial.amplitude_low=0.9",
          "network.width=8",
          "network.lifting=16",
          "network.projection=16",
          "train.epochs=6",
          "study.steps=6",
          "train.learning_rate=0.2",
          "pool=80",
          "test=4",
          "study.initial=3",
          "rounds=2",
          "budget=14",
          "checkpoint_epochs=2",
          "trust_quantile=0.9",
          "keep_committees=all",
          "method=sbal+bernoulli(p=0.4)",
          "on_unstable=refill"};
}

std::vector<std::string> lines_in(const std::string& path) {
  std::istringstream text(content(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line + "\n");
  return lines;
}

std::string plan_name(std::size_t pass) {
  return pass == 1 ? "plan.json" : "plan-" + std::to_string(pass) + ".json";
}

class UnstableProgram : public ::testing::Test {
 protected:
  UnstableProgram() { setenv("STAP_CACHE", folder_.path("cache").c_str(), 1); }
  ~UnstableProgram() override { unsetenv("STAP_CACHE"); }

  std::vector<std::string> words(const std::string& out,
                                 const std::vector<std::string>& more = {}) const {
    std::vector<std::string> list{"run", "paper/kdv", "--quiet", "--threads", "1"};
    for (const std::string& setting : unstable_study()) list.push_back(setting);
    list.insert(list.end(), more.begin(), more.end());
    list.insert(list.end(), {"--no-report", "--out", folder_.path(out)});
    return list;
  }
  // Bodies of the journal's lines of one type.
  std::vector<json> journal(const std::string& run, const std::string& type) const {
    std::vector<json> bodies;
    for (const std::string& line : lines_in(folder_.path(run + "/journal.jsonl")))
      if (const json entry = json::parse(line); entry.at("type") == type)
        bodies.push_back(entry.at("body"));
    return bodies;
  }
  std::size_t total(const std::string& run, const char* key) const {
    std::size_t sum = 0;
    for (const json& ledger : journal(run, "ledger")) sum += ledger.at(key).get<std::size_t>();
    return sum;
  }
  // What must be equal between two runs of one study: errors, all plans, the training set and the
  // last weights.
  std::string essence(const std::string& run) const {
    std::string text = content(folder_.path(run + "/metrics.jsonl")) +
                       content(folder_.path(run + "/transitions.h5")) +
                       content(folder_.path(run + "/rounds/02/committee.safetensors"));
    for (const char* round : {"00", "01"})
      for (std::size_t pass = 1;; ++pass) {
        const std::string path = folder_.path(run + "/rounds/" + round + "/" + plan_name(pass));
        if (!fs::exists(path)) break;
        text += round + plan_name(pass) + content(path);
      }
    return text;
  }

  TemporaryFolder folder_;
};

TEST_F(UnstableProgram, TheLedgerSaysWhereTheBudgetWent) {
  ASSERT_EQ(run_stap(words("refill")).exit_code, 0);
  const Finished drop = run_stap(words("drop", {"on_unstable=drop"}));
  ASSERT_EQ(run_stap(words("free", {"charge_failed=false"})).exit_code, 0);

  ASSERT_EQ(drop.exit_code, 0) << drop.err;
  EXPECT_TRUE(contains(drop.err, "solver steps stay unspent"));  // also with --quiet
  for (const char* run : {"refill", "drop", "free"}) {
    const auto ledgers = journal(run, "ledger");
    ASSERT_EQ(ledgers.size(), 3u);
    for (std::size_t k = 0; k < ledgers.size(); ++k) {
      const json& l = ledgers[k];
      const auto number = [&](const char* key) { return l.at(key).get<std::size_t>(); };
      EXPECT_EQ(number("acquisition"), k);
      EXPECT_EQ(number("budget"), k == 0 ? 3u * 6u : 14u);
      EXPECT_EQ(number("bought") + number("charged_failures") + number("unspent"),
                number("budget"));
      EXPECT_EQ(l.at("reasons").size(), number("refused") + number("failed"));
      if (k > 0) {
        std::set<std::size_t> candidates;
        std::size_t purchases = 0;
        for (std::size_t pass = 1; pass <= number("passes"); ++pass) {
          const std::string path = "/rounds/0" + std::to_string(k - 1) + "/" + plan_name(pass);
          const json plan = json::parse(content(folder_.path(run + path)));
          for (const json& purchase : plan.at("purchases")) {
            candidates.insert(purchase.at("candidate").get<std::size_t>());
            ++purchases;
          }
        }
        EXPECT_EQ(candidates.size(), purchases);  // none twice in a round
        if (std::string(run) != "drop") {
          EXPECT_TRUE(number("unspent") == 0 || l.at("pool_exhausted").get<bool>());
        }
      }
    }
  }
  EXPECT_GT(total("refill", "refused_by_trust"), 0u);
  EXPECT_GT(total("refill", "refused"), total("refill", "refused_by_trust"));  // and by the guard
  EXPECT_GT(total("refill", "passes"), 3u);
  EXPECT_EQ(total("drop", "passes"), 3u);
  EXPECT_GT(total("drop", "unspent"), 0u);
  EXPECT_EQ(total("free", "charged_failures"), 0u);
}

// The folder as a kill after each of the journal's answers leaves it: the journal's start, the
// plans of which an answer is there, no training set. Whatever is missing is done again, to the
// same bytes.
TEST_F(UnstableProgram, CutOffInAnyPassEndsWithTheSameBytes) {
  const std::vector<std::string> settings{"rounds=1"};
  ASSERT_EQ(run_stap(words("whole", settings)).exit_code, 0);
  ASSERT_EQ(run_stap(words("begun", {"rounds=0"})).exit_code, 0);
  ASSERT_GT(total("whole", "passes"), 2u);
  const std::string expected = essence("whole");
  const auto lines = lines_in(folder_.path("whole/journal.jsonl"));
  std::vector<std::set<std::size_t>> passes;  // candidates of each
  for (std::size_t pass = 1; pass <= journal("whole", "ledger").at(1).at("passes"); ++pass) {
    const json plan = json::parse(content(folder_.path("whole/rounds/00/" + plan_name(pass))));
    passes.emplace_back();
    for (const json& purchase : plan.at("purchases"))
      passes.back().insert(purchase.at("candidate").get<std::size_t>());
  }
  for (std::size_t kept = 1 + 3 * 6 + 1; kept <= lines.size(); kept += 2) {
    const std::string cut = "cut" + std::to_string(kept);
    fs::create_directories(folder_.path(cut + "/rounds/00"));
    for (const char* file :
         {"config.yaml", "manifest.json", "answers.bin", "rounds/00/committee.safetensors"})
      fs::copy(folder_.path(std::string("whole/") + file), folder_.path(cut + "/" + file));
    folder_.file(cut + "/metrics.jsonl", lines_in(folder_.path("whole/metrics.jsonl")).at(0));
    std::string text;
    std::set<std::size_t> answered;
    std::size_t ledgers = 0;
    for (std::size_t k = 0; k < kept; ++k) {
      text += lines[k];
      const json entry = json::parse(lines[k]);
      ledgers += entry["type"] == "ledger" ? 1 : 0;
      if (entry["type"] == "answer") answered.insert(entry["body"]["candidate"].get<std::size_t>());
    }
    folder_.file(cut + "/journal.jsonl", text);
    // Before the round's ledger the training set is that of the initial trajectories.
    fs::copy(folder_.path(ledgers == 1 ? "begun/transitions.h5" : "whole/transitions.h5"),
             folder_.path(cut + "/transitions.h5"));
    for (std::size_t pass = 1; pass <= passes.size(); ++pass) {
      bool begun = false;
      for (const std::size_t candidate : passes[pass - 1])
        begun = begun || answered.count(candidate) > 0;
      const std::string name = "/rounds/00/" + plan_name(pass);
      if (begun) fs::copy(folder_.path("whole" + name), folder_.path(cut + name));
    }

    const Finished result = run_stap(words(cut, settings));

    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(essence(cut), expected) << kept << " lines of the journal";
  }
}

TEST_F(UnstableProgram, KilledAnywhereEndsWithTheSameBytes) {
  expect_kills_change_nothing(
      8, [&](const std::string& name) { return words(name); },
      [&](const std::string& name) { return essence(name); });
}

// Plans of further passes that do not fit what is left, as a folder has them that was begun on
// another device, are made again instead of ending the run.
TEST_F(UnstableProgram, PlansThatDoNotFitAreMadeAgain) {
  const std::vector<std::string> settings{"rounds=1"};
  ASSERT_EQ(run_stap(words("whole", settings)).exit_code, 0);
  const std::string expected = essence("whole");
  const std::string first = content(folder_.path("whole/rounds/00/plan.json"));
  folder_.file("whole/rounds/00/plan-2.json", first);  // candidates that are used, another budget
  change_sealed(folder_.path("whole/rounds/00/plan-2.json"), "\"pass\": 1", "\"pass\": 2");
  folder_.file("whole/metrics.jsonl", lines_in(folder_.path("whole/metrics.jsonl")).at(0));
  // Killed before the ledger of the round was written: its purchase is walked again.
  std::string text;
  const auto lines = lines_in(folder_.path("whole/journal.jsonl"));
  for (std::size_t k = 0; k + 1 < lines.size(); ++k) text += lines[k];
  folder_.file("whole/journal.jsonl", text);
  fs::remove_all(folder_.path("whole/rounds/01"));

  const Finished result = run_stap(words("whole", settings));

  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(essence("whole"), expected);
}

// Where nothing is refused, refill has nothing to do.
TEST_F(UnstableProgram, RefillWithoutTroubleIsDrop) {
  const auto demo = [&](const std::string& out, const std::string& setting) {
    std::vector<std::string> list{"run", "demo", "--quiet", setting};
    for (const std::string& small : small_study()) list.push_back(small);
    list.insert(list.end(), {"--no-report", "--out", folder_.path(out)});
    return run_stap(list);
  };

  ASSERT_EQ(demo("drop", "on_unstable=drop").exit_code, 0);
  ASSERT_EQ(demo("refill", "on_unstable=refill").exit_code, 0);

  EXPECT_EQ(total("refill", "refused") + total("refill", "failed"), 0u);
  // Files name their run, so they are not compared byte by byte.
  const RunFolder refill(folder_.path("refill")), drop(folder_.path("drop"));
  EXPECT_EQ(unnamed_lines(refill.metrics_file()), unnamed_lines(drop.metrics_file()));
  EXPECT_EQ(digest(refill.read_transitions()), digest(drop.read_transitions()));
  EXPECT_TRUE(refill.read_networks(2)->members == drop.read_networks(2)->members);
}

TEST_F(UnstableProgram, ABandOfOneMemberIsExitCode2) {
  std::vector<std::string> check{"check", "demo", "method=random", "members=1",
                                 "trust_quantile=0.9"};

  const Finished result = run_stap(check);

  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.err, "a trust band compares members"));
}

}  // namespace
}  // namespace stap::test
