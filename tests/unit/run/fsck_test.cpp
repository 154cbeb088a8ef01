// Damage of run folders: that it is found, whatever the byte, and what becomes of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "stap/core/error.h"
#include "stap/folder/fsck.h"
#include "stap/nn/model_file.h"
#include "stap/run/repair.h"
#include "stap/run/sweep.h"
#include "stap/study/presets.h"
#include "stap/study/study.h"
#include "support/contains.h"
#include "support/environment.h"
#include "support/older_models.h"
#include "support/refusals.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::content;
using test::ScopedVariable;
using test::TemporaryFolder;

// A run whose folder is below 64 kB: a byte can be changed at every place of it.
config::Value small_document() {
  config::Value document = load_config("demo");
  for (const char* setting :
       {"pde.points=16", "network.modes=[2]", "network.width=4", "network.lifting=4",
        "network.projection=4", "network.layers=1", "train.epochs=2", "checkpoint_epochs=1",
        "study.steps=3", "pool=6", "test=2", "study.initial=1", "rounds=1", "budget=4",
        "study.members=2", "seed=1"})
    apply_setting(document, setting);
  return make_study(document).effective;
}

class FsckTest : public ::testing::Test {
 protected:
  std::string path(const std::string& file = "") const { return folder_.path("run/" + file); }
  void run(const config::Value& document = small_document()) {
    Observer quiet;
    ASSERT_EQ(drive({{"", document}}, path(), 1, quiet, {}), LoopEnd::finished);
  }
  // Every file that something is computed from, by its name in the folder.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(path()))
      if (const std::string name = entry.path().filename().string();
          entry.is_regular_file() && name != "timings.jsonl" && name != "status.json" &&
          !name.starts_with("lock") && name != "reserve")
        all[entry.path().lexically_relative(path()).string()] = content(entry.path());
    return all;
  }
  bool good() const { return std::ranges::all_of(check_run(RunFolder(path())), &FileState::good); }
  fs::path cached() const { return fs::directory_iterator(folder_.path("cache"))->path(); }
  // Changes a bit of every so many bytes of a file, one at a time, and of those at its ends, where
  // headers and seals are; each time `is_good` must say no.
  static void change_bytes(const fs::path& file, std::size_t stride,
                           const std::function<bool()>& is_good) {
    const std::string whole = content(file);
    std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
    const auto put = [&](std::size_t at, char byte) {
      out.seekp(static_cast<std::streamoff>(at));
      out.put(byte).flush();
    };
    std::size_t believed = 0;
    for (std::size_t i = 0; i < whole.size() && believed < 4; ++i) {
      if (i % stride != whole.size() % stride && i >= 8 && i + 4 <= whole.size()) continue;
      put(i, static_cast<char>(whole[i] ^ (1 << (i % 8))));
      if (is_good()) {
        ++believed;
        ADD_FAILURE() << file << ": byte " << i << " of " << whole.size() << " was believed";
      }
      put(i, whole[i]);
    }
  }
  std::vector<RepairedFile> repaired() {
    Observer quiet;
    return repair_run(RunFolder(path()), 1, quiet);
  }

  TemporaryFolder folder_;
  ScopedVariable cache_{"STAP_CACHE", folder_.path("cache")};
};

// Broken by a reader that does not look at the checksum of its file, and by a checksum that leaves
// a byte out. `make test-long` changes every byte (STAP_TEST_EVERY=1), `make test` some.
TEST_F(FsckTest, NoChangeOfAByteOfARunPasses) {
  const char* every = std::getenv("STAP_TEST_EVERY");
  const std::size_t stride = every != nullptr ? std::stoul(every) : test::sanitized() ? 1999 : 401;
  run();
  ASSERT_TRUE(good());
  std::size_t bytes = 0;
  for (const auto& [name, whole] : files()) {
    bytes += whole.size();
    change_bytes(path(name), stride, [&] { return good(); });
  }
  EXPECT_TRUE(good());
  EXPECT_LT(bytes, 64u * 1024);
  const fs::path data = cached();
  const auto data_good = [&] { return std::ranges::all_of(check_data(data), &FileState::good); };
  ASSERT_TRUE(data_good());
  for (const char* name : {"pool.h5", "test.h5", "config.yaml", "journal.jsonl"})
    change_bytes(data / name, stride, data_good);
}

// Broken by a check of lines by themselves: each has its checksum.
TEST_F(FsckTest, LossesInAnotherOrderAreFoundAndRebuilt) {
  run();
  const std::string whole = content(path("losses.jsonl"));
  const std::size_t first = whole.find('\n') + 1, second = whole.find('\n', first) + 1;
  const std::string a = whole.substr(0, first), b = whole.substr(first, second - first),
                    rest = whole.substr(second);
  const std::size_t last = rest.rfind('\n', rest.size() - 2) + 1;

  for (const std::string& bad :
       {b + a + rest, a + a + b + rest, a + b + rest.substr(0, last), b + rest, std::string()}) {
    folder_.file("run/losses.jsonl", bad);
    EXPECT_FALSE(good());
  }
  ASSERT_EQ(repaired().size(), 1u);
  EXPECT_EQ(content(path("losses.jsonl")), whole);
}

// Where it was cut off they were called sound, or made without a checksum.
TEST_F(FsckTest, OfGeneratedDataConfigurationAndJournalBelongToTheFiles) {
  run();
  const fs::path data = cached();
  const auto is = [&](const char* name) {
    for (const FileState& state : check_data(data))
      if (state.file.filename() == name) return state.is;
    return FileState::Is::unsealed;
  };
  ASSERT_EQ(is("config.yaml"), FileState::Is::whole);
  ASSERT_EQ(is("journal.jsonl"), FileState::Is::whole);
  const auto put = [&](const char* name, const std::string& bytes) {
    std::ofstream(data / name, std::ios::binary) << bytes;
  };

  const std::string config = content(data / "config.yaml");
  for (std::size_t n = 0; n < config.size(); n += 7) {
    put("config.yaml", config.substr(0, n));
    EXPECT_EQ(is("config.yaml"), FileState::Is::damaged) << n;
  }
  put("config.yaml", config);
  const std::string journal = content(data / "journal.jsonl");
  for (const std::size_t n : {std::size_t{0}, journal.size() / 2}) {
    put("journal.jsonl", journal.substr(0, n));
    EXPECT_EQ(is("journal.jsonl"), FileState::Is::damaged) << n;
  }
  // A kill leaves this at the very end, and the next command goes on.
  put("answers.bin", "stap answers/1 \n");
  put("journal.jsonl", "");
  EXPECT_EQ(is("journal.jsonl"), FileState::Is::whole);
  fs::remove(data / "answers.bin");
  put("journal.jsonl", journal);
  // Of another request.
  config::Value other = small_document();
  apply_setting(other, "data_seed=9");
  Observer quiet;
  drive({{"", make_study(other).effective}}, folder_.path("other"), 1, quiet, {});
  for (const auto& entry : fs::directory_iterator(folder_.path("cache")))
    if (entry.path() != data)
      for (const char* name : {"config.yaml", "journal.jsonl", "pool.h5"}) {
        const std::string mine = content(data / name);
        put(name, content(entry.path() / name));
        EXPECT_FALSE(std::ranges::all_of(check_data(data), &FileState::good)) << name;
        put(name, mine);
      }
  fs::remove(data / "pool.h5");
  EXPECT_EQ(is("pool.h5"), FileState::Is::missing);
}

// What is rebuilt has the bytes it had. One byte of each kind of file, and the file as a whole.
TEST_F(FsckTest, RepairGivesTheSameBytes) {
  run();
  const std::map<std::string, std::string> before = files();
  ASSERT_TRUE(repaired().empty());
  for (const auto& [name, whole] : before)
    for (const bool gone : {false, true}) {
      if (gone && test::sanitized()) continue;  // it takes its time
      if (name == "journal.jsonl") continue;    // below
      std::string bad = whole;
      bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 4);
      gone ? static_cast<void>(fs::remove(path(name)))
           : static_cast<void>(folder_.file("run/" + name, bad));
      ASSERT_FALSE(good()) << name;

      const std::vector<RepairedFile> done = repaired();

      ASSERT_EQ(done.size(), 1u) << name;
      EXPECT_TRUE(done[0].rebuilt) << name << ": " << done[0].how;
      EXPECT_EQ(done[0].file, path(name));
      EXPECT_EQ(files(), before) << name << (gone ? " gone" : " changed");
    }
}

// Earlier versions kept the optimiser's moments with trained networks. Broken by: comparing such a
// file with the one that is made now byte for byte; by not comparing its weights.
TEST_F(FsckTest, NetworksWithMomentsAreThoseThatAreMadeWithout) {
  run();
  const RunFolder folder(path());
  std::size_t last = 0;
  while (fs::exists(folder.committee_file(last + 1))) ++last;
  const auto rewrite = [&](float more) {
    Model model = read_model(folder.committee_file(last));
    for (MemberState& member : model.members) {
      member.moment1 = member.moment2 = member.weights;
      member.weights[0].values[0] += more;
    }
    write_model(folder.committee_file(last), model);
  };
  const std::string metrics = content(folder.metrics_file());

  rewrite(0);
  fs::remove(folder.metrics_file());
  const std::vector<RepairedFile> done = repaired();

  ASSERT_EQ(done.size(), 1u);
  EXPECT_TRUE(done[0].rebuilt) << done[0].how;
  EXPECT_EQ(content(folder.metrics_file()), metrics);

  rewrite(1);
  fs::remove(folder.metrics_file());
  const std::vector<RepairedFile> other = repaired();

  ASSERT_EQ(other.size(), 1u);
  EXPECT_FALSE(other[0].rebuilt);
  EXPECT_TRUE(contains(other[0].how, "came out with other bits"));
}

// Broken by: comparing files of two formats byte for byte.
TEST_F(FsckTest, NetworksOfAnEarlierFormatAreThoseThatAreMadeNow) {
  run();
  const RunFolder folder(path());
  const std::string metrics = content(folder.metrics_file());
  test::make_networks_older(path());
  ASSERT_TRUE(contains(content(folder.committee_file(1)), "model/2"));
  ASSERT_TRUE(good());
  fs::remove(folder.metrics_file());

  const std::vector<RepairedFile> done = repaired();

  ASSERT_EQ(done.size(), 1u);
  EXPECT_TRUE(done[0].rebuilt) << done[0].how;
  EXPECT_EQ(content(folder.metrics_file()), metrics);
}

// A run that is stopped in the middle of the second stage of round 0.
class StoppedInAStage : public FsckTest {
 protected:
  // Files of the finished run, but for the journal, which has seconds of answers; then the run as
  // it was when it was stopped.
  std::map<std::string, std::string> finished_then_stopped() {
    struct Epochs : Observer {
      void epoch_done(const EpochDone&) override { ++count; }
      int count = 0;
    } epochs;
    const std::map<std::string, std::string> whole = finished();
    fs::remove_all(path());
    EXPECT_EQ(drive({{"", document_}}, path(), 1, epochs, [&] { return epochs.count >= 8; }),
              LoopEnd::stopped);
    EXPECT_TRUE(fs::exists(stage_));
    EXPECT_TRUE(fs::exists(RunFolder(path()).training_file(0)));
    return whole;
  }
  std::map<std::string, std::string> finished() {
    run(document_);
    std::map<std::string, std::string> all = files();
    all.erase("journal.jsonl");
    return all;
  }

  const config::Value document_ = [] {
    config::Value document = small_document();
    for (const char* setting : {"study.initial=3", "validation=0.3", "stages=3"})
      apply_setting(document, setting);
    return make_study(document).effective;
  }();
  const fs::path stage_ = RunFolder(path()).stage_file(0);
};

TEST_F(StoppedInAStage, RunsWithNetworksOfAnEarlierFormatGoOn) {
  const std::map<std::string, std::string> whole = finished_then_stopped();
  test::make_networks_older(path());

  EXPECT_TRUE(finished() == whole);
}

// Broken by: a file that is not looked at; one that is removed while what goes on from it is used.
TEST_F(StoppedInAStage, AStageThatIsDamagedIsTrainedAgain) {
  const std::map<std::string, std::string> whole = finished_then_stopped();
  ASSERT_TRUE(good());
  change_bytes(stage_, 997, [&] { return good(); });
  fs::resize_file(stage_, fs::file_size(stage_) - 1);

  const std::vector<RepairedFile> done = repaired();

  ASSERT_EQ(done.size(), 1u);
  EXPECT_TRUE(done[0].rebuilt) << done[0].how;
  EXPECT_FALSE(fs::exists(stage_));
  EXPECT_TRUE(finished() == whole);
}

TEST_F(FsckTest, RepairOfManyFilesAtOnce) {
  run();
  const std::map<std::string, std::string> before = files();
  for (const auto& [name, whole] : before)
    if (name != "journal.jsonl" && name != "answers.bin" && name != "losses.jsonl")
      fs::remove(path(name));
  folder_.file("run/losses.jsonl", "nothing\n");

  for (const RepairedFile& file : repaired())
    EXPECT_TRUE(file.rebuilt) << file.file << ": " << file.how;

  EXPECT_EQ(files(), before);
  EXPECT_TRUE(good());
}

// What cannot be rebuilt is said, and nothing else is touched.
TEST_F(FsckTest, WhatIsLostIsSaid) {
  run();
  folder_.file("run/journal.jsonl", "nothing\n");
  const std::map<std::string, std::string> before = files();

  const std::vector<RepairedFile> done = repaired();

  ASSERT_EQ(done.size(), 1u);
  EXPECT_FALSE(done[0].rebuilt);
  EXPECT_NE(done[0].how.find("record of what was paid"), std::string::npos);
  EXPECT_EQ(files(), before);
}

// Of a purchase that is complete both are lost, and nobody can tell what they were.
TEST_F(FsckTest, AnswersThatAreNowhereElseAreLost) {
  run();
  std::string answers = content(path("answers.bin"));
  answers.replace(20, 4, "????");
  folder_.file("run/answers.bin", answers);
  fs::remove(path("transitions.h5"));

  const std::vector<RepairedFile> done = repaired();

  ASSERT_EQ(done.size(), 2u);
  EXPECT_FALSE(done[0].rebuilt || done[1].rebuilt);
  EXPECT_NE(done[0].how.find("1 states"), std::string::npos) << done[0].how;
}

// A run that was killed in the middle of a purchase.
class DamagedJournal : public FsckTest {
 protected:
  static config::Value document() {
    config::Value document = small_document();
    apply_setting(document, "method=random");  // whole trajectories: steps that follow each other
    // Where there is a GPU, a command that only buys makes its walks on the CPU all the same, and
    // the manifest says so.
    apply_setting(document, "device=cpu");
    return make_study(document).effective;
  }
  // The finished run's files, but for the journal and its answers; then the run as it was before.
  std::map<std::string, std::string> finished_then_killed() {
    Observer quiet;
    const auto drive_until = [&](Until until) {
      return drive({{"", document()}}, path(), 1, quiet, {}, nullptr, {.until = until});
    };
    EXPECT_EQ(drive_until(Until::bought), LoopEnd::paused);
    EXPECT_EQ(drive_until(Until::trained), LoopEnd::paused);
    std::map<std::string, std::string> planned = files();
    EXPECT_EQ(drive_until(Until::bought), LoopEnd::paused);
    const std::map<std::string, std::string> bought = files();
    run(document());
    std::map<std::string, std::string> finished = results();
    const std::string journal = bought.at("journal.jsonl");
    planned["journal.jsonl"] = journal.substr(0, journal.rfind('\n', journal.size() - 2) + 1);
    planned["answers.bin"] = bought.at("answers.bin");
    put(planned);
    EXPECT_TRUE(good());
    return finished;
  }
  void put(const std::map<std::string, std::string>& all) {
    fs::remove_all(path());
    for (const auto& [name, whole] : all) {
      fs::create_directories(fs::path(path(name)).parent_path());
      folder_.file("run/" + name, whole);
    }
  }
  std::map<std::string, std::string> results() const {
    std::map<std::string, std::string> all = files();
    for (const char* name : {"journal.jsonl", "answers.bin"}) all.erase(name);
    return all;
  }
  static std::string all_of(const std::vector<RepairedFile>& done) {
    std::string text;
    for (const RepairedFile& file : done) text += file.how + "\n";
    return text;
  }
};

// Every kind of line, at several of its bytes. Broken by: a line that is guessed, lines behind it
// that are not believed any more, ledgers that are not made again, an answer that is not asked
// again, one that is used though it followed from a lost one.
TEST_F(DamagedJournal, LinesAreDroppedAndTheRunEndsWithTheSameBytes) {
  const std::map<std::string, std::string> finished = finished_then_killed(), killed = files();
  const std::string& journal = killed.at("journal.jsonl");
  std::map<std::string, int> kinds;
  for (std::size_t begin = 0, end; begin < journal.size(); begin = end) {
    end = journal.find('\n', begin) + 1;
    const std::size_t type = journal.find("\"type\":\"", begin) + 8;
    const std::string kind = journal.substr(type, journal.find('"', type) - type);
    ++kinds[kind];
    for (const std::size_t at : {begin + 10, type + 1, (begin + end) / 2, end - 1}) {
      if (test::sanitized() && at != type + 1) continue;
      put(killed);
      std::string bad = journal;
      bad[at] = static_cast<char>(bad[at] ^ 2);
      folder_.file("run/journal.jsonl", bad);
      ASSERT_FALSE(good()) << at;

      const std::vector<RepairedFile> done = repaired();

      for (const RepairedFile& file : done) EXPECT_TRUE(file.rebuilt) << file.file << file.how;
      ASSERT_TRUE(good()) << kind << " " << at - begin << "\n" << all_of(done);
      run(document());
      ASSERT_TRUE(results() == finished) << kind << " " << at - begin << "\n" << all_of(done);
      ASSERT_TRUE(good());
    }
  }
  EXPECT_EQ(kinds["run"], 2);  // where networks are trained is known when they are
  EXPECT_EQ(kinds["ledger"], 1);
  EXPECT_EQ(kinds["answer"], 7);
}

// A solver need not give the same answer again, and what follows from it would not fit.
TEST_F(DamagedJournal, WhatFollowedFromALostAnswerIsAskedAgainAndSoSaid) {
  const std::map<std::string, std::string> finished = finished_then_killed();
  std::string journal = content(path("journal.jsonl"));
  // The first of the three answers about the candidate whose whole trajectory was planned.
  const std::size_t second = journal.find("\"step\":1,", journal.find("\"acquisition\":1,"));
  const std::size_t named = journal.rfind("\"acquisition\":1,\"candidate\":", second);
  const std::string who = journal.substr(named, second - named);
  const std::size_t first = journal.find(who + "\"step\":0,");
  const std::string candidate = who.substr(who.rfind(':') + 1, who.size() - who.rfind(':') - 2);
  journal[journal.find("\"attempts\"", first)] = '?';
  folder_.file("run/journal.jsonl", journal);

  const std::vector<RepairedFile> done = repaired();

  ASSERT_EQ(done.size(), 1u);
  EXPECT_TRUE(contains(done[0].how, "is dropped: if it was an answer")) << done[0].how;
  for (const int step : {1, 2, 3})
    EXPECT_EQ(done[0].how.find("so is it about candidate " + candidate + ", step " +
                               std::to_string(step)) != std::string::npos,
              step > 1)
        << done[0].how;
  run(document());
  EXPECT_TRUE(results() == finished);
}

// Broken by: failures that count because the line is lost that says they do not.
TEST_F(DamagedJournal, FailuresThatDidNotCountAreAskedAboutAgain) {
  const std::map<std::string, std::string> finished = finished_then_killed();
  {
    const std::string journal = content(path("journal.jsonl"));
    const std::size_t bought = journal.find("\"type\":\"ledger\"");
    const std::string answer = journal.substr(journal.find('\n', bought) + 1);
    const auto number = [&](const std::string& key) {
      return std::stoul(answer.substr(answer.find("\"" + key + "\":") + key.size() + 3));
    };
    const AnswerKey key{number("candidate"), number("step")};
    folder_.file("run/journal.jsonl", journal.substr(0, journal.find('\n', bought) + 1));
    AnswerLog log(path("journal.jsonl"), path("answers.bin"));
    log.append(1, {.candidate = key.candidate,
                   .step = key.step,
                   .status = Answer::Status::failed,
                   .reason = "x"});
    log.revoke(1, {&key, 1}, "the solver is broken");
  }
  std::string journal = content(path("journal.jsonl"));
  journal[journal.find("\"type\":\"breaker\"") + 12] = '?';
  folder_.file("run/journal.jsonl", journal);

  for (const RepairedFile& file : repaired()) EXPECT_TRUE(file.rebuilt) << file.how;

  run(document());
  EXPECT_TRUE(results() == finished);
}

// Of the purchase under way; nobody can tell what it was.
TEST_F(DamagedJournal, AStateThatIsDamagedIsAskedAgain) {
  const std::map<std::string, std::string> finished = finished_then_killed();
  std::string answers = content(path("answers.bin"));
  const std::size_t state = (answers.size() - AnswerStore::kFirst) / 7;  // of all seven
  answers[AnswerStore::kFirst + 4 * state] ^= 4;
  folder_.file("run/answers.bin", answers);
  ASSERT_FALSE(good());

  const std::vector<RepairedFile> done = repaired();

  ASSERT_EQ(done.size(), 2u) << all_of(done);
  EXPECT_TRUE(done[0].rebuilt && done[1].rebuilt) << all_of(done);
  EXPECT_TRUE(contains(all_of(done), "is dropped: the solver is asked again"));
  EXPECT_TRUE(good());
  run(document());
  EXPECT_TRUE(results() == finished);
}

// Files of another run, all of them whole.
TEST_F(FsckTest, FilesOfAnotherRunAreNoticed) {
  config::Value other = small_document();
  other.find("study")->set("seed", 2);
  run(other);
  const std::map<std::string, std::string> theirs = files();
  fs::remove_all(path());
  run();
  for (const auto& [name, whole] : files()) {
    if (name == "losses.jsonl" || name == "answers.bin") continue;  // bound by what names them
    folder_.file("run/" + name, theirs.at(name));
    EXPECT_FALSE(good()) << name;
    folder_.file("run/" + name, whole);
  }
  EXPECT_TRUE(good());
}

// Its first lines, as a broken copy leaves it: with or without all of its answers.
class CutJournal : public FsckTest {
 protected:
  void cut_to(const std::function<bool(std::string_view line)>& is_kept) {
    const std::string whole = content(path("journal.jsonl"));
    std::string kept;
    for (std::size_t begin = 0, end; begin < whole.size(); begin = end) {
      end = whole.find('\n', begin) + 1;
      const std::string line = whole.substr(begin, end - begin);
      if (!is_kept(line)) break;
      kept += line;
    }
    ASSERT_LT(kept.size(), whole.size());
    folder_.file("run/journal.jsonl", kept);
  }
};

// Breaks if states that are not named are cut off before it is known that the run goes on.
TEST_F(CutJournal, IsRefusedAndNothingIsTouched) {
  run();
  int lines = 0;
  cut_to([&](std::string_view) { return ++lines <= 3; });
  const std::map<std::string, std::string> before = files();

  Observer quiet;
  test::error_text(ErrorKind::data, [&] { drive({{"", small_document()}}, path(), 1, quiet, {}); });
  EXPECT_EQ(files(), before);

  bool told = false;
  for (const FileState& state : check_run(RunFolder(path())))
    if (state.file == path("journal.jsonl"))
      told = state.why.find("its end is lost") != std::string::npos;
  EXPECT_TRUE(told);
  for (const RepairedFile& file : repaired()) EXPECT_FALSE(file.rebuilt) << file.file;
  EXPECT_EQ(files(), before);
}

// Of what follows from the answers nothing is lost.
TEST_F(CutJournal, LedgersAreRebuilt) {
  run();
  const std::map<std::string, std::string> before = files();
  int ledgers = 0;
  cut_to([&](std::string_view line) {
    return line.find("\"type\":\"ledger\"") == line.npos || ++ledgers < 2;
  });

  for (const RepairedFile& file : repaired())
    EXPECT_TRUE(file.rebuilt) << file.file << ": " << file.how;

  EXPECT_EQ(files(), before);
  EXPECT_TRUE(good());
}

// Breaks if it is the manifest that says whose the others are, or if what was read before a repair
// is believed behind it.
TEST_F(FsckTest, ConfigurationOrManifestOfAnotherRunIsRebuilt) {
  config::Value other = small_document();
  other.find("study")->set("seed", 2);
  run(other);
  const std::map<std::string, std::string> theirs = files();
  fs::remove_all(path());
  run();
  const std::map<std::string, std::string> before = files();
  for (const char* name : {"config.yaml", "manifest.json"}) {
    folder_.file(std::string("run/") + name, theirs.at(name));

    const std::vector<RepairedFile> done = repaired();

    ASSERT_EQ(done.size(), 1u) << name;
    EXPECT_EQ(done[0].file, path(name));
    EXPECT_TRUE(done[0].rebuilt) << done[0].how;
    EXPECT_EQ(files(), before);
  }
}

// Training was stopped: the metrics are a round behind the ledgers.
TEST_F(FsckTest, ARunThatWasStoppedIsRepairedAsFarAsItHadCome) {
  Observer quiet;
  ASSERT_EQ(
      drive({{"", small_document()}}, path(), 1, quiet, {}, nullptr, {.until = Until::bought}),
      LoopEnd::paused);
  const std::map<std::string, std::string> before = files();
  std::string set = content(path("transitions.h5"));
  set[set.size() / 2] = static_cast<char>(set[set.size() / 2] ^ 4);
  folder_.file("run/transitions.h5", set);

  for (const RepairedFile& file : repaired())
    EXPECT_TRUE(file.rebuilt) << file.file << ": " << file.how;

  EXPECT_EQ(files(), before);
}

// Or it would buy the same again.
TEST_F(FsckTest, ARunWithoutItsPlansDoesNotGoOn) {
  run();
  fs::remove(path("rounds/00/plan.json"));
  config::Value longer = small_document();
  longer.find("study")->set("rounds", 2);
  Observer quiet;

  const std::string text = test::error_text(ErrorKind::data, [&] {
    drive({{"", longer}}, path(), 1, quiet, {});
  });

  EXPECT_NE(text.find("plan.json is missing"), std::string::npos) << text;
}

// A user's own beside the rounds; a journal that an editor was at; what is left of a copy.
TEST_F(FsckTest, OddFolders) {
  run();
  const std::map<std::string, std::string> before = files();
  fs::copy(path("rounds/00"), path("rounds/00.bak"));
  fs::create_directory(path("rounds/99999999999999999999"));
  folder_.file("run/rounds/99999999999999999999/plan.json", "mine\n");
  EXPECT_TRUE(good());
  fs::remove_all(path("rounds/00.bak"));
  fs::remove_all(path("rounds/99999999999999999999"));

  std::string journal = before.at("journal.jsonl");
  journal.insert(journal.find('\n'), "\r");
  folder_.file("run/journal.jsonl", journal + "\n");
  ASSERT_EQ(repaired().size(), 1u);
  EXPECT_EQ(files(), before);

  for (const char* name : {"config.yaml", "manifest.json"}) fs::remove(path(name));
  fs::remove_all(path("rounds"));
  EXPECT_TRUE(is_run(path()));
  EXPECT_FALSE(good());
  repaired();
  EXPECT_EQ(files(), before);
  EXPECT_FALSE(is_run(cached()));
}

TEST_F(FsckTest, FilesByThemselves) {
  run();
  for (const auto& [name, whole] : files()) {
    const FileState state = check_file(path(name));
    EXPECT_EQ(state.is, name == "answers.bin" ? FileState::Is::unsealed : FileState::Is::whole)
        << name << state.why;
  }
  const std::string data = cached().string();
  for (const FileState& state : check_data(data))
    EXPECT_EQ(state.is, FileState::Is::whole) << state.file << state.why;
  std::string pool = content(data + "/pool.h5");
  pool[pool.size() / 2] = static_cast<char>(pool[pool.size() / 2] ^ 1);
  std::ofstream(data + "/pool.h5", std::ios::binary) << pool;
  EXPECT_EQ(check_file(data + "/pool.h5").is, FileState::Is::damaged);
}

}  // namespace
}  // namespace stap
