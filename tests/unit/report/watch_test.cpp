#include "stap/report/watch.h"

#include <gtest/gtest.h>

#include "stap/folder/run_folder.h"
#include "stap/folder/sweep_folder.h"
#include "support/contains.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

constexpr double kNow = 1000.0;

// Round 0 of two is done, and the training of round 1, which took twice as long as the first.
LiveRun run_at(const char* phase) {
  LiveRun run{.name = "r", .state = LiveRun::State::working};
  run.status = {.phase = phase, .round = 1, .rounds = 2, .since = kNow, .host = "n1", .process = 7};
  run.status.time = kNow;
  run.timings = {{0, "train", 4},  {0, "train", 6},   {0, "evaluate", 1}, {0, "select", 2},
                 {0, "score", 99}, {0, "acquire", 5}, {1, "train", 20}};
  return run;
}
double left_of(LiveRun run) {
  estimate_time_left({&run, 1}, kNow);
  return run.seconds_left.value_or(-1);
}

// Training grows along a line (10, 20, so 30); nothing is bought after the last evaluation. Broken
// by: a part of a phase that is counted as one (score), a phase of the last round that is not.
TEST(TimeLeft, IsWhatTheSamePhasesTookBefore) {
  EXPECT_DOUBLE_EQ(left_of(run_at("evaluate")), 1 + 2 + 5 + 30 + 1);
  LiveRun begun = run_at("evaluate");
  begun.status.since = kNow - 0.25;
  EXPECT_DOUBLE_EQ(left_of(begun), 0.75 + 2 + 5 + 30 + 1);
  LiveRun late = run_at("evaluate");
  late.status.since = kNow - 100;
  EXPECT_DOUBLE_EQ(left_of(late), 2 + 5 + 30 + 1);
  LiveRun last = run_at("evaluate");
  last.status.round = 2;
  EXPECT_DOUBLE_EQ(left_of(last), 1);
}

TEST(TimeLeft, OfAPurchaseIsByItsPace) {
  LiveRun run = run_at("acquire");
  run.status.budget = 100;
  run.status.spent = 30;
  run.status.since = kNow - 10;
  run.status.since_done = 10;  // by an earlier process: 20 in 10 s since
  EXPECT_DOUBLE_EQ(left_of(run), 35 + 30 + 1);
  run.status.spent = 10;  // nothing yet: as in the round before
  run.status.since = kNow;
  EXPECT_DOUBLE_EQ(left_of(run), 5 + 30 + 1);

  LiveRun training = run_at("train");
  training.timings.pop_back();
  training.status.epochs = 40;
  training.status.epochs_done = 10;
  training.status.since = kNow - 5;
  EXPECT_DOUBLE_EQ(left_of(training), 15 + 1 + 2 + 5 + 10 + 1);
}

// Two that buy side by side each have half of the time; a run of another process has its own.
TEST(TimeLeft, RunsOfAProcessEndTogether) {
  std::vector<LiveRun> runs(3, run_at("acquire"));
  for (LiveRun& run : runs) {
    run.status.budget = 10;
    run.status.spent = 5;
    run.status.since = kNow - 10;
  }
  runs[2].status.process = 8;

  estimate_time_left(runs, kNow);

  EXPECT_DOUBLE_EQ(runs[0].seconds_left.value(), 10 + 2 * (30 + 1));
  EXPECT_EQ(runs[1].seconds_left, runs[0].seconds_left);
  EXPECT_DOUBLE_EQ(runs[2].seconds_left.value(), 10 + 30 + 1);
}

TEST(TimeLeft, IsUnknownWhereAPhaseWasNeverTimed) {
  LiveRun first = run_at("train");
  first.timings.clear();
  EXPECT_EQ(left_of(first), -1);
  // The other runs of the folder know; one that is dead needs nothing.
  std::vector<LiveRun> runs{first, run_at("evaluate")};
  runs[1].state = LiveRun::State::dead;
  estimate_time_left(runs, kNow);
  EXPECT_DOUBLE_EQ(runs[0].seconds_left.value_or(-1), 20 + 1 + 2 + 5 + 30 + 1);
  EXPECT_FALSE(runs[1].seconds_left);
}

// In the first round nothing was timed, but what is under way has a pace; runs that train together
// end it together.
TEST(TimeLeft, OfThePhaseIsKnownInTheFirstRound) {
  std::vector<LiveRun> runs(2, run_at("train"));
  for (LiveRun& run : runs) {
    run.timings.clear();
    run.status.round = 0;
    run.status.epochs = 40;
    run.status.since = kNow - 5;
  }
  runs[0].status.epochs_done = 10;

  estimate_time_left(runs, kNow + 2);

  for (const LiveRun& run : runs) {
    EXPECT_FALSE(run.seconds_left);
    EXPECT_DOUBLE_EQ(run.phase_seconds_left.value_or(-1), 15 - 2);
  }
}

// Of five rounds, the 0th among them, that are trained and bought for: eleven halves. Mutation:
// what is evaluated has done less than what is trained.
TEST(ShareDone, GrowsWithRoundsAndPhases) {
  std::vector<LiveRun> runs(2);
  runs[1].status.phase = "done";
  RunStatus& status = runs[0].status;
  status.rounds = 5;
  const auto share = [&](const char* phase, std::size_t round) {
    status.phase = phase;
    status.round = round;
    return 2 * share_done(runs) - 1;
  };

  EXPECT_DOUBLE_EQ(share("initial", 0), 0);
  status.epochs = 40;
  status.epochs_done = 10;
  EXPECT_NEAR(share("train", 2), 4.25 / 11, 1e-12);
  status.epochs = status.epochs_done = 0;
  EXPECT_NEAR(share("evaluate", 2), 5.0 / 11, 1e-12);
  status.budget = 8;
  status.spent = 6;
  EXPECT_NEAR(share("acquire", 2), 5.75 / 11, 1e-12);
  EXPECT_NEAR(share("evaluate", 5), 1, 1e-12);
  EXPECT_EQ(share_done({}), 0);
  // The last to end decides; of one that works and does not know nothing is said.
  runs[0].state = LiveRun::State::working;
  EXPECT_FALSE(seconds_left(runs).has_value());
  runs[0].seconds_left = 30;
  runs[1].seconds_left = 99;  // it has ended
  EXPECT_EQ(seconds_left(runs), std::optional(30.0));
}

TEST(LookAtLive, AFolderThatIsGoneOrDamagedIsSaidToBe) {
  const test::TemporaryFolder folder;
  folder.file("sweep.json", "{\"format\": ");

  const LiveFolder damaged = look_at_live(folder.path(), kNow);
  const LiveFolder gone = look_at_live(folder.path("nowhere"), kNow);

  EXPECT_TRUE(test::contains(damaged.error, "sweep.json"));
  EXPECT_FALSE(gone.error.empty());
  EXPECT_FALSE(gone.ended || damaged.ended);
}

// Data may take days to make, and a run has no other file until then.
TEST(LookAtLive, SaysThatPoolAndTestSetAreMade) {
  const test::TemporaryFolder folder;
  write_sweep(folder.path(), {{"a", {}}, {"b", {}}, {"c", {}}}, false);
  for (const char* name : {"a", "b", "c"}) std::filesystem::create_directory(folder.path(name));
  const std::string before = files_seen(folder.path());
  RunFolder(folder.path("a")).write_status({.phase = "data", .budget = 80, .spent = 20});
  folder.file("c/status.json", "");  // as a power cut may leave it

  const LiveFolder sweep = look_at_live(folder.path(), kNow);
  const LiveFolder single = look_at_live(folder.path("a"), kNow);

  ASSERT_EQ(sweep.runs.size(), 3u) << sweep.error;
  EXPECT_EQ(sweep.runs[0].state, LiveRun::State::working);
  EXPECT_TRUE(test::contains(sweep.runs[0].words, "making pool and test set (process "));
  EXPECT_EQ(sweep.runs[0].status.spent, 20u);
  EXPECT_FALSE(sweep.runs[0].seconds_left);
  for (std::size_t r : {1, 2}) {
    EXPECT_EQ(sweep.runs[r].state, LiveRun::State::not_begun);
    EXPECT_EQ(sweep.runs[r].words, "not started");
  }
  EXPECT_FALSE(sweep.ended);
  ASSERT_EQ(single.runs.size(), 1u) << single.error;
  EXPECT_EQ(single.runs[0].words, sweep.runs[0].words);
  EXPECT_NE(files_seen(folder.path()), before);
}

TEST(LookAtLive, StatusKeepsWhatEstimatesNeed) {
  const test::TemporaryFolder folder;
  const RunFolder run(folder.path());

  run.write_status({.phase = "train",
                    .since = 5.5,
                    .since_done = 3,
                    .epochs = 8,
                    .epochs_done = 4,
                    .usual = 0.25,
                    .shares = "a"});

  const RunStatus back = run.read_status().value();
  EXPECT_EQ(back.since, 5.5);
  EXPECT_EQ(back.since_done, 3u);
  EXPECT_EQ(back.epochs, 8u);
  EXPECT_EQ(back.epochs_done, 4u);
  EXPECT_EQ(back.usual, 0.25);
  EXPECT_EQ(back.shares, "a");
}

}  // namespace
}  // namespace stap
