#include "stap/study/study.h"

#include <gtest/gtest.h>

#include "stap/core/error.h"
#include "stap/study/axes.h"
#include "stap/study/presets.h"

namespace stap {
namespace {

config::Value demo(const std::vector<std::string>& settings = {}) {
  config::Value document = load_config("demo");
  for (const std::string& setting : settings) apply_setting(document, setting);
  return document;
}

// What a bad configuration says.
std::string complaint(const std::vector<std::string>& settings) {
  try {
    make_study(demo(settings));
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::config);
    return e.what();
  }
  return "";
}

TEST(Study, DemoPresetIsComplete) {
  const Study study = make_study(demo());

  EXPECT_EQ(method_text(study.effective), "sbal+stap");
  EXPECT_EQ(make_solver(study, 1)->name(), "burgers");
  EXPECT_NE(make_selector(study, 1), nullptr);
  EXPECT_NE(make_chooser(study), nullptr);
}

// The printed behaviour: drop the rest of a trajectory, pay for failures, ask about any state.
TEST(Study, UnstableQueriesAreTreatedAsPrinted) {
  const StudyOptions options = make_study(demo()).options;

  EXPECT_EQ(options.on_unstable, OnUnstable::drop);
  EXPECT_TRUE(options.charge_failed);
  EXPECT_EQ(options.trust_quantile, 0.0);
}

TEST(Study, MethodIsShortForBaseAndSteps) {
  config::Value document = demo();
  document.set("method", "sbal(exponent=2)+stap(proposals=10,epsilon=0.2)");
  const Study study = make_study(document);

  EXPECT_EQ(study.effective.find("base")->find("exponent")->real(), 2.0);
  EXPECT_EQ(study.effective.find("steps")->find("proposals")->integer<int>(), 10);
  EXPECT_EQ(method_text(study.effective), "sbal(exponent=2.0)+stap(proposals=10,epsilon=0.2)");
  document.set("method", "random");
  EXPECT_EQ(*make_study(document).effective.find("steps")->find("name")->text(), "full");
}

TEST(Study, ShortKeysReachTheStudySection) {
  EXPECT_EQ(make_study(demo({"seed=7"})).options.seed, 7u);
  EXPECT_EQ(make_study(demo({"study.seed=8"})).options.seed, 8u);
  EXPECT_EQ(full_key("train.epochs"), "train.epochs");
  EXPECT_EQ(full_key("method"), "method");
}

TEST(Study, BadInputIsSaidClearly) {
  EXPECT_NE(complaint({"budget=0"}).find("study.budget"), std::string::npos);
  EXPECT_NE(complaint({"study.initial=400"}).find("the pool has 400"), std::string::npos);
  EXPECT_NE(complaint({"members=1"}).find("at least 2"), std::string::npos);
  EXPECT_NE(complaint({"method=qbc", "members=1"}).find("qbc"), std::string::npos);
  EXPECT_EQ(complaint({"method=random", "members=1"}), "");
  EXPECT_NE(complaint({"method=sball"}).find("sbal"), std::string::npos);
  EXPECT_NE(complaint({"method=sbal+"}).find("a name is missing"), std::string::npos);
  EXPECT_NE(complaint({"method=sbal+stap(proposals=1"}).find("not closed"), std::string::npos);
  EXPECT_NE(complaint({"method=sbal+exact", "study.steps=26"}).find("study.steps is 26, but exact"),
            std::string::npos);
  EXPECT_EQ(complaint({"method=sbal+exact", "study.steps=16"}), "");
  EXPECT_NE(complaint({"method=lcmd(sketch=gaussian)", "device=cuda"}).find("base.sketch"),
            std::string::npos);
  EXPECT_EQ(complaint({"method=lcmd(sketch=gaussian)", "device=cpu"}), "");
  EXPECT_EQ(complaint({"method=lcmd", "device=cuda"}), "");
  EXPECT_NE(complaint({"method=sbal+bernoulli(p=0)"}).find("steps.p"), std::string::npos);
  EXPECT_NE(complaint({"method=random+stap-mf", "members=1"}).find("at least 2"),
            std::string::npos);
  EXPECT_EQ(complaint({"method=random+initial-bernoulli(p=0.125)", "members=1"}), "");
  EXPECT_EQ(complaint({"method=residual", "members=1"}), "");
  EXPECT_NE(complaint({"method=residual", "study.cluster=2"}).find("residual looks at single"),
            std::string::npos);
  EXPECT_NE(complaint({"method=random", "members=1", "trust_quantile=0.9"})
                .find("study.trust_quantile is 0.9, but a trust band compares members"),
            std::string::npos);
  EXPECT_EQ(complaint({"method=random", "members=1", "trust_quantile=0"}), "");
  EXPECT_EQ(complaint({"trust_quantile=1"}), "");
  EXPECT_NE(complaint({"trust_quantile=1.1"}).find("study.trust_quantile"), std::string::npos);
  EXPECT_NE(complaint({"trust_quantile=-0.1"}).find("study.trust_quantile"), std::string::npos);
  EXPECT_NE(complaint({"on_unstable=refil"}).find("did you mean 'refill'?"), std::string::npos);
  EXPECT_NE(complaint({"network.modes=[128]"}).find("network.modes"), std::string::npos);
  EXPECT_NE(complaint({"roundz=3"}).find("roundz"), std::string::npos);
  EXPECT_THROW(load_config("dem"), Error);
}

TEST(Grid, AxesAndNames) {
  const GridAxis methods =
      parse_axis("method=random,sbal(exponent=2)+stap(proposals=5,epsilon=0.2)");
  ASSERT_EQ(methods.values.size(), 2u);

  const auto runs = expand_grid(demo(), {methods, parse_axis("seed=0,1,2")});

  ASSERT_EQ(runs.size(), 6u);
  EXPECT_EQ(runs[1].name, "method=random,seed=1");
  EXPECT_EQ(make_study(runs[5].document).options.seed, 2u);
  EXPECT_THROW(parse_axis("seed"), Error);
  EXPECT_THROW(parse_axis("seed=1,,2"), Error);
}

TEST(Differences, NameEveryKeyThatDiffers) {
  const Study a = make_study(demo()), b = make_study(demo({"seed=1", "train.epochs=61"}));

  const auto list = differences(a.effective, b.effective);

  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0], "train.epochs: 60 here, 61 there");
  EXPECT_EQ(list[1], "study.seed: 0 here, 1 there");
}

}  // namespace
}  // namespace stap
