// `stap run`, `sweep` and `table` as a user runs them: results, continuation after real kills,
// errors.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <numeric>
#include <set>
#include <thread>

#include <nlohmann/json.hpp>

#include "stap/core/seal.h"
#include "stap/data/store.h"
#include "stap/nn/compute.h"
#include "stap/nn/model_file.h"
#include "support/environment.h"
#include "support/killing.h"
#include "support/processes.h"
#include "support/sealing.h"
#include "support/small_study.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class StudyProgram : public ::testing::Test {
 protected:
  StudyProgram() { setenv("STAP_CACHE", folder_.path("cache").c_str(), 1); }
  ~StudyProgram() override { unsetenv("STAP_CACHE"); }

  std::vector<std::string> words(const std::string& command, const std::string& out,
                                 const std::vector<std::string>& more = {}) const {
    std::vector<std::string> list{command, "demo"};
    for (const std::string& setting : small_study()) list.push_back(setting);
    list.insert(list.end(), more.begin(), more.end());
    list.insert(list.end(), {"--no-report", "--out", folder_.path(out)});
    return list;
  }
  // What must be equal between two runs of one study: errors, training set, losses and the last
  // weights.
  std::string essence(const std::string& run) const {
    std::string all;
    for (const char* file :
         {"metrics.jsonl", "transitions.h5", "losses.jsonl", "rounds/02/committee.safetensors"}) {
      const std::string bytes = content(folder_.path(run + "/" + file));
      EXPECT_NE(bytes, "") << file;
      all += bytes;
    }
    return all;
  }

  TemporaryFolder folder_;
};

TEST_F(StudyProgram, RunsToItsEndAndLeavesAWholeFolder) {
  const Finished result = run_stap(words("run", "r"));

  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "sbal+stap"));
  EXPECT_TRUE(contains(result.out, folder_.path("r")));
  EXPECT_TRUE(contains(result.err, "round 2 of 2, evaluating: 100 % of all work"));
  for (const char* file :
       {"config.yaml", "manifest.json", "journal.jsonl", "answers.bin", "metrics.jsonl",
        "timings.jsonl", "losses.jsonl", "transitions.h5", "rounds/00/plan.json"})
    EXPECT_TRUE(fs::exists(folder_.path(std::string("r/") + file))) << file;
  std::istringstream lines(content(folder_.path("r/metrics.jsonl")));
  std::size_t round = 0;
  for (std::string line; std::getline(lines, line); ++round) {
    const json metrics = json::parse(line);
    EXPECT_EQ(metrics.at("round"), round);
    EXPECT_EQ(metrics.at("transitions"), 3 * 5 + 9 * round);  // the ledger: exactly the budget
    EXPECT_GT(metrics.at("rmse").get<double>(), 0.0);
  }
  EXPECT_EQ(round, 3u);
  std::istringstream losses(content(folder_.path("r/losses.jsonl")));
  std::size_t count = 0;
  for (std::string line; std::getline(losses, line); ++count)
    EXPECT_GT(json::parse(line).at("loss").get<double>(), 0.0);
  EXPECT_EQ(count, 3u * 12u * 2u);  // rounds, epochs, members
}

// Editors check a configuration by the schema: it must know every key a preset may have.
TEST_F(StudyProgram, SchemaKnowsMethodAndEverySectionOfAStudy) {
  const json schema = json::parse(run_stap({"schema"}).out);

  for (const char* key :
       {"pde", "initial", "network", "train", "study", "base", "steps", "method", "extends"})
    EXPECT_TRUE(schema.at("properties").contains(key)) << key;
}

TEST_F(StudyProgram, SameBytesForAnyThreadsAloneOrInASweep) {
  ASSERT_EQ(run_stap(words("run", "one", {"method=sbal+stap", "--threads", "1"})).exit_code, 0);
  ASSERT_EQ(run_stap(words("run", "two", {"method=sbal+stap", "--threads", "2"})).exit_code, 0);

  const Finished sweep = run_stap(words(
      "sweep", "s", {"--grid", "method=random,sbal,sbal+stap", "--grid", "seed=0,1", "--quiet"}));

  ASSERT_EQ(sweep.exit_code, 0) << sweep.err;
  EXPECT_EQ(sweep.err, "");
  EXPECT_EQ(essence("one"), essence("two"));
  EXPECT_EQ(essence("one"), essence("s/method=sbal+stap,seed=0"));
  EXPECT_NE(essence("one"), essence("s/method=sbal+stap,seed=1"));
  // Equal seeds share round 0: the first lines agree, whatever the method.
  const auto metrics = [&](const char* run) {
    return unnamed_lines(folder_.path(std::string("s/method=") + run + ",seed=0/metrics.jsonl"));
  };
  const std::string random = metrics("random"), stap = metrics("sbal+stap");
  EXPECT_EQ(random.substr(0, random.find('\n')), stap.substr(0, stap.find('\n')));
  EXPECT_NE(random, stap);
}

// Texts of any kind can be an axis: folders have plain names, and everything finds the runs.
// Two files of every run, more than may be open: it ended with exit code 6 when folders were there.
TEST_F(StudyProgram, ASweepNeedsFewDescriptors) {
  const auto sweep = [&](const std::string& out, rlim_t limit) {
    std::vector<std::string> command{STAP_TEST_PROGRAM};
    for (std::string& word : words("sweep", out, {"rounds=0", "--grid", "seed=0..39"}))
      command.push_back(std::move(word));
    return run_process(command, "", [limit] {
      const rlimit few{limit, limit};
      setrlimit(RLIMIT_NOFILE, &few);
    });
  };

  const Finished few = sweep("few", 48), none = sweep("none", 12);

  ASSERT_EQ(few.exit_code, 0) << few.err;
  ASSERT_EQ(run_stap(words("run", "alone", {"rounds=0", "seed=39"})).exit_code, 0);
  for (const char* file : {"metrics.jsonl", "losses.jsonl", "answers.bin"})
    EXPECT_EQ(content(folder_.path(std::string("few/seed=39/") + file)),
              content(folder_.path(std::string("alone/") + file)));
  EXPECT_EQ(none.exit_code, 6);
  EXPECT_TRUE(contains(none.err, "Too many open files: a sweep of 40 runs takes")) << none.err;
  EXPECT_FALSE(fs::exists(folder_.path("none")));
}

TEST_F(StudyProgram, ASweepOverTextsHasFoldersWithPlainNames) {
  const std::string axis = R"(train.symmetries=[],["x -> -x, u -> -u"])";

  const Finished sweep = run_stap(words("sweep", "s", {"--grid", axis, "rounds=0"}));
  const Finished table = run_stap({"table", folder_.path("s"), "--json"});

  ASSERT_EQ(sweep.exit_code, 0) << sweep.err;
  const json names = json::parse(content(folder_.path("s/sweep.json"))).at("runs");
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names[0], "train.symmetries=[]");
  EXPECT_EQ(names[1].get<std::string>().find_first_of(" \">"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder_.path("s/" + names[1].get<std::string>() + "/metrics.jsonl")));
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_TRUE(contains(table.out, "x -> -x, u -> -u"));  // as configured, not as the folder says
}

// Training, rollouts and purchases all hand the time on: the networks have one input more, and it
// makes a difference.
TEST_F(StudyProgram, TimeCanBeAnInputOfTheNetwork) {
  ASSERT_EQ(run_stap(words("run", "plain")).exit_code, 0);

  const Finished result = run_stap(words("run", "timed", {"network.time_input=true"}));

  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(content(folder_.path("timed/metrics.jsonl")),
            content(folder_.path("plain/metrics.jsonl")));
  EXPECT_EQ(read_model(folder_.path("timed/rounds/02/committee.safetensors")).spec.in_channels(),
            2u);
}

// A real process is killed thirty times, at random moments of a run, and started again each time:
// however often it took, every run that got through ends with the same bytes.
// Means stay in what the finished networks predict: 1e-6 is the rounding of values of about 1, a
// thousandth what networks that were hardly trained move them by.
TEST_F(StudyProgram, MeansThatAreStatedStay) {
  const auto largest_drift = [&](const std::string& run, const std::string& conserve) {
    const Finished trained = run_stap(words("run", run, {"network.conserve=" + conserve}));
    EXPECT_EQ(trained.exit_code, 0) << trained.err;
    EXPECT_FALSE(contains(trained.err, "moves the mean")) << trained.err;  // the solver keeps it
    const std::string output = folder_.path(run + ".h5");
    const Finished predicted =
        run_stap({"predict", folder_.path(run), "--input", folder_.path("data/pool.h5"), "--steps",
                  "6", "--output", output, "--members"});
    EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
    double drift = 0.0;
    for (const char* dataset : {"mean", "members"}) {
      const Array<double> all = read_array(output, dataset);  // [..., times, 1, points]
      const std::size_t points = all.shape.back(), times = all.shape[all.shape.size() - 3];
      for (std::size_t first = 0; first < all.values.size(); first += times * points) {
        const auto mean = [&](std::size_t time) {
          const auto begin = all.values.begin() + static_cast<long>(first + time * points);
          return std::accumulate(begin, begin + static_cast<long>(points), 0.0) /
                 static_cast<double>(points);
        };
        drift = std::max(drift, std::abs(mean(times - 1) - mean(0)));
      }
    }
    return drift;
  };
  std::vector<std::string> generate{"generate", "demo"};
  for (const std::string& setting : small_study()) generate.push_back(setting);
  generate.insert(generate.end(), {"--out", folder_.path("data")});
  ASSERT_EQ(run_stap(generate).exit_code, 0);

  EXPECT_LT(largest_drift("keeps", "[u]"), 1e-6);
  EXPECT_GT(largest_drift("drifts", "[]"), 1e-3);
}

TEST_F(StudyProgram, KilledAnywhereEndsWithTheSameBytes) {
  expect_kills_change_nothing(
      kills_wanted(30),
      [&](const std::string& name) {
        return words("run", name, {"--quiet", "validation=0.3", "stages=3", "train.epochs=4"});
      },
      [&](const std::string& name) { return essence(name); });
}

TEST_F(StudyProgram, StopsCleanlyAndContinues) {
  ASSERT_EQ(run_stap(words("run", "whole")).exit_code, 0);

  const Finished stopped = run_stap(words("run", "r", {"--stop-after", "0.001s"}));
  EXPECT_EQ(stopped.exit_code, 8);
  EXPECT_TRUE(contains(stopped.err, folder_.path("r")));
  EXPECT_TRUE(contains(stopped.err, "\n  stap run demo "));
  EXPECT_FALSE(fs::exists(folder_.path("r/rounds/02/committee.safetensors")));
  const pid_t child = start_stap(words("run", "r", {"train.epochs=12"}));
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  kill(child, SIGINT);
  const int status = test::wait_for(child);
  EXPECT_TRUE((WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) || WIFEXITED(status));
  ASSERT_EQ(run_stap(words("run", "r")).exit_code, 0);

  EXPECT_EQ(essence("r"), essence("whole"));
}

// Parts in turn, as a chain of jobs does it; every part is asked for twice.
TEST_F(StudyProgram, AChainOfPartsEndsTheSame) {
  ASSERT_EQ(run_stap(words("run", "whole")).exit_code, 0);

  std::vector<int> codes;
  for (int round = 0; round < 3; ++round)
    for (const char* part : {"bought", "bought", "trained", "trained"})
      codes.push_back(run_stap(words("run", "r", {"--until", part})).exit_code);

  EXPECT_EQ(codes, (std::vector<int>{9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 0, 0}));
  EXPECT_EQ(essence("r"), essence("whole"));
  EXPECT_EQ(run_stap(words("run", "r", {"--until", "later"})).exit_code, 2);
}

// Six shards at the same time, of which two are killed and started again; and the runs spread over
// two devices.
TEST_F(StudyProgram, ShardsOfASweepAreTheSweep) {
  const auto sweep = [&](const std::string& out, std::vector<std::string> more) {
    more.insert(more.end(), {"--grid", "method=random,sbal+stap", "--grid", "seed=0..4"});
    return words("sweep", out, more);
  };
  ASSERT_EQ(run_stap(sweep("whole", {})).exit_code, 0);
  const std::string table = run_stap({"table", folder_.path("whole"), "--json"}).out;
  setenv("STAP_CACHE", folder_.path("new").c_str(), 1);

  std::vector<pid_t> shards;
  for (const char* shard : {"0/6", "1/6", "2/6", "3/6", "4/6"})
    shards.push_back(start_stap(sweep("s", {"--threads", "1", "--shard", shard})));
  EXPECT_TRUE(
      eventually([&] { return fs::exists(folder_.path("s/method=random,seed=1/config.yaml")); }));
  for (std::size_t i : {1, 3}) kill(shards[i], SIGKILL);
  for (const pid_t shard : shards) test::wait_for(shard);
  const std::string some = run_stap({"table", folder_.path("s")}).out;
  std::vector<Finished> again;
  for (const char* shard : {"1/6", "3/6", "5/6"})
    again.push_back(run_stap(sweep("s", {"--shard", shard})));
  const Finished devices = run_stap(sweep("d", {"--device", "cpu,cpu"}));

  EXPECT_TRUE(contains(some, "of the sweep's 10 runs ")) << some;
  for (const Finished& shard : again) EXPECT_EQ(shard.exit_code, 0) << shard.err;
  EXPECT_TRUE(again[2].out.starts_with("shard 5/6 is finished"));
  EXPECT_TRUE(again[2].out.ends_with("stap table " + folder_.path("s") + "\n"));
  EXPECT_EQ(run_stap({"table", folder_.path("s"), "--json"}).out, table);
  ASSERT_EQ(devices.exit_code, 0) << devices.err;
  EXPECT_TRUE(contains(devices.err, "[cpu] ")) << devices.err;
  EXPECT_EQ(run_stap({"table", folder_.path("d"), "--json"}).out, table);
  EXPECT_EQ(essence("s/method=sbal+stap,seed=1"), essence("whole/method=sbal+stap,seed=1"));
  EXPECT_EQ(essence("d/method=sbal+stap,seed=1"), essence("whole/method=sbal+stap,seed=1"));
  const Finished other = run_stap(words("sweep", "s", {"--grid", "seed=0,1", "--shard", "0/2"}));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_TRUE(contains(other.err, "is that of another sweep")) << other.err;
}

// A finished run goes on where more rounds are asked for, and is then as one that was asked for
// them at once.
TEST_F(StudyProgram, RoundsCanBeRaised) {
  ASSERT_EQ(run_stap(words("run", "whole")).exit_code, 0);
  ASSERT_EQ(run_stap(words("run", "r", {"rounds=1"})).exit_code, 0);

  const Finished more = run_stap(words("run", "r"));

  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(essence("r"), essence("whole"));
  EXPECT_EQ(content(folder_.path("r/config.yaml")), content(folder_.path("whole/config.yaml")));
  const Finished fewer = run_stap(words("run", "r", {"rounds=1"}));
  EXPECT_EQ(fewer.exit_code, 2);
  EXPECT_TRUE(contains(fewer.err, "study.rounds: 1 in this command, 2 in "));
}

// The folder as a kill between the training set and the ledger of the last acquisition leaves it:
// what was bought is walked again from the recorded answers, without asking the solver.
TEST_F(StudyProgram, ALedgerThatIsMissingIsWrittenOnce) {
  const auto run = [&](const std::string& out, const std::string& rounds) {
    return run_stap(words("run", out, {"keep_committees=all", "rounds=" + rounds})).exit_code;
  };
  ASSERT_EQ(run("whole", "2"), 0);
  const std::string lines = content(folder_.path("whole/journal.jsonl"));
  for (const std::string round : {"0", "1", "2"}) {
    const std::string cut = "cut" + round;
    const std::string mark = "\"type\":\"ledger\",\"body\":{\"acquisition\":" + round;
    const std::size_t ledger = lines.rfind('\n', lines.find(mark)) + 1;
    ASSERT_EQ(run(cut, round), 0);
    folder_.file(cut + "/journal.jsonl", lines.substr(0, ledger));
    fs::remove_all(folder_.path(cut + "/rounds/0" + round));
    std::string metrics = content(folder_.path(cut + "/metrics.jsonl"));
    metrics.erase(metrics.rfind('\n', metrics.size() - 2) + 1);  // the last line
    folder_.file(cut + "/metrics.jsonl", metrics);
    const std::string bought = content(folder_.path(cut + "/answers.bin"));

    ASSERT_EQ(run(cut, round), 0);

    EXPECT_EQ(content(folder_.path(cut + "/journal.jsonl")),
              lines.substr(0, lines.find('\n', ledger) + 1));
    EXPECT_EQ(content(folder_.path(cut + "/answers.bin")), bought);
    ASSERT_EQ(run(cut, "2"), 0);
    EXPECT_EQ(essence(cut), essence("whole")) << round;
  }
}

TEST_F(StudyProgram, FsckFindsAChangedByteAndMendsIt) {
  ASSERT_EQ(run_stap(words("run", "r")).exit_code, 0);
  const std::string run = folder_.path("r"), set = folder_.path("r/transitions.h5");
  const std::string whole = content(set);
  EXPECT_EQ(run_stap({"fsck", run}).exit_code, 0);
  std::string bad = whole;
  bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 1);
  folder_.file("r/transitions.h5", bad);

  const Finished found = run_stap({"fsck", run, "--json"}), used = run_stap(words("run", "r"));
  const Finished mended = run_stap({"fsck", run, "--repair", "--quiet"});

  EXPECT_EQ(found.exit_code, 3);
  EXPECT_TRUE(contains(found.out, "transitions.h5 is damaged")) << found.out;
  EXPECT_EQ(used.exit_code, 3);
  EXPECT_TRUE(contains(used.err, "transitions.h5 is damaged: its checksum does not fit"));
  EXPECT_EQ(mended.exit_code, 0) << mended.err;
  EXPECT_TRUE(contains(mended.out, "rebuilt: by walking the run again")) << mended.out;
  EXPECT_EQ(content(set), whole);
  EXPECT_EQ(run_stap({"fsck", folder_.path("nothing")}).exit_code, 3);
  const Finished ledgers = run_stap({"journal", "print", run, "--type", "ledger"});
  EXPECT_EQ(std::ranges::count(ledgers.out, '\n'), 3);
  const Finished slip = run_stap({"journal", "print", run, "--type", "ledgers"});
  EXPECT_EQ(slip.exit_code, 2);
  EXPECT_TRUE(contains(slip.err, "did you mean 'ledger'?"));
}

// Broken by: a run that is damaged because its pool and test set are only being made.
TEST_F(StudyProgram, FsckKnowsRunsThatHaveNotBegun) {
  ASSERT_EQ(run_stap(words("run", "s/begun")).exit_code, 0);
  std::filesystem::create_directory(folder_.path("s/soon"));
  folder_.file("s/sweep.json",
               seal_json("{\"format\":\"sweep/2\",\"runs\":[\"begun\",\"soon\"]}\n"));
  folder_.file("s/soon/status.json", content(folder_.path("s/begun/status.json")));

  const Finished found = run_stap({"fsck", folder_.path("s")});
  folder_.file("s/soon/journal.jsonl", "");
  const Finished lost = run_stap({"fsck", folder_.path("s")});

  EXPECT_EQ(found.exit_code, 0) << found.out << found.err;
  EXPECT_TRUE(contains(found.out, "1 of its 2 runs are missing"));
  EXPECT_EQ(lost.exit_code, 3) << lost.out;
}

// Mutation: the name of the folder without the settings, or with the number of rounds.
TEST_F(StudyProgram, WithoutAFolderTheSameCommandContinuesInTheSameOne) {
  const auto folders = [&](const std::vector<std::string>& more) {
    std::vector<std::string> command = words("run", "", more);
    command.resize(command.size() - 2);  // --out
    command.insert(command.begin(), STAP_TEST_PROGRAM);
    const Finished run = run_process(command, "", [&] { fs::current_path(folder_.path()); });
    EXPECT_EQ(run.exit_code, 0) << run.err;
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      if (const std::string name = entry.path().filename(); name.starts_with("demo-"))
        names.insert(name);
    EXPECT_TRUE(std::ranges::any_of(
        names, [&](const std::string& name) { return contains(run.err, "folder: " + name); }));
    return names;
  };

  const auto first = folders({"seed=1"}), more_rounds = folders({"seed=1", "rounds=3"}),
             other = folders({"seed=2"});

  ASSERT_EQ(first.size(), 1u);
  EXPECT_TRUE(first.begin()->starts_with("demo-sbal+stap-1-")) << *first.begin();
  EXPECT_EQ(more_rounds, first);
  EXPECT_EQ(other.size(), 2u);
}

TEST_F(StudyProgram, RefusesAFolderOfAnotherConfigurationOrFormat) {
  ASSERT_EQ(run_stap(words("run", "r")).exit_code, 0);

  const Finished other = run_stap(words("run", "r", {"seed=1"}));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_TRUE(contains(other.err, "study.seed: 1 in this command, 0 in "));

  const std::string config = content(folder_.path("r/config.yaml"));
  test::change_sealed(folder_.path("r/config.yaml"), "run/3", "run/9");
  EXPECT_EQ(run_stap(words("run", "r")).exit_code, 3);
  EXPECT_EQ(run_stap({"table", folder_.path("r")}).exit_code, 3);
  folder_.file("r/config.yaml", config);
  test::change_sealed(folder_.path("r/config.yaml"), "run/3", "run/1");
  const Finished old = run_stap(words("run", "r"));
  EXPECT_EQ(old.exit_code, 3);
  EXPECT_TRUE(contains(old.err, "run/1, expected run/3: an earlier version of stap made it"));
  EXPECT_EQ(run_stap({"table", folder_.path("r")}).exit_code, 3);
  folder_.file("r/config.yaml", "{damaged");
  EXPECT_EQ(run_stap(words("run", "r")).exit_code, 3);
  fs::create_directory(folder_.path("mine"));
  folder_.file("mine/thesis.tex", "text");
  EXPECT_EQ(run_stap(words("run", "mine")).exit_code, 2);
  EXPECT_FALSE(fs::exists(folder_.path("mine/journal.jsonl")));
  EXPECT_EQ(run_stap({"table", folder_.path("nowhere")}).exit_code, 3);
}

// Mutation: to look when pool and test set are made, which may take days.
TEST_F(StudyProgram, AFolderThatCannotBeWrittenIsNoticedBeforeAnythingIsSolved) {
  std::vector<std::string> nowhere = words("run", "r"), all = words("run", "r");
  nowhere.back() = "/proc/none";

  const Finished refused = run_stap(nowhere);
  const bool solved = fs::exists(folder_.path("cache"));
  const Finished done = run_stap(all);

  EXPECT_EQ(refused.exit_code, 6) << refused.err;
  EXPECT_TRUE(contains(refused.err, "cannot make /proc/none"));
  EXPECT_FALSE(solved);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_TRUE(fs::exists(folder_.path("cache")));  // or nothing would have been seen above
}

TEST_F(StudyProgram, BadInputIsExitCode2) {
  auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
    const Finished result = run_stap(words("run", "bad", more));
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_TRUE(contains(result.err, part));
    EXPECT_FALSE(fs::exists(folder_.path("bad")));
  };

  refused({"budget=0"}, "study.budget");
  refused({"study.initial=41"}, "the pool has 40");
  refused({"method=qbc", "members=1"}, "at least 2");
  refused({"method=sbal+stab"}, "did you mean 'stap'?");
  refused({"--stop-after", "soon"}, "--stop-after");
  refused({"--stop-after", ""}, "--stop-after");  // "$UNSET" is no "never"
  refused({"--notice", "nan"}, "--notice");
  refused({"--device", "cpu,cuda:0"}, "--device 'cpu,cuda:0'");
  refused({"--device", "cpu,cpu"}, "only 'stap sweep' spreads its runs");
  EXPECT_EQ(run_stap({"run", "dmeo", "--out", folder_.path("x")}).exit_code, 2);
  EXPECT_EQ(run_stap({"sweep", "demo", "--grid", "seed", "--out", folder_.path("x")}).exit_code, 2);
  const Finished queue = run_stap({"queue", folder_.path("x")});
  EXPECT_EQ(queue.exit_code, 3);
  EXPECT_TRUE(contains(queue.err, "there is no run in")) << queue.err;
}

// Where a scheduler, or who imitates one, says what cannot be.
TEST_F(StudyProgram, ATaskThatIsOfNoWholeArrayHasNoShard) {
  const auto code = [&](const char* task, const char* first, const char* last, const char* count) {
    const ScopedVariable id("SLURM_ARRAY_TASK_ID", task), low("SLURM_ARRAY_TASK_MIN", first),
        high("SLURM_ARRAY_TASK_MAX", last), all("SLURM_ARRAY_TASK_COUNT", count);
    return run_stap(words("sweep", "a", {"--grid", "seed=0,1", "--shard", "auto"})).exit_code;
  };
  EXPECT_EQ(code("9", "0", "5", "6"), 2);  // would do nothing and say that it is finished
  EXPECT_EQ(code("3", "3", "3", "2"), 2);  // a division by 0
  EXPECT_EQ(code("3", "3", "3", "0"), 2);
  EXPECT_FALSE(fs::exists(folder_.path("a")));
}

TEST_F(StudyProgram, ARunFolderAndASettledStudyAreConfigurations) {
  ASSERT_EQ(run_stap(words("run", "a", {"method=random", "seed=1"})).exit_code, 0);
  const std::string study = folder_.file(
      "study.yaml", "extends: a/config.yaml\nsweep: {method: [random, qbc], seed: 0..2}\n");
  const auto again = [&](const std::vector<std::string>& command, const std::string& out) {
    std::vector<std::string> list = command;
    list.insert(list.end(), {"--out", folder_.path(out)});
    const Finished result = run_stap(list);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return essence(out);
  };

  EXPECT_TRUE(again({"run", folder_.path("a")}, "b") == essence("a"));
  EXPECT_TRUE(again({"run", study, "method=random", "seed=1"}, "c") == essence("a"));
  const Finished open = run_stap({"run", study, "seed=1", "--out", folder_.path("d")});
  EXPECT_EQ(open.exit_code, 2);
  EXPECT_TRUE(
      contains(open.err, "settle method (2 values), as in method=random, or use 'stap sweep"));
}

// `run` and `check` say the same.
TEST_F(StudyProgram, MethodsThatDoNotFitTheStudyAreExitCode2) {
  auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
    std::vector<std::string> check{"check", "demo"};
    check.insert(check.end(), more.begin(), more.end());
    for (const Finished& result : {run_stap(words("run", "bad", more)), run_stap(check)}) {
      EXPECT_EQ(result.exit_code, 2) << result.err;
      EXPECT_TRUE(contains(result.err, part));
    }
    EXPECT_FALSE(fs::exists(folder_.path("bad")));
  };

  for (const char* method : {"qbc", "sbal", "random+stap", "random+stap-mf", "random+exact"})
    refused({std::string("method=") + method, "members=1"},
            std::string("study.members is 1, but ") + method +
                " compares members: at least 2 are needed");
  refused({"method=random+exact", "study.steps=26"},
          "study.steps is 26, but random+exact takes at most 16 steps: choose stap instead");
  for (const char* steps : {"bernoulli", "initial-bernoulli"})
    for (const char* p : {"0", "-0.25", "1.5"})
      refused({std::string("method=random+") + steps + "(p=" + p + ")"},
              std::string("steps.p is ") + p);
  refused({"method=qbc(exponent=2)"}, "base.exponent is not known");
}

// Three initial conditions are left after the initial ones: the pool runs dry in the first round.
TEST_F(StudyProgram, AnEmptyPoolIsReportedAndEndsTheRound) {
  const Finished result = run_stap(words("run", "dry", {"pool=6", "budget=100", "method=random"}));

  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "no candidate is left to choose"));
}

TEST_F(StudyProgram, TwoProcessesInOneFolderAreRefused) {
  const pid_t first = start_stap(words("run", "r", {"train.epochs=400", "--quiet"}));
  EXPECT_TRUE(eventually([&] { return fs::exists(folder_.path("r/config.yaml")); }, kLongest));

  const Finished second = run_stap(words("run", "r", {"train.epochs=400"}));
  const Finished unlocked = run_stap({"unlock", folder_.path("r"), "--force"});
  kill(first, SIGKILL);
  test::wait_for(first);

  EXPECT_EQ(second.exit_code, 6);
  EXPECT_TRUE(contains(second.err, "in use by process " + std::to_string(first) + " on "));
  EXPECT_EQ(unlocked.exit_code, 6);
  const Finished later = run_stap({"unlock", folder_.path("r")});
  EXPECT_EQ(later.exit_code, 0);
  EXPECT_TRUE(contains(later.out, "which is gone"));
}

TEST_F(StudyProgram, TableComparesMethodsPairedBySeed) {
  ASSERT_EQ(run_stap(words("sweep", "s", {"--grid", "method=sbal,random", "--grid", "seed=0,1,2"}))
                .exit_code,
            0);

  const Finished text = run_stap({"table", folder_.path("s")});
  const Finished result = run_stap({"table", folder_.path("s"), "--baseline", "random", "--json"});

  EXPECT_LT(text.out.find("sbal"), text.out.find("random"));  // the order of the grid
  const json table = json::parse(result.out);
  ASSERT_EQ(table.at("rows").size(), 2u);
  const json& random = table["rows"][0];
  const json& sbal = table["rows"][1];
  EXPECT_EQ(random.at("label"), "random");
  EXPECT_EQ(sbal.at("difference_pairs"), 3);
  // The paired difference is the difference of the means; computed here from the runs themselves.
  double mean[2] = {0, 0}, of_seed[2][3] = {};
  for (int seed = 0; seed < 3; ++seed)
    for (int m = 0; m < 2; ++m) {
      std::istringstream lines(
          content(folder_.path("s/method=" + std::string(m == 0 ? "random" : "sbal") +
                               ",seed=" + std::to_string(seed) + "/metrics.jsonl")));
      for (std::string line; std::getline(lines, line);)
        of_seed[m][seed] += std::log(json::parse(line).at("rmse").get<double>()) / 3;
      mean[m] += of_seed[m][seed] / 3;
    }
  EXPECT_NEAR(random.at("log_rmse_mean").get<double>(), mean[0], 1e-12);
  EXPECT_NEAR(sbal.at("difference_mean").get<double>(), mean[1] - mean[0], 1e-12);
  const json& by_seed = sbal.at("metrics").at("rmse").at("log_by_seed");
  ASSERT_EQ(by_seed.size(), 3u);
  for (int seed = 0; seed < 3; ++seed)
    EXPECT_NEAR(by_seed[static_cast<std::size_t>(seed)].get<double>(), of_seed[1][seed], 1e-12);
  EXPECT_EQ(run_stap({"table", folder_.path("s"), "--baseline", "sbla"}).exit_code, 2);
}

TEST_F(StudyProgram, CudaWithoutAGpuIsExitCode5) {
  if (cuda_problem().empty()) GTEST_SKIP() << "there is a GPU";

  const Finished asked = run_stap(words("run", "r", {"--device", "cuda"}));
  const Finished in_config = run_stap(words("run", "r", {"device=cuda"}));
  const Finished misspelt = run_stap(words("run", "r", {"--device", "gpu"}));

  EXPECT_EQ(asked.exit_code, 5);
  EXPECT_TRUE(contains(asked.err, "cuda")) << asked.err;
  EXPECT_EQ(in_config.exit_code, 5);
  EXPECT_FALSE(fs::exists(folder_.path("r")));
  EXPECT_EQ(misspelt.exit_code, 2);
  // A configuration for another machine is a good one all the same.
  const Finished checked = run_stap({"check", "demo", "device=cuda"});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_TRUE(contains(checked.err, "device cuda")) << checked.err;
}

// Where a run is computed is no part of what it computes.
TEST_F(StudyProgram, ContinuesOnAnotherDevice) {
  ASSERT_EQ(run_stap(words("run", "r", {"device=cpu"})).exit_code, 0);

  EXPECT_EQ(run_stap(words("run", "r", {"device=auto", "precision=fp32"})).exit_code, 0);
}

}  // namespace
}  // namespace stap::test
