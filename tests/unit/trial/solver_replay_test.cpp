#include "stap/trial/solver_replay.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/data/npy.h"
#include "stap/study/presets.h"
#include "support/contains.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr const char* kBundle = R"({
  "format": "bundle/1", "reason": "exit code 1", "attempt": 2, "time": 0.75, "steps": 1,
  "pde": {"name": "external", "label": "mine", "points": [3], "dt": 0.25},
  "solver": {"name": "command", "argv": ["/bin/cp", "{input}", "{output}"]}
})";

class ReplayTest : public ::testing::Test {
 protected:
  ReplayTest() {
    fs::create_directory(folder_.path("b"));
    folder_.file("b/bundle.json", kBundle);
    write_npy(folder_.path("b/input.npy"), std::vector<std::size_t>{1, 3},
              std::vector<double>{1.0, 2.0, 3.5});
  }
  fs::path bundle() const { return folder_.path("b"); }
  /// The bundle with one key changed; nothing: without it.
  void change(const std::string& key, std::optional<Value> value) const {
    Value about = config::parse_json(kBundle, "test");
    if (value)
      about.set(key, *value);
    else
      about.erase(key);
    folder_.file("b/bundle.json", config::json_text(about));
  }
  ::testing::AssertionResult refused(const std::string& part) const {
    try {
      read_bundle(bundle());
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data)
        return ::testing::AssertionFailure() << "of another kind: " << error.what();
      return contains(error.what(), part);
    }
    return ::testing::AssertionFailure() << "it was read";
  }

  TemporaryFolder folder_;
};

TEST_F(ReplayTest, ReadsWhatABundleHolds) {
  const Bundle read = read_bundle(bundle());

  EXPECT_EQ(read.reason, "exit code 1");
  EXPECT_EQ(read.attempt, 2);
  EXPECT_EQ(read.query.time, 0.75);
  EXPECT_EQ(read.query.steps, 1u);
  EXPECT_EQ(read.query.state, (std::vector<double>{1.0, 2.0, 3.5}));
}

TEST_F(ReplayTest, ReadsNothingElse) {
  change("left_out", Value(Value::List{"core"}));
  EXPECT_EQ(read_bundle(bundle()).attempt, 2);
  for (const char* key : {"format", "reason", "attempt", "time", "steps", "pde", "solver"}) {
    change(key, std::nullopt);
    EXPECT_TRUE(refused("bundle.json")) << key;
    change(key, Value(Value::List{}));
    EXPECT_TRUE(refused("bundle.json")) << key;
  }
  change("format", "bundle/2");
  EXPECT_TRUE(refused("bundle/2"));
  change("more", 1);
  EXPECT_TRUE(refused("'more'"));
  change("steps", 0);
  EXPECT_TRUE(refused("'steps' is 0"));
  change("pde", config::parse_yaml("{name: burgers}", "test"));
  EXPECT_TRUE(refused("built in"));
  change("pde", config::parse_yaml("{name: external, pints: [3]}", "test"));
  EXPECT_TRUE(refused("pints"));
  change("pde", config::parse_yaml("{name: external, points: [4]}", "test"));
  EXPECT_TRUE(refused("input.npy"));
  folder_.file("b/bundle.json", "{");
  EXPECT_TRUE(refused("bundle.json"));
  fs::remove(folder_.path("b/bundle.json"));
  EXPECT_TRUE(refused("bundle.json"));
  ASSERT_EQ(mkfifo(folder_.path("b/bundle.json").c_str(), 0600), 0);  // nobody would ever write
  EXPECT_TRUE(refused("no regular file"));
}

// Mutation that breaks it: asking without the parameters of the query.
TEST_F(ReplayTest, RunsAQueryWithItsParametersAgain) {
  change("format", "bundle/2");
  Value about = read_json(bundle() / "bundle.json");
  about.set("parameters", Value::List{0.125});
  about.set("pde", config::parse_yaml("{name: external, label: mine, points: [3], dt: 0.25, "
                                      "parameters: {nu: {between: [0, 1]}, k: 2}}",
                                      "test"));
  about.set("solver", config::parse_yaml("{name: command, argv: [sh, -c, 'cp $1 $2; echo $3 $4', "
                                         "sh, '{input}', '{output}', '{nu}', '{k}']}",
                                         "test"));
  folder_.file("b/bundle.json", config::json_text(about));
  const Bundle read = read_bundle(bundle());

  const Replay done = replay(read, read.document, folder_.path("kept"));

  EXPECT_EQ(done.answer.status, Answer::Status::ok) << done.answer.reason;
  EXPECT_EQ(done.log, "0.125 2");
  about.set("parameters", Value::List{0.125, 1.0});
  folder_.file("b/bundle.json", config::json_text(about));
  EXPECT_TRUE(refused("there are 2 parameters, but 1 vary"));
}

TEST_F(ReplayTest, RunsTheQueryAgain) {
  const Bundle read = read_bundle(bundle());

  const Replay done = replay(read, read.document, folder_.path("kept"));

  EXPECT_EQ(done.answer.status, Answer::Status::ok) << done.answer.reason;
  EXPECT_EQ(done.answer.states, read.query.state);
  EXPECT_TRUE(fs::exists(done.folder / "output.npy"));
  EXPECT_EQ(read_npy(done.folder / "output.npy").values, read.query.state);
}

TEST_F(ReplayTest, SaysWhatItPrintsAndFailsOnlyOnce) {
  const Bundle read = read_bundle(bundle());
  Value document = read.document;
  const std::string script = folder_.file(
      "fails", "#!/bin/sh\necho tried >> " + folder_.path("tries") + "\necho no luck; exit 3\n");
  fs::permissions(script, fs::perms::owner_all);
  apply_setting(document, "solver.argv=[" + script + "]");

  const Replay done = replay(read, document, {});

  EXPECT_EQ(done.answer.status, Answer::Status::failed);
  EXPECT_EQ(done.answer.reason, "exit code 3: no luck");
  EXPECT_EQ(done.log, "no luck");
  EXPECT_TRUE(done.folder.empty());
  EXPECT_EQ(content(folder_.path("tries")), "tried\n");
}

TEST_F(ReplayTest, ADocumentThatCannotBeIsAConfigError) {
  const Bundle read = read_bundle(bundle());
  Value document = read.document;
  apply_setting(document, "solver.argv=[/no/such/program]");

  EXPECT_EQ(error_kind([&] { replay(read, document, {}); }), ErrorKind::config);
}

}  // namespace
}  // namespace stap::test
