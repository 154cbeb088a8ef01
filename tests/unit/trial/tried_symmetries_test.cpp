#include "stap/trial/tried_symmetries.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "stap/config/files.h"
#include "stap/study/presets.h"
#include "support/own_study.h"
#include "support/temporary_folder.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

const std::string kBoth = R"(train.symmetries=["u -> -u", "x -> -x"])";

class TriedSymmetries : public ::testing::Test {
 protected:
  TriedSymmetries() { setenv("STAP_CACHE", folder_.path("cache").c_str(), 1); }
  ~TriedSymmetries() override { unsetenv("STAP_CACHE"); }

  TemporaryFolder folder_;
};

TEST_F(TriedSymmetries, AreRememberedOfThisSolver) {
  const Study study = own_study({kBoth});
  const Texts before = doubted_symmetries(study).untried;

  keep_tried_symmetries(study, {"x -> -x"}, {});
  const Texts between = doubted_symmetries(study).untried;
  keep_tried_symmetries(own_study({kBoth, "solver.slots=3"}), {"u -> -u"}, {});

  EXPECT_EQ(before, (Texts{"u -> -u", "x -> -x"}));
  EXPECT_EQ(between, Texts{"u -> -u"});
  EXPECT_EQ(doubted_symmetries(study).untried, Texts{});
  EXPECT_EQ(doubted_symmetries(own_study({kBoth, "pde.dt=0.5"})).untried, before);
  EXPECT_EQ(doubted_symmetries(own_study({})).untried, Texts{});
}

// Mutation: what was known before stands beside what is known now.
TEST_F(TriedSymmetries, TheLastTrialCounts) {
  const Study study = own_study({kBoth});
  keep_tried_symmetries(study, {"u -> -u", "x -> -x"}, {});

  keep_tried_symmetries(study, {}, {"u->-u"});
  const DoubtedSymmetries refuted = doubted_symmetries(study);
  keep_tried_symmetries(study, {"u -> -u"}, {});
  const DoubtedSymmetries mended = doubted_symmetries(study);

  EXPECT_EQ(refuted.broken, Texts{"u -> -u"});
  EXPECT_EQ(refuted.untried, Texts{});
  EXPECT_EQ(mended.broken, Texts{});
  EXPECT_EQ(mended.untried, Texts{});
}

TEST_F(TriedSymmetries, WhatFollowsOrIsWrittenOtherwiseIsTriedAsWell) {
  keep_tried_symmetries(own_study({kBoth}), {"u -> -u", "x -> -x"}, {});

  const auto untried = [](const char* text) {
    return doubted_symmetries(own_study({std::string("train.symmetries=") + text})).untried;
  };
  EXPECT_EQ(untried(R"(["u->-u"])"), Texts{});
  EXPECT_EQ(untried(R"(["x -> -x, u -> -u"])"), Texts{});
  EXPECT_EQ(untried(R"(["x -> 1/2 - x"])"), Texts{"x -> 1/2 - x"});
}

TEST_F(TriedSymmetries, WithoutACacheOrWithADamagedOneNothingIsRemembered) {
  const Study study = own_study({kBoth});
  keep_tried_symmetries(study, study.train.symmetries, {});
  ASSERT_EQ(doubted_symmetries(study).untried, Texts{});

  for (const auto& entry : fs::directory_iterator(folder_.path("cache/tried-symmetries")))
    for (const char* text : {"", "{", "[]", R"({"format": "tried-symmetries/1"})",
                             R"({"format": "tried-symmetries/1", "hold": "x -> -x"})",
                             R"({"format": "tried-symmetries/1", "hold": ["y -> -y", 1]})",
                             R"({"format": "tried-symmetries/2", "hold": ["x -> -x"]})"}) {
      write_text(entry.path(), text);
      EXPECT_EQ(doubted_symmetries(study).untried, study.train.symmetries) << text;
    }
  setenv("STAP_CACHE", "off", 1);
  keep_tried_symmetries(study, study.train.symmetries, {});
  EXPECT_EQ(doubted_symmetries(study).untried, study.train.symmetries);
}

// Nobody could follow the advice: equations of ours are tried with every study, people cannot be.
TEST_F(TriedSymmetries, AreOfProgramsAlone) {
  config::Value burgers = load_config("demo");
  apply_setting(burgers, R"(train.symmetries=["x -> -x, u -> -u"])");

  EXPECT_EQ(doubted_symmetries(make_study(burgers)).untried, Texts{});
  EXPECT_EQ(doubted_symmetries(own_study({kBoth, "solver={name: by-hand}", "test=0"})).untried,
            Texts{});
}

}  // namespace
}  // namespace stap::test
