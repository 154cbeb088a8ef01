// Changed bytes of a spool folder: the run gets the numbers it would have got, or a refusal.
// `make test` changes some bytes, `make test-long` every one (STAP_TEST_EVERY=1).
#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "core/signs.h"
#include "couple/spool_folder.h"
#include "couple/spool_format.h"
#include "couple/spool_problem.h"
#include "couple/spool_queue.h"
#include "stap/core/error.h"
#include "stap/core/solver_queue.h"
#include "stap/couple/serve.h"
#include "support/contains.h"
#include "support/processes.h"
#include "support/refusals.h"
#include "support/sanitized.h"
#include "support/temporary_folder.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;
using Clock = SolverQueue::Clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

// What a server says, and how it ends.
struct HeardServer : Observer {
  std::mutex mutex;
  std::vector<std::string> warnings;
  std::optional<Error> error;

  void warning(std::string_view text) override {
    const std::lock_guard lock(mutex);
    warnings.emplace_back(text);
  }
  std::size_t said(const std::string& text) {
    const std::lock_guard lock(mutex);
    return static_cast<std::size_t>(
        std::ranges::count_if(warnings, [&](const auto& one) { return contains(one, text); }));
  }
};

class DamagedSpool : public ::testing::Test {
 protected:
  DamagedSpool() {
    solver_.set("name", "command");
    solver_.set("argv", config::Value::List{STAP_TEST_PROGRAMS "/spool_step", "{input}", "{output}",
                                            "0", folder_.path("calls"), "2"});
    solver_.set("env", config::Value::List{mark_.c_str()});
    solver_.set("scratch", folder_.path("scratch"));
    solver_.set("slots", 4);
    solver_.set("grace", 0.2);
    solver_.set("limits", config::Value::Map{{"server", 1}});
  }
  ~DamagedSpool() override {
    end_server();
    EXPECT_TRUE(processes_with(mark_).empty());
  }

  // Problems that differ in their numbers, whose files are of one size.
  SpoolProblem problem(std::size_t number = 0) const {
    SpoolProblem problem{{.name = "toy",
                          .grid = {.channels = 1, .points = {3}, .lengths = {1.0}},
                          .channels = {"u"},
                          .dt = 1000.0 + static_cast<double>(number),
                          .guard_min = {},
                          .guard_max = {},
                          .parameters = {}},
                         {},
                         {}};
    problem.recipe.set("solver", solver_);
    return problem;
  }
  std::unique_ptr<SolverQueue> open(std::size_t number = 0) const {
    return make_spool_queue(place_, kSilence, problem(number));
  }
  SpoolFolder spool() const { return SpoolFolder::make(place_); }
  static Query query(std::uint64_t id) {
    return {.id = id, .state = {static_cast<double>(id), -0.0, 0.5}};
  }
  static std::vector<double> right(std::uint64_t id) {
    return {static_cast<double>(id) + 2, 2.0, 2.5};
  }
  std::string key(std::uint64_t id) const {
    return spool_key(problem_id(problem().outline), query(id));
  }
  std::vector<std::string> in(const char* name) const { return names_in(place_ / name, false); }

  // Every byte, or some. The ends, where formats have marks, are among them.
  static std::vector<std::size_t> places(std::size_t size, std::size_t stride = 29) {
    const bool all = std::getenv("STAP_TEST_EVERY") != nullptr;
    std::vector<std::size_t> list;
    for (std::size_t i = 0; i < size; ++i)
      if (all || i < 2 || i + 2 >= size || i % (test::sanitized() ? 97 : stride) == 7)
        list.push_back(i);
    return list;
  }
  // One byte, written in place as a disk would change it.
  static void change(const fs::path& file, std::size_t place, int bit) {
    std::fstream bytes(file, std::ios::binary | std::ios::in | std::ios::out);
    bytes.seekg(static_cast<std::streamoff>(place));
    const int byte = bytes.get();
    if (byte < 0) return;  // it has gone
    bytes.seekp(static_cast<std::streamoff>(place));
    bytes.put(static_cast<char>(byte ^ (1 << bit)));
  }
  void start_server() {
    stop_ = false;
    server_ = std::thread([this] {
      heard_.error = error_of(
          [&] { serve({.folder = place_}, heard_, StopAsked([&] { return stop_.load(); })); });
    });
  }
  void end_server() {
    stop_ = true;
    if (!server_.joinable()) return;
    server_.join();
    EXPECT_FALSE(heard_.error) << heard_.error->what();
  }
  // Lets a queue work until something is so; nothing else may happen.
  template <class Condition>
  static bool until(SolverQueue& queue, Condition condition) {
    for (const auto end = Clock::now() + seconds(20); Clock::now() < end && !condition();)
      if (queue.next(Clock::now() + milliseconds(5))) return false;
    return condition();
  }
  // The next reply is that to this query, with the numbers of the solver.
  static void expect_right(SolverQueue& queue, std::uint64_t id) {
    const std::optional<Reply> reply = queue.next(Clock::now() + seconds(10));
    ASSERT_TRUE(reply) << "the answer to " << id << " does not come";
    EXPECT_EQ(reply->id, id);
    EXPECT_EQ(reply->answer.states, right(id)) << reply->answer.reason;
    queue.recorded();
  }
  // All of so many, in any order.
  static void expect_all_right(SolverQueue& queue, std::size_t count) {
    std::set<std::uint64_t> seen;
    for (std::size_t i = 0; i < count; ++i) {
      const std::optional<Reply> reply = queue.next(Clock::now() + seconds(10));
      ASSERT_TRUE(reply) << "after " << i << " answers";
      EXPECT_EQ(reply->answer.states, right(reply->id)) << reply->answer.reason;
      EXPECT_TRUE(seen.insert(reply->id).second);
      queue.recorded();
    }
  }

  static constexpr double kSilence = 0.5;  // of the run, of servers
  TemporaryFolder folder_;
  fs::path place_ = folder_.path("spool");
  std::string mark_ = unique_mark();
  config::Value solver_;
  HeardServer heard_;
  std::atomic<bool> stop_ = false;
  std::thread server_;
};

// Broken by a reader that does not look at the seal (spool/1 had none), and by a seal that leaves a
// byte out. This is all bytes, all bits and all lengths.
TEST_F(DamagedSpool, NoChangeOfWhatAServerActsOnPasses) {
  const std::string text = problem_text(problem()), about = content(spool().path() / "spool.json");
  const std::string id = problem_id(problem().outline);
  const auto refused = [](const auto& read) {
    const std::optional<Error> error = error_of(read);
    return error && error->kind() == ErrorKind::data;
  };
  ASSERT_NO_THROW(read_problem(text, id, "p"));
  ASSERT_NO_THROW(sealed_value(about, "s"));

  for (const std::string& whole : {text, about})
    for (std::size_t i = 0; i < whole.size(); ++i) {
      EXPECT_TRUE(refused([&] { sealed_value(whole.substr(0, i), "f"); })) << i;
      for (int bit = 0; bit < 8; ++bit) {
        std::string changed = whole;
        changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
        EXPECT_TRUE(refused([&] { sealed_value(changed, "f"); })) << i << " " << bit;
      }
    }
  EXPECT_TRUE(refused([&] { read_problem(text, std::string(kProblemDigits, '0'), "f"); }));
}

// Broken by a server or a run that goes on with such a folder.
TEST_F(DamagedSpool, WithADamagedSpoolJsonNobodyStarts) {
  const fs::path about = spool().path() / "spool.json";
  const std::string whole = content(about);

  for (std::size_t i = 0; i < whole.size(); ++i) {
    change(about, i, static_cast<int>(i % 8));
    for (const std::function<void()>& start :
         {std::function<void()>([&] { serve({.folder = place_, .idle = 0.1}, heard_, {}); }),
          std::function<void()>([&] { open(); })})
      expect_error(ErrorKind::data, "give solver.spool a new folder", start);
    change(about, i, static_cast<int>(i % 8));
  }
  EXPECT_EQ(content(about), whole);

  folder_.file("spool/spool.json", "{\"format\":\"spool/1\"}\n");
  expect_error(ErrorKind::data, "spool/1, expected spool/2: an earlier version", [&] { open(); });
  expect_error(ErrorKind::data, "give solver.spool a new folder",
               [&] { serve({.folder = place_, .idle = 0.1}, heard_, {}); });
}

// A run that waits writes it again: else no server could start, and the run would wait for ever.
TEST_F(DamagedSpool, ARunThatAsksKeepsSpoolJsonWhole) {
  const auto queue = open();
  queue->submit(query(1));
  const fs::path about = place_ / "spool.json";
  const std::string whole = content(about);
  ASSERT_TRUE(until(*queue, [&] { return in("queries").size() == 1; }));

  change(about, 12, 1);
  EXPECT_TRUE(until(*queue, [&] { return content(about) == whole; }));
  fs::remove(about);
  EXPECT_TRUE(until(*queue, [&] { return fs::exists(about); }));

  start_server();
  expect_right(*queue, 1);
}

// Who is at work does not care.
TEST_F(DamagedSpool, ADamagedSpoolJsonDoesNotDisturbThoseAtWork) {
  const auto queue = open();
  queue->submit(query(1));
  start_server();
  expect_right(*queue, 1);

  change(place_ / "spool.json", 12, 1);
  queue->submit(query(2));

  expect_right(*queue, 2);
}

// The attack that was found: with another number among the arguments, another solver. Broken by a
// problem without a seal: the answer is then 3 more, not 2. Broken by a run that does not look at
// its problems while it waits: no answer comes. And by a server that says so at every look.
TEST_F(DamagedSpool, AChangedArgumentIsNeverServed) {
  const auto queue = open();
  queue->submit(query(1));
  ASSERT_TRUE(until(*queue, [&] { return !in("queries").empty(); }));
  const fs::path file = spool().problem(problem_id(problem().outline));
  const std::string whole = content(file);
  const std::size_t place = whole.find("\"2\"") + 1;
  ASSERT_NE(place, 0u);

  change(file, place, 0);
  ASSERT_EQ(content(file)[place], '3');
  start_server();
  ASSERT_TRUE(eventually([&] { return heard_.said("is damaged") > 0; }));
  EXPECT_EQ(in("answers").size() + in("claimed").size(), 0u);
  expect_right(*queue, 1);

  EXPECT_EQ(heard_.said("its queries wait until the run writes it again"), 1u);
  EXPECT_EQ(content(file), whole);
  EXPECT_EQ(content(folder_.path("calls")), "1\n");
}

// Every problem's file has another byte changed, before servers come and while they serve it.
TEST_F(DamagedSpool, DamagedProblemsAreServedWhenTheyAreWhole) {
  const std::size_t size = problem_text(problem()).size();
  const std::vector<std::size_t> all = places(size);
  constexpr std::size_t kAtOnce = 64;  // a server keeps a solver of each
  for (std::size_t first = 0; first < all.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, all.size() - first);
    std::vector<std::unique_ptr<SolverQueue>> queues;
    const auto damage = [&] {
      for (std::size_t i = 0; i < count; ++i)
        change(spool().problem(problem_id(problem(first + i).outline)), all[first + i],
               static_cast<int>(all[first + i] % 8));
    };
    for (std::size_t i = 0; i < count; ++i) {
      queues.push_back(open(first + i));
      queues.back()->submit(query(i));
      ASSERT_EQ(problem_text(problem(first + i)).size(), size);
    }
    ASSERT_TRUE(until(*queues[0], [&] { return in("queries").size() == count; }));

    damage();
    start_server();
    for (std::size_t i = 0; i < count; ++i) expect_right(*queues[i], i);
    damage();
    for (std::size_t i = 0; i < count; ++i) queues[i]->submit(query(i + 1000));
    for (std::size_t i = 0; i < count; ++i) expect_right(*queues[i], i + 1000);
    end_server();
  }
}

// Query i has its byte i changed. Broken by a checksum that leaves a byte out.
TEST_F(DamagedSpool, DamagedQueriesAreAskedAgain) {
  const auto queue = open();
  const std::vector<std::size_t> all = places(query_bytes(key(0), query(0)).size());
  for (std::size_t i = 0; i < all.size(); ++i) queue->submit(query(i));
  ASSERT_TRUE(until(*queue, [&] { return in("queries").size() == all.size(); }));

  for (std::size_t i = 0; i < all.size(); ++i)
    change(spool().query(key(i)), all[i], static_cast<int>(all[i] % 8));
  start_server();
  expect_all_right(*queue, all.size());

  EXPECT_EQ(heard_.said("is left to be asked again"), all.size());
}

// Nor does it matter what becomes of a query that a server has read.
TEST_F(DamagedSpool, DamagedClaimsDoNotMatter) {
  solver_.set("slots", 1000);
  solver_.set("argv", config::Value::List{STAP_TEST_PROGRAMS "/spool_step", "{input}", "{output}",
                                          "0.3", folder_.path("calls"), "2"});
  const auto queue = open();
  const std::vector<std::size_t> all = places(query_bytes(key(0), query(0)).size());
  for (std::size_t i = 0; i < all.size(); ++i) queue->submit(query(i));
  start_server();
  ASSERT_TRUE(until(*queue, [&] { return in("claimed").size() > all.size() / 2; }));

  for (const SpoolClaim& claim : claims_in(spool()))
    for (std::size_t i = 0; i < all.size(); ++i)
      if (claim.key == key(i))
        change(spool().claim(claim.key, claim.server), all[i], static_cast<int>(all[i] % 8));

  expect_all_right(*queue, all.size());
}

// Answer i has its byte i changed: one that an earlier process left, or one that came just now.
TEST_F(DamagedSpool, DamagedAnswersAreComputedAgain) {
  Answer given{.status = Answer::Status::ok, .states = right(0), .attempts = 1};
  const std::vector<std::size_t> all = places(answer_bytes(key(0), given).size());
  for (const bool before : {true, false}) {
    const std::uint64_t first = before ? 0 : 1000;
    const auto put_damaged = [&] {
      for (std::size_t i = 0; i < all.size(); ++i) {
        given.states = right(first + i);
        const std::string name = key(first + i);
        spool().put(spool().answer(name), answer_bytes(name, given), "test", false);
        change(spool().answer(name), all[i], static_cast<int>(all[i] % 8));
      }
    };
    if (before) put_damaged();
    auto queue = open();
    for (std::size_t i = 0; i < all.size(); ++i) queue->submit(query(first + i));
    if (!before) {
      ASSERT_TRUE(until(*queue, [&] { return in("queries").size() == all.size(); }));
      for (const std::string& name : in("queries")) remove_file(spool().query(name));
      put_damaged();
    }

    start_server();
    expect_all_right(*queue, all.size());
    end_server();
  }
}

// Signs of life are wrong until the next one comes: queries may be computed twice, no more.
TEST_F(DamagedSpool, DamagedSignsOfAServerDoNoHarm) {
  solver_.set("argv", config::Value::List{STAP_TEST_PROGRAMS "/spool_step", "{input}", "{output}",
                                          "0.02", folder_.path("calls"), "2"});
  auto queue = open();
  start_server();
  std::uint64_t id = 0;
  queue->submit(query(id));
  ASSERT_TRUE(eventually([&] {
    queue->next(Clock::now());
    return in("servers").size() == 1;
  }));
  const fs::path sign = spool().server(in("servers")[0]);
  queue.reset();
  queue = open();

  for (const std::size_t place : places(content(sign).size(), 67)) {
    queue->submit(query(++id));
    change(sign, place, static_cast<int>(place % 8));
    expect_right(*queue, id);
  }
}

// Who asks goes on, or says that it must not, and the next one has its place. Processes, since a
// sign says which one lives.
TEST_F(DamagedSpool, DamagedSignsOfTheAskerEndItOrDoNoHarm) {
  const fs::path sign = place_ / "askers" / "1";
  const auto in_child = [](const std::function<void()>& act) {
    const pid_t child = fork();
    if (child != 0) return child;
    const std::optional<Error> error = error_of(act);
    _exit(error ? static_cast<int>(error->kind()) : 0);
  };
  // 0: it got the right answer; 99: another one, or none; otherwise the exit code of the program.
  const auto ask = [&](std::uint64_t id, std::optional<std::size_t> place) {
    const int status = test::wait_for(in_child([&] {
      const auto queue = open();
      if (!until(*queue, [&] { return fs::exists(sign); })) _exit(98);
      if (place) change(sign, *place, static_cast<int>(*place % 8));
      queue->next(Clock::now() + milliseconds(60));  // its next sign of life is due
      queue->submit(query(id));
      const std::optional<Reply> reply = queue->next(Clock::now() + seconds(10));
      if (!reply || reply->answer.states != right(id)) _exit(99);
      queue->recorded();
    }));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  spool();
  const pid_t server = in_child([&] { serve({.folder = place_}, heard_, {}); });
  std::uint64_t id = 0;
  std::size_t ended = 0;
  const std::string text = Signer(kSilence).next("");
  std::vector<std::size_t> all = places(text.size(), 67);
  all.push_back(text.find("\"name\": \"") + 9);

  for (const std::size_t place : all) {
    const int code = ask(++id, place);
    EXPECT_TRUE(code == 0 || code == static_cast<int>(ErrorKind::storage)) << place << ": " << code;
    if (code == 0) continue;
    ++ended;
    EXPECT_EQ(ask(id, std::nullopt), 0) << place;
  }
  kill(server, SIGKILL);
  test::wait_for(server);

  EXPECT_GT(ended, 0u);  // by its name, for one
  EXPECT_LT(ended, all.size() / 2);
}

}  // namespace
}  // namespace stap::test
