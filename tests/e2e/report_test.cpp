// `stap report`, and the page that `run` and `sweep` end with.
#include <gtest/gtest.h>

#include <filesystem>

#include "stap/config/value.h"
#include "support/process.h"
#include "support/small_study.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;

class ReportProgram : public ::testing::Test {
 protected:
  ReportProgram() { setenv("STAP_CACHE", folder_.path("cache").c_str(), 1); }
  ~ReportProgram() override { unsetenv("STAP_CACHE"); }

  Finished study(const std::string& command, const std::string& out,
                 const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{command, "demo"};
    for (const std::string& setting : small_study()) words.push_back(setting);
    words.insert(words.end(), {"train.epochs=2", "rounds=1"});
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--out", folder_.path(out), "--quiet"});
    return run_stap(words);
  }

  TemporaryFolder folder_;
};

TEST_F(ReportProgram, RunsEndWithAPageUnlessItIsNotWanted) {
  const Finished run = study("run", "r");
  const Finished again = study("run", "r");
  const Finished without = study("run", "w", {"--no-report"});

  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_TRUE(run.out.ends_with("report: " + folder_.path("r/report.html") + "\n")) << run.out;
  const std::string page = content(folder_.path("r/report.html"));
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(contains(page, "One run shows neither how much another seed would"));
  EXPECT_TRUE(contains(page, "id=\"p1-case\""));
  EXPECT_TRUE(contains(page, "href=\"data:image/png;base64,"));  // the case
  EXPECT_TRUE(fs::exists(folder_.path("r/analysis.json")));
  EXPECT_EQ(again.out, run.out);
  EXPECT_EQ(run_stap({"fsck", folder_.path("r")}).exit_code, 0);
  EXPECT_EQ(without.exit_code, 0) << without.err;
  EXPECT_FALSE(contains(without.out, "report:"));
  EXPECT_FALSE(fs::exists(folder_.path("w/report.html")));
  EXPECT_FALSE(fs::exists(folder_.path("w/analysis.json")));
}

// Broken by: a failure that --quiet keeps silent, an analysis that is judged by its time alone.
TEST_F(ReportProgram, FailuresAreSaidAndDamagedAnalysesMadeAgain) {
  ASSERT_EQ(study("run", "r").exit_code, 0);
  const std::string report = folder_.path("r/report.html"),
                    analysis = folder_.path("r/analysis.json"), whole = content(analysis);
  folder_.file("r/report.html", "<!DOCTYPE html>\n<p>mine</p>");
  folder_.file("r/analysis.json", whole.substr(0, whole.size() / 2));

  const Finished again = study("run", "r");

  EXPECT_EQ(again.exit_code, 0);
  EXPECT_TRUE(contains(again.err, "the report failed: " + report + " exists and is no report"))
      << again.err;
  EXPECT_EQ(content(report), "<!DOCTYPE html>\n<p>mine</p>");
  EXPECT_EQ(content(analysis).size(), whole.size());
  fs::resize_file(folder_.path("r/analysis.h5"), 500);
  fs::remove(report);
  EXPECT_EQ(study("run", "r").err, "");
  EXPECT_GT(fs::file_size(folder_.path("r/analysis.h5")), 500u);
  // One of an earlier version, which did not name its maker.
  std::string old = content(report);
  const std::string maker = "<meta name=\"generator\" content=\"stap\">\n";
  ASSERT_NE(old.find(maker), std::string::npos);
  folder_.file("r/report.html", old.erase(old.find(maker), maker.size()));
  EXPECT_EQ(run_stap({"report", folder_.path("r")}).exit_code, 0);
  EXPECT_TRUE(contains(content(report), maker));
}

TEST_F(ReportProgram, ADamagedRunOfASweepIsListedAndTheRestIsShown) {
  ASSERT_EQ(study("sweep", "s", {"--grid", "method=random,sbal", "--grid", "seed=0,1"}).exit_code,
            0);
  ASSERT_TRUE(fs::exists(folder_.path("s/report.html")));
  fs::resize_file(folder_.path("s/method=sbal,seed=1/metrics.jsonl"), 20);
  fs::remove_all(folder_.path("s/method=sbal,seed=0"));
  const std::string other = folder_.path("<b>other.html");

  const Finished report = run_stap({"report", folder_.path("s"), "--out", other});
  const Finished as_json = run_stap({"report", folder_.path("s"), "--json"});
  const Finished csv = run_stap({"report", folder_.path("s"), "--csv"});

  ASSERT_EQ(report.exit_code, 0) << report.err;
  EXPECT_EQ(report.out, "report: " + other + "\n");
  const std::string page = content(other);
  EXPECT_TRUE(contains(page, "4 runs: 2 finished, 1 damaged and 1 not started"));
  EXPECT_TRUE(contains(page, "<span class=\"state bad\">damaged</span>"));
  EXPECT_TRUE(contains(page, "metrics.jsonl, line 1"));
  // The same folders give the same bytes.
  ASSERT_EQ(run_stap({"report", folder_.path("s"), "--out", other}).exit_code, 0);
  EXPECT_EQ(content(other), page);
  const config::Value value = config::parse_json(as_json.out, "report");
  EXPECT_EQ(*value.find("format")->text(), "report/1");
  EXPECT_EQ(value.find("runs")->list()->size(), 4u);
  EXPECT_EQ(std::ranges::count_if(
                *value.find("runs")->list(),
                [](const config::Value& run) { return *run.find("state")->text() == "not begun"; }),
            1);
  EXPECT_FALSE(value.find("findings")->list()->empty());
  EXPECT_TRUE(csv.out.starts_with("problem,label,method,seed,round,solver_steps,"));
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 1 + 2 * 2);
}

// Of several processes the last one finds all runs finished.
TEST_F(ReportProgram, TheLastShardOfASweepWritesThePage) {
  const auto shard = [&](const char* which) {
    return study("sweep", "s", {"--grid", "seed=0,1", "method=random", "--shard", which});
  };

  const Finished first = shard("1/2"), last = shard("0/2");

  EXPECT_FALSE(contains(first.out, "report:")) << first.out;
  EXPECT_TRUE(last.out.ends_with("report: " + folder_.path("s/report.html") + "\n")) << last.out;
}

TEST_F(ReportProgram, NothingToShowAndWrongPlacesAreRefused) {
  ASSERT_EQ(study("run", "r", {"--no-report"}).exit_code, 0);
  const std::string notes = folder_.file("notes.txt", "mine");

  const Finished nothing = run_stap({"report", folder_.path("nowhere")});
  const Finished taken = run_stap({"report", folder_.path("r"), "--out", notes});
  const Finished no_row = run_stap({"report", folder_.path("r"), "--baseline", "none"});

  EXPECT_EQ(nothing.exit_code, 3);
  EXPECT_TRUE(contains(nothing.err, "there is nothing to show: there is no run in "))
      << nothing.err;
  EXPECT_EQ(taken.exit_code, 2);
  EXPECT_EQ(content(notes), "mine");
  EXPECT_EQ(no_row.exit_code, 2);
  // A name that the folder might have a meaning for.
  const Finished inside =
      run_stap({"report", folder_.path("r"), "--out", folder_.path("r/config")});
  EXPECT_EQ(inside.exit_code, 2);
  EXPECT_TRUE(contains(inside.err, ".html")) << inside.err;
}

// A problem of one's own without a test set, in a folder whose name is chosen to break out of the
// page.
TEST_F(ReportProgram, StudiesWithoutATestSetAndHostileNamesAreShown) {
  const std::string config = folder_.file("study.yaml", R"(
pde: {name: external, label: mine, points: [16], dt: 0.25}
solver: {name: command, argv: [cp, "{input}", "{output}"]}
initial: {name: sines}
network: {modes: [4], width: 4, lifting: 4, projection: 4, layers: 1}
train: {epochs: 2}
study: {steps: 5, pool: 30, test: 0, initial: 2, rounds: 1, budget: 11}
compute: {device: cpu}
method: random+bernoulli
)");

  const std::string own = folder_.path("<script>alert('x')<b>");
  const Finished run = run_stap({"run", config, "--out", own, "--quiet"});

  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string page = content(own + "/report.html");
  EXPECT_TRUE(contains(page, "this study has no test set, so there are no errors"));
  EXPECT_TRUE(contains(page, "16 points, 5 steps of 0.25 time units"));
  EXPECT_FALSE(contains(page, "No run was analysed"));
  EXPECT_FALSE(contains(page, "<script>alert"));
  EXPECT_TRUE(contains(page, "<title>&lt;script&gt;alert(&#39;x&#39;)&lt;b&gt;</title>"));
  EXPECT_TRUE(contains(page, "1 finished"));
}

}  // namespace
}  // namespace stap::test
