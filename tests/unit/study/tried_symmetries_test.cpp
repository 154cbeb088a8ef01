#include "stap/study/tried_symmetries.h"

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
  const Texts before = untried_symmetries(study);

  keep_tried_symmetries(study, {"x -> -x"});
  const Texts between = untried_symmetries(study);
  keep_tried_symmetries(own_study({kBoth, "solver.slots=2"}), {"u -> -u"});

  EXPECT_EQ(before, (Texts{"u -> -u", "x -> -x"}));
  EXPECT_EQ(between, Texts{"u -> -u"});
  EXPECT_EQ(untried_symmetries(study), Texts{});
  EXPECT_EQ(untried_symmetries(own_study({kBoth, "pde.dt=0.5"})), before);
  EXPECT_EQ(untried_symmetries(own_study({})), Texts{});
}

TEST_F(TriedSymmetries, WithoutACacheOrWithADamagedOneNothingIsRemembered) {
  const Study study = own_study({kBoth});
  keep_tried_symmetries(study, study.train.symmetries);
  ASSERT_EQ(untried_symmetries(study), Texts{});

  for (const auto& entry : fs::directory_iterator(folder_.path("cache/tried-symmetries")))
    for (const char* text : {"", "{", "[]", R"({"format": "tried-symmetries/1"})",
                             R"({"format": "tried-symmetries/1", "symmetries": "x -> -x"})",
                             R"({"format": "tried-symmetries/2", "symmetries": ["x -> -x"]})"}) {
      write_text(entry.path(), text);
      EXPECT_EQ(untried_symmetries(study), study.train.symmetries) << text;
    }
  setenv("STAP_CACHE", "off", 1);
  keep_tried_symmetries(study, study.train.symmetries);
  EXPECT_EQ(untried_symmetries(study), study.train.symmetries);
}

// Nobody could follow the advice: equations of ours are tried with every study, people cannot be.
TEST_F(TriedSymmetries, AreOfProgramsAlone) {
  config::Value burgers = load_config("demo");
  apply_setting(burgers, R"(train.symmetries=["x -> -x, u -> -u"])");

  EXPECT_EQ(untried_symmetries(make_study(burgers)), Texts{});
  EXPECT_EQ(untried_symmetries(own_study({kBoth, "solver={name: by-hand}", "test=0"})), Texts{});
}

}  // namespace
}  // namespace stap::test
