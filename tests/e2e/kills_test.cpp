// kill -9 of stap, of wardens and of solvers, at random moments of a study: it ends as if nothing
// had happened, and what was in the journal is not asked again.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <thread>

#include "stap/core/rng.h"
#include "support/killing.h"
#include "support/lasting_bytes.h"
#include "support/small_study.h"
#include "support/zoo.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;

const std::string kPrograms = STAP_TEST_PROGRAMS;
constexpr std::size_t kSlots = 3;

struct Toll {
  int stap = 0, wardens = 0, solvers = 0;
  int all() const { return stap + wardens + solvers; }
};

class Kills : public ::testing::TestWithParam<std::string> {
 protected:
  ~Kills() override {
    EXPECT_TRUE(eventually([&] { return processes_with(folder_.mark()).empty(); }, 15.0))
        << "processes are left";
    EXPECT_EQ(folder_.left_in_scratch(), 0u) << "folders are left";
  }

  std::string study(int milliseconds, const std::string& numbers) {
    const bool command = GetParam() == "command";
    return folder_.study("study", GetParam(),
                         command ? kPrograms + R"(/zoo, exit_1, "{input}", "{output}")"
                                 : kPrograms + "/zoo_worker, exits",
                         "slots: " + std::to_string(kSlots) +
                             "\n  retries: 100\n  breaker: false\n  failures_kept: 0",
                         ", ZOO_BAD=never, ZOO_NAP=" + std::to_string(milliseconds), numbers);
  }

  pid_t start(const std::string& config, const std::string& run) const {
    std::vector<std::string> arguments = folder_.command(config, run);
    folder_.set_environment();
    return start_stap(arguments);
  }

  // What must not depend on how a run came about.
  std::string essence(const std::string& run) const {
    std::string all;
    for (const char* file : {"transitions.h5", "metrics.jsonl", "losses.jsonl"}) {
      const std::string bytes = content(folder_.path(run + "/" + file));
      EXPECT_NE(bytes, "") << file;
      all += bytes;
    }
    std::set<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path(run + "/rounds")))
      if (entry.is_regular_file()) files.insert(entry.path());
    EXPECT_GT(files.size(), 1u);
    for (const fs::path& file : files) all += file.filename().string() + content(file);
    return all;
  }

  // Answers that are on disk now.
  std::set<std::uint64_t> journalled(const std::string& run) const {
    std::set<std::uint64_t> hashes;
    for (const Books::Entry& answer : read_books(folder_.path(run + "/journal.jsonl")).answers)
      hashes.insert(answer.hash);
    return hashes;
  }

  // Ends one of them; false: there is none just now.
  bool kill_one(bool warden, std::uint64_t draw) const {
    std::vector<pid_t> pids = processes_with(folder_.mark());
    std::erase_if(pids, [&](pid_t pid) {
      const std::string name = content("/proc/" + std::to_string(pid) + "/comm");
      return name.starts_with("stap-warden") != warden;
    });
    return !pids.empty() && kill(pids[draw % pids.size()], SIGKILL) == 0;
  }

  // Runs it to its end, with kills of all kinds until there were as many.
  void run_killed(const std::string& config, const std::string& run, int kills, const Rng& rng,
                  std::uint64_t& draws, Toll& toll) const {
    for (bool finished = false; !finished;) {
      const std::set<std::uint64_t> known = journalled(run);
      const std::size_t before = folder_.begun().size();
      const pid_t child = start(config, run);
      int status = 0;
      bool taken = false;
      while (toll.all() < kills && !(taken = waitpid(child, &status, WNOHANG) == child)) {
        std::this_thread::sleep_for(std::chrono::duration<double>(0.1 * rng.uniform(draws++)));
        switch (rng.below(draws++, 8)) {
          case 0:
            toll.stap += kill(child, SIGKILL) == 0 ? 1 : 0;
            break;
          case 1:
          case 2:
          case 3:
            toll.wardens += kill_one(true, rng.below(draws++, 1000)) ? 1 : 0;
            break;
          default:
            toll.solvers += kill_one(false, rng.below(draws++, 1000)) ? 1 : 0;
        }
      }
      if (!taken) status = test::wait_for(child);
      finished = WIFEXITED(status);
      ASSERT_TRUE(!finished || WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
      const std::vector<Begun> begun = folder_.begun();
      for (std::size_t i = before; i < begun.size(); ++i)
        EXPECT_FALSE(known.contains(begun[i].hash)) << "asked although its answer was there";
    }
  }

  void expect_kills_change_nothing(int kills, const std::string& config) {
    ASSERT_EQ(folder_.run(config, "whole").exit_code, 0);
    const std::string expected = essence("whole");
    const std::size_t queries = folder_.begun().size();
    const Rng rng(13);
    std::uint64_t draws = 0;
    Toll toll;
    int runs = 0;
    while (toll.all() < kills) {
      ASSERT_LT(runs, 50) << "the runs are over before they can be killed";
      const std::string run = "killed" + std::to_string(runs++);
      fs::remove(folder_.log());
      const Toll before = toll;
      run_killed(config, run, kills, rng, draws, toll);
      if (HasFatalFailure()) return;

      EXPECT_TRUE(essence(run) == expected) << run;
      const Books books = read_books(folder_.path(run + "/journal.jsonl"));
      EXPECT_EQ(books.bought, books.budget);
      EXPECT_EQ(books.answers.size(), books.budget);
      EXPECT_EQ(books.count("ok"), books.budget);
      EXPECT_EQ(books.budget, queries);
      // What was under way at a kill ran again; nothing else did.
      const auto most = static_cast<std::size_t>(toll.stap - before.stap) * kSlots +
                        static_cast<std::size_t>(toll.all() - toll.stap) -
                        static_cast<std::size_t>(before.all() - before.stap);
      EXPECT_LE(folder_.begun().size(), queries + most);
    }
    std::cout << toll.all() << " kills in " << runs << " studies: " << toll.stap << " of stap, "
              << toll.wardens << " of wardens, " << toll.solvers << " of solvers\n";
  }

  ZooFolder folder_;
};

TEST_P(Kills, ChangeNothing) {
  const bool whole = whole_zoo();
  expect_kills_change_nothing(whole ? 300 : kills_wanted(10),
                              study(whole ? 100 : 20, whole ? "pool: 150, initial: 10, rounds: 3, "
                                                              "budget: 57"
                                                            : "pool: 60, initial: 4, rounds: 1, "
                                                              "budget: 24"));
}

INSTANTIATE_TEST_SUITE_P(Both, Kills, ::testing::Values("command", "worker"),
                         [](const auto& about) { return about.param; });

// kill -9 of other commands than run. (study_test.cpp has that one.)
class KilledCommands : public ::testing::TestWithParam<std::string> {
 protected:
  KilledCommands() { setenv("STAP_CACHE", folder_.path("cache").c_str(), 1); }
  ~KilledCommands() override {
    for (const pid_t server : servers_) {
      kill(server, SIGKILL);
      test::wait_for(server);
    }
  }

  std::vector<std::string> command(const std::string& name) {
    if (GetParam() == "spool")
      return {"run", spooled_study(), "--quiet", "--no-report", "--out", folder_.path(name)};
    std::vector<std::string> words{GetParam(), "demo", "--quiet", "--out", folder_.path(name)};
    for (const std::string& setting : small_study()) words.push_back(setting);
    if (GetParam() == "sweep") words.insert(words.end(), {"--grid", "seed=0,1", "--no-report"});
    return words;
  }

  // A study whose queries go to two servers.
  std::string spooled_study() {
    const std::string spool = folder_.path("spool");
    fs::create_directories(spool);
    for (int i = 0; servers_.size() < 2; ++i)
      servers_.push_back(start_stap({"serve", spool, "--quiet", "--slots", "1"}));
    return folder_.file("study.yaml", R"(
pde: {name: external, label: steps, channels: [u], points: [16], lengths: [1], dt: 0.1}
solver:
  name: command
  argv: [)" + kPrograms + R"(/spool_step, "{input}", "{output}", "0.01", )" +
                                          folder_.path("calls") + R"(]
  spool: )" + spool + R"(
initial: {name: sines, terms: 3}
network: {modes: [4], width: 4, layers: 1, lifting: 4, projection: 4}
train: {epochs: 2}
study: {steps: 3, pool: 12, test: 2, initial: 2, rounds: 1, budget: 6}
method: sbal+stap
)");
  }

  TemporaryFolder folder_;
  std::vector<pid_t> servers_;
};

TEST_P(KilledCommands, EndWithTheSameBytes) {
  stap::test::expect_kills_change_nothing(
      kills_wanted(3), [&](const std::string& name) { return command(name); },
      [&](const std::string& name) { return lasting_bytes(folder_.path(name)); });
}

INSTANTIATE_TEST_SUITE_P(All, KilledCommands, ::testing::Values("sweep", "generate", "spool"),
                         [](const auto& about) { return about.param; });

}  // namespace
}  // namespace stap::test
