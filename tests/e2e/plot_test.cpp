// `stap plot` as a user runs it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>

#include "support/contains.h"
#include "support/process.h"
#include "support/small_study.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;

// Heights of the texts at the left of a figure, from the top.
std::vector<double> heights_at_left(const std::string& svg) {
  std::vector<double> heights;
  const std::regex text("<text x=\"([0-9.]+)\" y=\"([0-9.]+)\" text-anchor=\"end\"");
  for (std::sregex_iterator it(svg.begin(), svg.end(), text), end; it != end; ++it)
    if (std::stod((*it)[1]) < 60) heights.push_back(std::stod((*it)[2]));
  std::ranges::sort(heights);
  return heights;
}

TEST(PlotProgram, DrawsEveryFigureAndRefusesWhatIsNotThere) {
  TemporaryFolder folder;
  setenv("STAP_CACHE", folder.path("cache").c_str(), 1);
  std::vector<std::string> words{"sweep", "demo"};
  for (const std::string& setting : small_study()) words.push_back(setting);
  words.insert(words.end(),
               {"train.epochs=2", "study.rounds=1", "--grid", "method=random,sbal+stap", "--grid",
                "seed=0,1", "--out", folder.path("s")});
  const Finished sweep = run_stap(words);
  ASSERT_EQ(sweep.exit_code, 0) << sweep.err;
  const Finished analysed = run_stap({"analyse", folder.path("s")});
  ASSERT_EQ(analysed.exit_code, 0) << analysed.err;
  const std::string svg = folder.path("f.svg");
  const auto plot = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"plot", folder.path("s"), "--out", svg, "--figure"});
    return run_stap(more);
  };

  for (const char* figure : {"errors", "quantiles", "by-step", "frequency", "calibration", "losses",
                             "times", "ledger"}) {
    const Finished drawn = plot({figure, "--width", "120mm", "--font", "9pt"});
    ASSERT_EQ(drawn.exit_code, 0) << figure << ": " << drawn.err;
    const std::string text = content(svg);
    EXPECT_TRUE(text.starts_with("<svg ") && text.ends_with("</svg>\n")) << figure;
    EXPECT_TRUE(contains(text, "width=\"120mm\"")) << figure;
    EXPECT_TRUE(contains(text, ">sbal+stap</text>")) << figure;
  }
  for (const char* figure : {"steps", "activations", "trajectory"}) {
    const Finished drawn = plot({figure, "--method", "sbal+stap", "--seed", "1"});
    ASSERT_EQ(drawn.exit_code, 0) << figure << ": " << drawn.err;
    EXPECT_TRUE(contains(drawn.out, "seed 1")) << figure;
    EXPECT_TRUE(content(svg).starts_with("<svg "));
  }
  EXPECT_TRUE(contains(content(svg), "data:image/png;base64,"));  // the trajectory
  ASSERT_TRUE(contains(content(svg), ">bought</text>"));
  const std::vector<double> heights = heights_at_left(content(svg));
  ASSERT_GT(heights.size(), 2u);
  for (std::size_t i = 1; i < heights.size(); ++i)  // no label on another; the font has 8 pt
    EXPECT_GT(heights[i] - heights[i - 1], 6.5);
  const std::string before = content(svg);

  const Finished pdf =
      run_stap({"plot", folder.path("s"), "--out", folder.path("f.pdf"), "--figure", "errors"});
  EXPECT_EQ(pdf.exit_code, 2);
  EXPECT_TRUE(contains(pdf.err, ".svg")) << pdf.err;
  EXPECT_FALSE(fs::exists(folder.path("f.pdf")));
  const Finished method = plot({"errors", "--method", "sbal+stab"});
  EXPECT_EQ(method.exit_code, 2);
  EXPECT_TRUE(contains(method.err, "sbal+stap"));
  const Finished several = plot({"trajectory"});
  EXPECT_EQ(several.exit_code, 2);
  EXPECT_TRUE(contains(several.err, "--method: random, sbal+stap"));
  const Finished channel = plot({"trajectory", "--method", "random", "--channel", "p"});
  EXPECT_EQ(channel.exit_code, 2);
  EXPECT_TRUE(contains(channel.err, "channels: u"));
  EXPECT_EQ(plot({"errors", "--width", "85 parsecs"}).exit_code, 2);
  EXPECT_EQ(plot({"nothing"}).exit_code, 2);
  EXPECT_EQ(run_stap({"plot", folder.path("none"), "--figure", "errors", "--out", svg}).exit_code,
            3);
  EXPECT_EQ(content(svg), before);  // nothing of these touched it
  for (const auto& [option, value] :
       std::vector<std::pair<std::string, std::string>>{{"--seed", "-1"},
                                                        {"--seed", "1.5"},
                                                        {"--width", "0"},
                                                        {"--width", "nan"},
                                                        {"--width", "1e9mm"},
                                                        {"--time", "nan"},
                                                        {"--time", "1e9"}}) {
    const Finished odd = plot({"trajectory", "--method", "random", option, value});
    EXPECT_EQ(odd.exit_code, 2) << option << value;
    EXPECT_TRUE(contains(odd.err, option) && contains(odd.err, "expected")) << odd.err;
  }
  const std::string mine = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"85mm\"></svg>\n";
  folder.file("mine.svg", mine);
  EXPECT_EQ(
      run_stap({"plot", folder.path("s"), "--figure", "errors", "--out", folder.path("mine.svg")})
          .exit_code,
      2);
  EXPECT_EQ(content(folder.path("mine.svg")), mine);
  fs::remove(folder.path("s") + "/method=random,seed=0/analysis.json");
  fs::remove(folder.path("s") + "/method=random,seed=1/analysis.json");
  const Finished absent = plot({"calibration", "--method", "random"});
  EXPECT_EQ(absent.exit_code, 3);
  EXPECT_TRUE(contains(absent.err, "stap analyse"));
  const Finished stages = plot({"stages"});
  EXPECT_EQ(stages.exit_code, 3);
  EXPECT_TRUE(contains(stages.err, "No round was trained in stages")) << stages.err;
  unsetenv("STAP_CACHE");
}

TEST(PlotProgram, TheCaptionOfA2dTrajectoryHasItsTime) {
  const TemporaryFolder folder;
  const std::string config = folder.file("study.yaml", R"(
pde: {name: external, label: mine, points: [8, 8], dt: 0.25}
solver: {name: command, argv: [cp, "{input}", "{output}"]}
initial: {name: gaussian-field}
network: {modes: [2, 2], width: 2, lifting: 2, projection: 2, layers: 1}
train: {epochs: 1}
study: {steps: 2, pool: 8, test: 2, initial: 2, rounds: 1, budget: 2}
compute: {device: cpu}
method: random
)");
  const Finished run =
      run_stap({"run", config, "--out", folder.path("r"), "--quiet", "--no-report"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto caption = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"plot", folder.path("r"), "--figure", "trajectory", "--out",
                               folder.path("f.svg")});
    return run_stap(more).out;
  };

  EXPECT_TRUE(contains(caption({"--time", "0.3"}), " at time 0.25; "));
  EXPECT_TRUE(contains(caption({}), " at time 0.5; "));
}

}  // namespace
}  // namespace stap::test
