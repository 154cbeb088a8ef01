// Queries that go by a folder: what lies there is found again, taken once, and never believed.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <stdexcept>
#include <thread>

#include "couple/spool_folder.h"
#include "couple/spool_format.h"
#include "couple/spool_life.h"
#include "couple/spool_queue.h"
#include "stap/core/error.h"
#include "stap/core/solver_queue.h"
#include "stap/couple/serve.h"
#include "stap/couple/solver_table.h"
#include "support/contains.h"
#include "support/processes.h"
#include "support/temporary_folder.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;
using Clock = SolverQueue::Clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

class Spool : public ::testing::Test {
 protected:
  Spool() {
    outline_ = {.name = "toy",
                .grid = {.channels = 1, .points = {3}, .lengths = {1.0}},
                .channels = {"u"},
                .dt = 0.25,
                .guard_min = {},
                .guard_max = {},
                .parameters = {{"k", 3.0}}};
    solver_.set("name", "command");
    solver_.set("argv", config::Value::List{"cp", "{input}", "{output}"});
    solver_.set("env", config::Value::List{mark_.c_str()});
    solver_.set("scratch", (folder_.path("scratch")));
    solver_.set("grace", 0.2);
    solver_.set("limits", config::Value::Map{{"server", 1}});
  }
  ~Spool() override { EXPECT_TRUE(processes_with(mark_).empty()); }

  SpoolProblem problem() const {
    SpoolProblem problem{outline_, {}, {}};
    problem.recipe.set("solver", solver_);
    return problem;
  }
  std::unique_ptr<SolverQueue> open() { return make_spool_queue(place_, silence_, problem()); }
  static Query query(std::uint64_t id, std::size_t steps = 1) {
    return {.id = id, .state = {static_cast<double>(id), -0.0, 1.0 / 3.0}, .steps = steps};
  }
  std::string key(const Query& query) const { return spool_key(problem_id(outline_), query); }
  std::string key(std::uint64_t id) const { return key(query(id)); }

  // --- a server that does what it is told ---
  SpoolFolder spool() const { return SpoolFolder::make(place_); }
  void put_query(const Query& query) const {
    spool().put(spool().query(key(query)), query_bytes(key(query), query), "test", false);
  }
  bool claim(const std::string& key, const std::string& server = "s1") const {
    return move_file(spool().query(key), spool().claim(key, server));
  }
  void put_answer(const std::string& key, double value, const std::string& reason = "") const {
    Answer answer{.status = reason.empty() ? Answer::Status::ok : Answer::Status::failed,
                  .reason = reason,
                  .states = reason.empty() ? std::vector(3, value) : std::vector<double>(),
                  .attempts = 1};
    spool().put(spool().answer(key), answer_bytes(key, answer), "test", false);
  }
  void answer(const std::string& key, double value, const std::string& server = "s1") const {
    put_answer(key, value);
    remove_file(spool().claim(key, server));
  }
  void live(const std::string& server, std::uint64_t number) const {
    folder_.file("spool/servers/" + server,
                 "{\"slots\": 1, \"beat\": " + std::to_string(number) + "}");
  }
  std::vector<std::string> in(const char* folder) const {
    auto names = names_in(spool().folder(folder), false);
    std::ranges::sort(names);
    return names;
  }
  // Lets the queue work until something is so.
  template <class Condition>
  static bool until(SolverQueue& queue, Condition condition) {
    for (const auto end = Clock::now() + seconds(2); Clock::now() < end;) {
      if (condition()) return true;
      EXPECT_FALSE(queue.next(Clock::now() + milliseconds(5)));
    }
    return condition();
  }
  static Reply next(SolverQueue& queue) {
    std::optional<Reply> reply = queue.next(Clock::now() + seconds(2));
    EXPECT_TRUE(reply);
    return reply.value_or(Reply{999, {}});
  }

  TemporaryFolder folder_;
  fs::path place_ = folder_.path("spool");
  std::string mark_ = unique_mark();
  double silence_ = 2.0;  // after which a server is given up
  Outline outline_;
  config::Value solver_;
};

// --- files -----------------------------------------------------------------------------------

// Breaks if a length is used before it is checked, or if the checksum leaves out a byte.
TEST_F(Spool, FilesSayWhatTheySaidAndNothingIsBelieved) {
  outline_.parameters[0] = {.name = "k", .varies = true};
  const Query asked{
      .id = 7, .state = {5e-324, -0.0, 1e300}, .time = 0.1, .params = {2.5}, .steps = 2};
  const Answer given{.status = Answer::Status::failed,
                     .reason = "it broke",
                     .states = {1, 2, 3},
                     .seconds = 0.25,
                     .attempts = 3};
  const std::string name = key(asked);
  const auto query_file = query_bytes(name, asked), answer_file = answer_bytes(name, given);
  Query query;
  Answer answer;

  ASSERT_EQ(read_query(query_file, name, outline_, query), "");
  ASSERT_EQ(read_answer(answer_file, name, outline_.grid, 2, answer), "");

  EXPECT_EQ(key(query), name);
  EXPECT_EQ(query.params, asked.params);
  EXPECT_EQ(answer.states, given.states);
  EXPECT_EQ(answer.reason, given.reason);
  EXPECT_EQ(answer.attempts, 3);
  EXPECT_NE(read_answer(answer_file, name, outline_.grid, 0, answer), "");
  Outline fixed = outline_;
  fixed.parameters[0].varies = false;
  EXPECT_EQ(read_query(query_file, name, fixed, query), "it has 1 parameters, expected 0");
  EXPECT_NE(read_answer(answer_file, key(1), outline_.grid, 2, answer), "");
  EXPECT_NE(read_query(answer_file, name, outline_, query), "");
  for (std::size_t i = 0; i < query_file.size(); ++i) {
    EXPECT_NE(read_query(std::span(query_file).first(i), name, outline_, query), "");
    auto changed = query_file;
    changed[i] ^= std::byte{16};
    EXPECT_NE(read_query(changed, name, outline_, query), "") << i;
  }
  for (std::size_t i = 0; i < answer_file.size(); ++i) {
    EXPECT_NE(read_answer(std::span(answer_file).first(i), name, outline_.grid, 2, answer), "");
    auto changed = answer_file;
    changed[i] ^= std::byte{1};
    EXPECT_NE(read_answer(changed, name, outline_.grid, 2, answer), "") << i;
  }
}

TEST_F(Spool, AKeySaysAllThatIsAsked) {
  Query q = query(1);
  std::vector<std::string> keys{key(q)};
  const auto add = [&] { keys.push_back(key(q)); };
  q.state[1] = 0.0, add();
  q.time = 1.0, add();
  q.steps = 2, add();
  q.params = {1.0}, add();
  outline_.dt = 0.5, add();
  outline_.parameters[0].value = 4, add();
  outline_.parameters[0] = {.name = "k", .varies = true}, add();
  outline_.guard_max = {std::numeric_limits<double>::infinity()}, add();

  const std::string id = problem_id(outline_);
  const SpoolProblem again = read_problem(problem_text(problem()), id, "test");

  EXPECT_EQ(problem_id(again.outline), id);
  EXPECT_THROW(read_problem(problem_text(problem()), std::string(16, '0'), "test"), Error);
  for (const std::string& one : keys) EXPECT_TRUE(is_spool_key(one));
  std::ranges::sort(keys);
  EXPECT_EQ(std::ranges::adjacent_find(keys), keys.end());
}

// --- asking ----------------------------------------------------------------------------------

TEST_F(Spool, AnAnswerStaysUntilItIsRecorded) {
  auto queue = open();
  queue->submit(query(1));
  ASSERT_TRUE(until(*queue, [&] { return claim(key(1)); }));
  live("s1", 1);
  ASSERT_TRUE(until(*queue, [&] { return queue->running().size() == 1; }));
  EXPECT_EQ(queue->running()[0].where, "server s1");

  answer(key(1), 4.0);
  const Reply reply = next(*queue);

  EXPECT_EQ(reply.id, 1u);
  EXPECT_EQ(reply.answer.states, std::vector(3, 4.0));
  EXPECT_EQ(queue->open(), 0u);
  EXPECT_EQ(in("answers"), std::vector{key(1)});
  queue->recorded();
  EXPECT_TRUE(in("answers").empty());
  EXPECT_TRUE(in("claimed").empty());
}

// One whose journal could not be written must find the answer again; so must one that was killed
// between the parts of a query.
TEST_F(Spool, NothingThatIsNotRecordedGoes) {
  const Query whole = query(1, 3);
  CommandOptions options;
  options.argv.words = {"cp", "{input}", "{output}"};
  options.spool = place_;
  options.limits.server = 1;
  CoupleContext context;
  context.recipe.set("solver", solver_);
  const auto solver = make_command_solver(options, outline_, context);
  const auto serve_one = [&](SolverQueue& queue, double value) {
    const std::size_t before = in("answers").size();
    ASSERT_TRUE(until(queue, [&] { return !in("queries").empty(); }));
    const std::string what = in("queries")[0];
    ASSERT_TRUE(claim(what));
    answer(what, value);
    ASSERT_EQ(in("answers").size(), before + 1);
  };

  try {
    const auto queue = solver->open();
    queue->submit(whole);
    serve_one(*queue, 1.0);
    serve_one(*queue, 2.0);
    serve_one(*queue, 3.0);
    EXPECT_EQ(next(*queue).answer.states.size(), 9u);
    throw std::runtime_error("the disk is full");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(in("answers").size(), 3u);
  {
    const auto queue = solver->open();
    queue->submit(whole);
    EXPECT_EQ(next(*queue).answer.status, Answer::Status::ok);  // nobody was asked
    EXPECT_TRUE(in("queries").empty());
    EXPECT_EQ(in("answers").size(), 3u);
    queue->recorded();
  }

  EXPECT_TRUE(in("answers").empty());
}

TEST_F(Spool, WhatAnEarlierProcessAskedIsAdopted) {
  for (std::uint64_t id = 1; id <= 5; ++id) put_query(query(id));
  claim(key(1), "s1");
  claim(key(2), "s2"), answer(key(2), 2.0, "s2");
  claim(key(3), "s3"), put_answer(key(3), 0.0, "no licence"),
      remove_file(spool().claim(key(3), "s3"));
  auto queue = open();
  for (const std::uint64_t id : {1, 2, 3, 4}) queue->submit(query(id));

  const Reply second = next(*queue);
  live("s1", 1);
  ASSERT_TRUE(until(*queue, [&] { return in("queries").size() == 2; }));

  EXPECT_EQ(second.id, 2u);                // was answered
  EXPECT_EQ(queue->running().size(), 1u);  // 1 is being computed
  std::vector waiting{key(3), key(4)};     // what failed may have been mended since
  std::ranges::sort(waiting);
  EXPECT_EQ(in("queries"), waiting);  // nobody wants to know 5
  answer(key(1), 1.0, "s1");
  EXPECT_EQ(next(*queue).id, 1u);
  claim(key(3), "s1"), put_answer(key(3), 0.0, "no licence");
  EXPECT_EQ(next(*queue).answer.status, Answer::Status::failed);  // but now it counts
}

TEST_F(Spool, AServerThatIsSilentLosesItsQueriesAndALateAnswerDoesNoHarm) {
  silence_ = 0.6;
  auto queue = open();
  queue->submit(query(1));
  queue->submit(query(2));
  ASSERT_TRUE(until(*queue, [&] { return claim(key(1), "slow") && claim(key(2), "good"); }));
  std::uint64_t beats = 0;
  live("slow", 1);

  ASSERT_TRUE(until(*queue, [&] {
    live("good", ++beats);
    return !in("queries").empty();
  }));

  EXPECT_EQ(in("queries"), std::vector{key(1)});
  EXPECT_EQ(in("claimed"), std::vector{key(2) + ".good"});
  ASSERT_TRUE(claim(key(1), "good"));
  put_answer(key(1), 1.0);  // of the slow one
  const Reply reply = next(*queue);
  EXPECT_EQ(reply.id, 1u);
  EXPECT_EQ(reply.answer.status, Answer::Status::ok);
  queue->recorded();
  put_answer(key(1), 1.0);  // of the good one
  ASSERT_TRUE(until(*queue, [&] {
    live("good", ++beats);
    return in("answers").empty();
  }));
  EXPECT_EQ(queue->open(), 1u);
}

TEST_F(Spool, AQueryThatTakesManyServersAlongFails) {
  silence_ = 0.3;
  // Each is a process of this machine that has ended, so that nobody has to wait for its silence.
  const int child = fork();
  if (child == 0) {
    folder_.file("sign", Signer(silence_).next(""));
    _exit(0);
  }
  test::wait_for(child);
  auto queue = open();
  queue->submit(query(1));
  int servers = 0;
  std::optional<Reply> reply;

  for (const auto end = Clock::now() + seconds(20); !reply && Clock::now() < end;) {
    reply = queue->next(Clock::now() + milliseconds(2));
    const std::string name = "dead" + std::to_string(servers + 1);
    std::error_code error;
    if (fs::copy_file(folder_.path("sign"), spool().server(name), error); claim(key(1), name))
      ++servers;
  }

  ASSERT_TRUE(reply);
  EXPECT_EQ(servers, 11);
  EXPECT_TRUE(contains(reply->answer.reason, "11 servers stopped"));
}

TEST_F(Spool, HoldingTakesBackWhatNobodyHasAndGivingBackTellsTheServer) {
  auto queue = open();
  for (const std::uint64_t id : {1, 2, 3}) queue->submit(query(id));
  ASSERT_TRUE(until(*queue, [&] { return claim(key(1)) && claim(key(2)); }));
  live("s1", 1);
  ASSERT_TRUE(until(*queue, [&] { return queue->running().size() == 2; }));

  EXPECT_TRUE(queue->give_back(1));
  EXPECT_EQ(in("claimed"), std::vector{key(2) + ".s1"});
  queue->close({.hold = true});

  EXPECT_TRUE(in("queries").empty());
  EXPECT_TRUE(queue->running().empty());  // nobody has to wait
  EXPECT_EQ(queue->open(), 2u);
  queue->submit(query(4));
  EXPECT_FALSE(queue->next(Clock::now() + milliseconds(30)));
  EXPECT_TRUE(in("queries").empty());
  queue.reset();
  EXPECT_EQ(in("claimed"), std::vector{key(2) + ".s1"});  // for the next process
}

TEST_F(Spool, TwoQueuesOfOneProcessShareAnAnswer) {
  auto first = open(), second = open();
  first->submit(query(1));
  second->submit(query(1));
  ASSERT_TRUE(until(*first, [&] { return claim(key(1)); }));
  live("s1", 1);

  answer(key(1), 1.0);

  EXPECT_EQ(next(*second).id, 1u);
  second->recorded();
  EXPECT_EQ(in("answers").size(), 1u);  // the other one has not recorded it
  EXPECT_EQ(next(*first).id, 1u);
  first->recorded();
  EXPECT_TRUE(in("answers").empty());
}

// By signs as commit 98ee7af gives them.
TEST_F(Spool, OneProcessAtATimeAsks) {
  silence_ = 0.6;
  spool();
  const auto sign = [&](const char* asker, int number) {
    const std::string whole = folder_.file(
        "sign", R"({"name":"elsewhere","ended":false,"beat":)" + std::to_string(number) + "}");
    std::filesystem::rename(whole, folder_.path(std::string("spool/askers/") + asker));
  };
  sign("7", 1);
  std::atomic<bool> lives = true;
  std::thread heart([&] {
    for (int n = 2; lives; ++n) {
      sign("7", n);
      std::this_thread::sleep_for(milliseconds(5));
    }
  });
  auto queue = open();
  queue->submit(query(1));

  std::string message;
  try {
    queue->next(Clock::now() + seconds(2));
  } catch (const Error& error) {
    message = error.what();
  }
  lives = false;
  heart.join();
  EXPECT_TRUE(contains(message, "elsewhere"));
  EXPECT_TRUE(in("queries").empty());

  queue.reset();
  queue = open();  // its heart has stopped
  queue->submit(query(1));
  EXPECT_TRUE(until(*queue, [&] { return !in("queries").empty(); }));
  EXPECT_EQ(in("askers"), std::vector<std::string>{"7"});
  const auto goes_on = [&] {
    for (int n = 1; n < 100; ++n) {
      queue->next(Clock::now() + milliseconds(20));
      sign("7", n);  // another has taken it
    }
  };
  EXPECT_THROW(goes_on(), Error);
  queue.reset();
  EXPECT_EQ(in("askers"), std::vector<std::string>{"7"});    // which is not ours
  EXPECT_THROW(SpoolFolder::make(folder_.path("")), Error);  // it holds other things
}

// Some file systems are tidied, and some files damaged.
TEST_F(Spool, WhatServersNeedIsPutThereAgain) {
  silence_ = 0.2;
  fs::remove(spool().folder("aside"));
  auto queue = open();
  queue->submit(query(1));
  const fs::path about = spool().problem(problem_id(outline_));
  ASSERT_TRUE(until(*queue, [&] { return !in("queries").empty(); }));
  const auto text = bytes_of(about, 1 << 20);

  fs::resize_file(about, 7);
  EXPECT_TRUE(until(*queue, [&] { return bytes_of(about, 1 << 20) == text; }));
  fs::create_directory(spool().answer(key(1)));  // where an answer has to go
  put_answer(key(1), 1);
  EXPECT_EQ(next(*queue).id, 1u);
}

// --- serving ---------------------------------------------------------------------------------

// Several servers and the program that a configuration names.
TEST_F(Spool, ServersAnswerEveryQueryOnce) {
  solver_.set("slots", 2);
  std::atomic<bool> stop = false;
  std::vector<Served> served(3);
  std::vector<std::thread> threads;
  auto queue = open();
  const std::size_t count = 40;
  for (std::uint64_t id = 0; id < count; ++id) queue->submit(query(id));

  for (Served& one : served)
    threads.emplace_back([&] {
      Observer nobody;
      one = serve({.folder = place_}, nobody, StopAsked([&] { return stop.load(); }));
    });
  std::vector<int> seen(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Reply reply = next(*queue);
    ASSERT_LT(reply.id, count);
    EXPECT_EQ(reply.answer.states, query(reply.id).state) << reply.answer.reason;
    ++seen[reply.id];
    queue->recorded();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(seen, std::vector(count, 1));
  EXPECT_EQ(served[0].answered + served[1].answered + served[2].answered, count);
  for (const char* name : {"queries", "claimed", "answers", "servers", "aside"})
    EXPECT_TRUE(in(name).empty()) << name;
}

TEST_F(Spool, AServerGivesBackWhatItCannotFinishAndEndsWhatIsNotWanted) {
  solver_.set("argv", config::Value::List{"sleep", "600"});
  solver_.set("slots", 2);
  std::atomic<bool> stop = false;
  Served served;
  auto queue = open();
  queue->submit(query(1));
  queue->submit(query(2));

  std::thread thread([&] {
    Observer nobody;
    served = serve({.folder = place_}, nobody,
                   StopAsked([&] { return stop.load(); }, [&] { return stop.load(); }));
  });
  EXPECT_TRUE(until(*queue, [&] { return queue->running().size() == 2; }));
  EXPECT_TRUE(queue->give_back(1));
  for (const auto end = Clock::now() + seconds(2);
       processes_with(mark_).size() > 2 && Clock::now() < end;)
    std::this_thread::yield();
  EXPECT_LE(processes_with(mark_).size(), 2u);  // a program and its warden
  stop = true;
  thread.join();

  EXPECT_EQ(in("queries"), std::vector{key(2)});
  EXPECT_EQ(served.given_back, 1u);
  EXPECT_EQ(served.in_vain, 1u);
  EXPECT_TRUE(in("claimed").empty());
}

TEST_F(Spool, AServerThatCannotWriteEnds) {
  const fs::path signs = spool().folder("servers");
  const auto kind = [&](const std::string& folder, std::vector<std::string> settings = {}) {
    try {
      Observer nobody;
      serve({.folder = folder, .idle = 0.1, .settings = std::move(settings)}, nobody, {});
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::internal;
  };
  EXPECT_EQ(kind(place_), ErrorKind::internal);  // it ends well
  fs::remove(signs);
  folder_.file("spool/servers", "");  // as good as one that is read only

  EXPECT_EQ(kind(place_), ErrorKind::storage);
  fs::create_directory(folder_.path("empty"));
  for (const char* setting : {"nonsense", "train.epochs=3"})  // before anything is asked
    EXPECT_EQ(kind(folder_.path("empty"), {setting}), ErrorKind::config);

  ServerSigns signs_of_one(1);
  const fs::path file = folder_.path("sign");
  signs_of_one.give(file, {}, 1000);
  fs::remove(file);
  fs::create_directory(file);
  signs_of_one.give(file, {}, 1000);  // it may be a hiccup
  EXPECT_THROW(signs_of_one.give(file, {}, 0), Error);
}

TEST_F(Spool, AServerThatCannotStartTheProgramTakesNoQuery) {
  solver_.set("argv", config::Value::List{"no-such-program-4711", "{input}"});
  auto queue = open();
  queue->submit(query(1));
  ASSERT_TRUE(until(*queue, [&] { return !in("queries").empty(); }));
  Observer nobody;

  EXPECT_THROW(serve({.folder = place_}, nobody, {}), Error);

  EXPECT_EQ(in("queries").size(), 1u);
  EXPECT_THROW(serve({.folder = folder_.path("none")}, nobody, {}), Error);
}

}  // namespace
}  // namespace stap::test
