#include "stap/folder/claim.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>

#include "stap/core/error.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;
using test::content;
using test::error_text;
using test::TemporaryFolder;

Value document(int rounds = 2, int seed = 0, const char* device = "cpu") {
  Value study, compute, whole;
  study.set("rounds", rounds);
  study.set("seed", seed);
  compute.set("device", device);
  whole.set("study", study);
  whole.set("compute", compute);
  return whole;
}

Manifest manifest(const char* pool = "aa", const char* pool_file = "") {
  Manifest m = this_machine();
  m.device = "cpu";
  m.solver = "burgers";
  m.identity.set("name", "burgers");
  m.identity.set("pool_sha256", pool);
  if (*pool_file != 0) m.identity.set("pool_file", pool_file);
  return m;
}

class Listener : public Observer {
 public:
  void warning(std::string_view text) override { warnings += std::string(text) + "\n"; }
  std::string warnings;
};

class ClaimTest : public ::testing::Test {
 protected:
  std::string path() const { return folder_.path("run"); }
  ClaimedFolder claimed(const Value& config = document(), const Manifest& of = manifest()) {
    return claim(RunFolder(path()), config, of, listener_);
  }
  // Every file below the run's folder with its content.
  std::string all() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(path()))
      files[entry.path().string()] = entry.is_regular_file() ? content(entry.path()) : "";
    std::string text;
    for (const auto& [name, bytes] : files) text += name + "\n" + bytes + "\n";
    return text;
  }
  static void expect_says(const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }

  TemporaryFolder folder_;
  Listener listener_;
};

TEST_F(ClaimTest, MakesAFolderAndOpensItAgain) {
  { const ClaimedFolder first = claimed(); }

  const ClaimedFolder again = claimed();

  EXPECT_EQ(again.folder.read_config(), document());
  EXPECT_EQ(identity_text(again.folder.read_manifest(), "name"), "burgers");
  EXPECT_EQ(again.ledgers, 0u);
  EXPECT_EQ(listener_.warnings, "");
  expect_says(error_text(ErrorKind::storage, [&] { claimed(); }), "in use");
}

TEST_F(ClaimTest, CountsLedgers) {
  {
    ClaimedFolder first = claimed();
    first.log.note("ledger", to_value(0, {}));
    first.log.note("ledger", to_value(1, {}));
  }
  EXPECT_EQ(claimed().ledgers, 2u);
  {
    ClaimedFolder twice = claimed();
    twice.log.note("ledger", to_value(1, {}));
  }
  expect_says(error_text(ErrorKind::data, [&] { claimed(); }), "journal.jsonl, line 4");
}

TEST_F(ClaimTest, OtherConfigurationsAreRefusedWithTheDifferences) {
  { claimed(); }
  const std::string before = all();

  const std::string message = error_text(ErrorKind::config, [&] { claimed(document(1, 5)); });
  expect_says(message, "study.rounds: 1 in this command, 2 in ");
  expect_says(message, "study.seed: 5 in this command, 0 in ");
  // More rounds do not excuse the rest.
  expect_says(error_text(ErrorKind::config, [&] { claimed(document(3, 5)); }),
              "study.seed: 5 in this command, 0 in ");

  EXPECT_EQ(all(), before);
  EXPECT_NO_THROW(claimed(document(2, 0, "cuda")));
  EXPECT_EQ(all(), before);
}

TEST_F(ClaimTest, RoundsMayBeRaised) {
  { claimed(); }

  ClaimedFolder more = claimed(document(5));

  EXPECT_EQ(more.folder.read_config(), document(2));
  ASSERT_TRUE(more.raised);
  raise_rounds(more.folder, more.log, *more.raised);
  EXPECT_EQ(more.folder.read_config(), document(5));
}

// A mutation that compares documents as they are refuses the second line; one that writes the whole
// new document when rounds are raised gives the run another name.
TEST_F(ClaimTest, OptionsThatCameLaterCountWithTheirDefaults) {
  const Value now = make_study(load_config("demo")).effective;
  Value before = now;
  before.find("train")->erase("noise");
  const std::string run = claimed(before).folder.run();

  EXPECT_EQ(claimed(now).folder.run(), run);
  Value more = now;
  more.find("study")->set("rounds", 50);
  {
    ClaimedFolder raised = claimed(more);
    raise_rounds(raised.folder, raised.log, *raised.raised);
    EXPECT_EQ(raised.folder.run(), run);
  }
  EXPECT_EQ(RunFolder(path()).run(), run);
  EXPECT_EQ(RunFolder(path()).read_config().find("train")->find("noise"), nullptr);

  Value other = more;
  other.find("train")->set("noise", 0.1);
  expect_says(error_text(ErrorKind::config, [&] { claimed(other); }),
              "train.noise: 0.1 in this command, 0.0 in ");
}

TEST_F(ClaimTest, AnEarlierVersionIsNotContinued) {
  { claimed(); }
  folder_.file("run/config.yaml", "format: run/2\nstudy: {rounds: 2}\n");
  const std::string before = all();

  expect_says(error_text(ErrorKind::data, [&] { claimed(); }),
              "has the format run/2, expected run/3: an earlier version of stap made it");

  EXPECT_EQ(all(), before);
}

// The same problem from another place is the same problem.
TEST_F(ClaimTest, AnotherProblemIsRefused) {
  { claimed(document(), manifest("aa", "there.h5")); }

  EXPECT_NO_THROW(claimed(document(), manifest("aa", "elsewhere.h5")));
  expect_says(error_text(ErrorKind::data, [&] { claimed(document(), manifest("bb")); }),
              "pool_sha256: \"bb\" in this command, \"aa\" in ");
}

TEST_F(ClaimTest, WarnsOfAnotherInstructionSetOrDevice) {
  { claimed(); }
  Manifest other = manifest();
  other.device = "cuda";
  other.instruction_set = "none";

  claimed(document(), other);

  expect_says(listener_.warnings, "was begun on cpu, this is cuda");
  expect_says(listener_.warnings, "this is none");
}

// Whatever a kill while the folder was made may leave is no reason to refuse.
TEST_F(ClaimTest, GoesOnAfterAKillWhileTheFolderWasMade) {
  std::string whole;
  {
    claimed();
    whole = all();
  }
  const std::string name = "run/";
  const auto put = [&](const std::vector<std::pair<const char*, std::string>>& files) {
    fs::remove_all(path());
    fs::create_directories(path());
    for (const auto& [file, text] : files) folder_.file(name + file, text);
  };
  const std::string header = "stap answers/1 \n";
  put({});
  EXPECT_NO_THROW(claimed());
  // While its data were made, or a power cut then.
  RunFolder(path()).write_status({.phase = "data"});
  const std::string status = content(path() + "/status.json");
  put({{"status.json", status}, {"status.json.tmp-12-0", status.substr(0, 9)}});
  EXPECT_NO_THROW(claimed());
  put({{"status.json", ""}});
  EXPECT_NO_THROW(claimed());
  put({{"journal.jsonl", ""}});
  EXPECT_NO_THROW(claimed());
  put({{"journal.jsonl", ""}, {"answers.bin", header.substr(0, 5)}});
  EXPECT_NO_THROW(claimed());
  put({{"journal.jsonl", ""}, {"answers.bin", header}, {"manifest.json.tmp-12-0", "{"}});
  fs::create_directory(path() + "/rounds");
  EXPECT_NO_THROW(claimed());
  const std::string manifest_text = content(path() + "/manifest.json");
  const std::string head = content(path() + "/journal.jsonl");
  put({{"journal.jsonl", head.substr(0, 40)}, {"answers.bin", header}});
  EXPECT_NO_THROW(claimed());
  put({{"journal.jsonl", head}, {"answers.bin", header}});
  EXPECT_NO_THROW(claimed(document(7)));  // not the run that it was to be
  put({{"journal.jsonl", head},
       {"answers.bin", header},
       {"manifest.json", manifest_text},
       {"config.yaml.tmp-12-1", "form"}});
  EXPECT_NO_THROW(claimed());
  EXPECT_EQ(all(), whole);
}

// Users' own files of the same names included.
TEST_F(ClaimTest, FoldersOfOtherThingsAreNotTouched) {
  const auto foreign = [&](const char* name, const std::string& text) {
    fs::remove_all(path());
    fs::create_directories(path());
    folder_.file(std::string("run/") + name, text);
    const std::string before = all();
    expect_says(error_text(ErrorKind::config, [&] { claimed(); }),
                std::string("holds ") + name + " and no run");
    EXPECT_EQ(all(), before) << name;
  };

  foreign("thesis.tex", "text");
  foreign("journal.jsonl", "dear diary");
  foreign("answers.bin", "to all of my questions");
  foreign("manifest.json", "{\"workers\": \"of the world\"}");
  foreign("status.json", "{\"format\": \"mine\"}");
  foreign("rounds", "of a boxing match");
  foreign("transitions.h5", "");
  foreign("notes.tmp-1-2", "");
  foreign("thesis.tex.tmp-1-2", "");
  fs::remove_all(path());
  fs::create_directories(path());
  folder_.file("mine", "");
  fs::create_symlink(folder_.path("mine"), path() + "/journal.jsonl");
  error_text(ErrorKind::config, [&] { claimed(); });
  fs::remove_all(path());
  folder_.file("run", "a file");
  expect_says(error_text(ErrorKind::config, [&] { claimed(); }), "is a file");
}

TEST_F(ClaimTest, AFolderThatCannotBeLookedIntoIsAStorageError) {
  fs::create_symlink("run", path());  // a link to itself

  error_text(ErrorKind::storage, [&] { claimed(); });
}

TEST_F(ClaimTest, RemovesOnlyItsOwnLeftovers) {
  { claimed(); }
  fs::create_directories(path() + "/rounds/03");
  fs::create_directories(path() + "/figures");
  const char* ours[] = {"transitions.h5.tmp-9-1", "rounds/03/plan-2.json.tmp-9-2",
                        "rounds/03/committee.safetensors.tmp-10-0", "metrics.jsonl.tmp-1-1"};
  const char* theirs[] = {"notes.tmp-9-1", "transitions.h5.tmp-backup", "figures/plan.json.tmp-1-1",
                          "rounds/03/mine.tmp-1-1"};
  for (const char* name : ours) folder_.file(std::string("run/") + name, "");
  for (const char* name : theirs) folder_.file(std::string("run/") + name, "");

  claimed();

  for (const char* name : ours) EXPECT_FALSE(fs::exists(path() + "/" + name)) << name;
  for (const char* name : theirs) EXPECT_TRUE(fs::exists(path() + "/" + name)) << name;
}

TEST_F(ClaimTest, CutsLinesThatAKillHasTorn) {
  {
    const ClaimedFolder first = claimed();
    first.folder.add_timing({0, "train", 1.0});
  }
  append_lines(path() + "/timings.jsonl", "{\"round\":");

  const ClaimedFolder again = claimed();
  again.folder.add_timing({1, "train", 2.0});

  const auto timings = again.folder.read_timings();
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_EQ(timings[1].round, 1u);
}

TEST_F(ClaimTest, ARunWithoutItsJournalOrAnswersIsDamaged) {
  {
    ClaimedFolder first = claimed();
    first.log.append(0, {.status = Answer::Status::ok, .state = {1.0}});
    first.log.commit();
  }
  folder_.file("run/transitions.h5", "anything");
  for (const char* name : {"journal.jsonl", "answers.bin"})
    for (const bool empty : {true, false}) {
      const std::string file = path() + "/" + name, kept = content(file);
      const std::string other = path() + (name[0] == 'j' ? "/answers.bin" : "/journal.jsonl");
      const std::string untouched = content(other);
      if (empty)
        fs::resize_file(file, 0);
      else
        fs::remove(file);

      expect_says(error_text(ErrorKind::data, [&] { claimed(); }), file);

      EXPECT_EQ(content(other), untouched);
      folder_.file(std::string("run/") + name, kept);
    }
  EXPECT_NO_THROW(claimed());
}

TEST_F(ClaimTest, AJournalOfAnotherRunIsRefused) {
  { claimed(document(2, 1)); }
  const std::string journal = content(path() + "/journal.jsonl");
  fs::remove_all(path());
  { claimed(); }
  folder_.file("run/journal.jsonl", journal);

  expect_says(error_text(ErrorKind::data, [&] { claimed(); }), "has replaced another");
}

// A power cut that kept the journal's part of a commit and lost the store's.
TEST_F(ClaimTest, SaysThatAnswersWereLostInAPowerCut) {
  {
    ClaimedFolder first = claimed();
    first.log.append(0, {.status = Answer::Status::ok, .state = {1.0}});
    first.log.commit();
  }
  fs::resize_file(path() + "/answers.bin", 20);

  claimed();

  expect_says(listener_.warnings, "1 answers of the last commit");
}

}  // namespace
}  // namespace stap
