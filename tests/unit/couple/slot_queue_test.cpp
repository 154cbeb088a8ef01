// The queue over slots, with slots that do what a test tells them: order, retries, time limits, and
// that every query gets exactly one reply.
#include "couple/slot_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/core/rng.h"
#include "support/contains.h"
#include "support/refusals.h"
#include "support/waiting.h"

namespace stap::test {
namespace {

using Clock = SolverQueue::Clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

Outcome ok(double taken = 0.001) {
  Outcome outcome;
  outcome.answer.status = Answer::Status::ok;
  outcome.answer.states = {1.0};
  outcome.answer.seconds = taken;
  return outcome;
}
Outcome failed(bool worth_a_retry) {
  Outcome outcome;
  outcome.answer.reason = "told to fail";
  outcome.worth_a_retry = worth_a_retry;
  return outcome;
}
Outcome lost() {
  Outcome outcome = failed(false);
  outcome.lost = true;
  return outcome;
}

/// What all slots of a test share.
struct World {
  /// What becomes of a try; nothing: it hangs until it is ended.
  std::function<std::optional<Outcome>(const Query& query, int attempt)> fate =
      [](const Query&, int) { return ok(); };
  bool heeds_end = true;   ///< what is ended ends
  bool ends_lost = false;  ///< and says that it was lost
  int let_go = 0;          ///< how often an idle slot must be asked to go
  int lacks_at_look = 0;   ///< how often that throws
  std::set<std::size_t> getting_ready{};
  std::vector<std::pair<std::uint64_t, int>> begun{};  ///< id, attempt
  std::vector<std::string> ended{};                    ///< why
  std::size_t made = 0, running = 0, most = 0;
};

class FakeSlot final : public Slot {
 public:
  FakeSlot(World& world, std::size_t number) : world_(world), number_(number) {
    EXPECT_EQ(number, world.made++);
  }
  ~FakeSlot() override { world_.running -= query_ != nullptr ? 1 : 0; }

  void begin(const Query& query, int attempt) override {
    ASSERT_EQ(query_, nullptr) << "begun while a query runs";
    std::optional<Outcome> fate = world_.fate(query, attempt);  // which may throw
    query_ = &query;
    id_ = query.id;
    why_.reset();
    outcome_ = std::move(fate);
    world_.begun.emplace_back(query.id, attempt);
    world_.most = std::max(world_.most, ++world_.running);
  }
  void watch(std::vector<pollfd>&) const override {}
  std::optional<Outcome> look() override {
    if (query_ == nullptr) return std::nullopt;
    EXPECT_EQ(query_->id, id_);  // it must live as long: a sanitizer sees it otherwise
    if (world_.lacks_at_look > 0 && outcome_) {
      --world_.lacks_at_look;
      --world_.running;
      query_ = nullptr;
      throw Error(ErrorKind::storage, "no process");
    }
    if (why_ && world_.heeds_end) {
      outcome_ = failed(true);
      outcome_->answer.reason = *why_;
      outcome_->lost = world_.ends_lost;
    }
    if (!outcome_) return std::nullopt;
    query_ = nullptr;
    --world_.running;
    return std::exchange(outcome_, std::nullopt);
  }
  void end(const std::string& why) override {
    EXPECT_FALSE(why_) << "ended twice";
    why_ = why;
    world_.ended.push_back(why);
  }
  std::string where() const override { return "here"; }
  Clock::time_point due() const override {
    return outcome_ || (why_ && world_.heeds_end) ? Clock::time_point::min()
                                                  : Clock::time_point::max();
  }
  bool getting_ready() const override { return world_.getting_ready.contains(number_); }
  bool let_go() override {
    EXPECT_EQ(query_, nullptr);
    return world_.let_go == 0 || --world_.let_go == 0;
  }

 private:
  World& world_;
  std::size_t number_;
  const Query* query_ = nullptr;
  std::uint64_t id_ = 0;
  std::optional<Outcome> outcome_;
  std::optional<std::string> why_;
};

std::unique_ptr<SolverQueue> queue_of(World& world, SlotRules rules) {
  return make_slot_queue(std::move(rules), [&world](std::size_t number) {
    return std::make_unique<FakeSlot>(world, number);
  });
}

Query query(std::uint64_t id, std::size_t steps = 1) {
  return {.id = id, .state = {0.0}, .steps = steps};
}

/// All replies that come in this time.
std::vector<Reply> replies_of(SolverQueue& queue, Clock::duration most = seconds(5)) {
  std::vector<Reply> replies;
  const auto until = Clock::now() + most;
  while (queue.open() > 0) {
    auto reply = queue.next(until);
    if (!reply) break;
    replies.push_back(*std::move(reply));
  }
  return replies;
}

std::vector<std::uint64_t> ids_of(const std::vector<Reply>& replies) {
  std::vector<std::uint64_t> ids;
  for (const Reply& reply : replies) ids.push_back(reply.id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

TEST(SlotQueue, BeginsInOrderInAsManySlotsAsThereAre) {
  World world;
  const auto queue = queue_of(world, {.slots = 3});
  std::vector<std::pair<std::uint64_t, int>> expected;
  for (std::uint64_t id : {7, 3, 9, 1, 8, 2, 6}) {
    queue->submit(query(id));
    expected.emplace_back(id, 1);
  }
  EXPECT_EQ(queue->open(), 7u);
  EXPECT_FALSE(queue->ready());

  const auto replies = replies_of(*queue);

  EXPECT_EQ(world.begun, expected);
  EXPECT_EQ(world.most, 3u);
  EXPECT_EQ(world.made, 3u);
  EXPECT_EQ(ids_of(replies), (std::vector<std::uint64_t>{1, 2, 3, 6, 7, 8, 9}));
  for (const Reply& reply : replies) {
    EXPECT_EQ(reply.answer.status, Answer::Status::ok);
    EXPECT_EQ(reply.answer.attempts, 1);
    EXPECT_EQ(reply.answer.states, std::vector<double>{1.0});
  }
  EXPECT_EQ(queue->open(), 0u);
}

TEST(SlotQueue, MakesNoMoreSlotsThanItNeeds) {
  World world;
  const auto queue = queue_of(world, {.slots = 100});
  EXPECT_EQ(world.made, 0u);

  for (std::uint64_t id : {1, 2, 3}) {
    queue->submit(query(id));
    replies_of(*queue);
  }

  EXPECT_EQ(world.made, 1u);
}

TEST(SlotQueue, WaitsNoLongerThanItIsTold) {
  World world;
  world.fate = [](const Query&, int) { return std::nullopt; };
  const auto queue = queue_of(world, {});
  queue->submit(query(1));

  EXPECT_FALSE(queue->next(Clock::now() - seconds(1)));
  const auto before = Clock::now();
  EXPECT_FALSE(queue->next(before + milliseconds(20)));

  EXPECT_GE(Clock::now() - before, milliseconds(20));
  EXPECT_EQ(queue->open(), 1u);
}

TEST(SlotQueue, TriesAgainBehindThoseThatWait) {
  World world;
  world.fate = [](const Query& q, int attempt) {
    return q.id == 1 && attempt < 3 ? failed(true) : ok();
  };
  const auto queue = queue_of(world, {.slots = 1, .retries = 2});
  for (std::uint64_t id : {1, 2, 3}) queue->submit(query(id));

  const auto replies = replies_of(*queue);

  const std::vector<std::pair<std::uint64_t, int>> expected{{1, 1}, {2, 1}, {3, 1}, {1, 2}, {1, 3}};
  EXPECT_EQ(world.begun, expected);
  ASSERT_EQ(replies.size(), 3u);
  EXPECT_EQ(replies[2].id, 1u);
  EXPECT_EQ(replies[2].answer.status, Answer::Status::ok);
  EXPECT_EQ(replies[2].answer.attempts, 3);
}

TEST(SlotQueue, TriesNoOftenerThanItMay) {
  for (std::size_t retries : {0, 1, 4}) {
    World world;
    world.fate = [](const Query&, int) { return failed(true); };
    const auto queue = queue_of(world, {.retries = retries});
    queue->submit(query(5));

    const auto replies = replies_of(*queue);

    ASSERT_EQ(replies.size(), 1u);
    EXPECT_EQ(replies[0].answer.status, Answer::Status::failed);
    EXPECT_EQ(replies[0].answer.reason, "told to fail");
    EXPECT_EQ(replies[0].answer.attempts, static_cast<int>(retries) + 1);
    EXPECT_EQ(world.begun.size(), retries + 1);
  }
}

TEST(SlotQueue, WhatIsWrongIsNotTriedAgain) {
  World world;
  world.fate = [](const Query&, int) { return failed(false); };
  const auto queue = queue_of(world, {.retries = 5});
  queue->submit(query(5));

  EXPECT_EQ(replies_of(*queue).size(), 1u);

  EXPECT_EQ(world.begun.size(), 1u);
}

// A slot that did not come up is not the query's fault.
TEST(SlotQueue, ALostSlotIsNoTry) {
  World world;
  world.fate = [n = 0](const Query&, int) mutable { return ++n < 3 ? lost() : ok(); };
  const auto queue = queue_of(world, {.retries = 0});
  queue->submit(query(5));

  const auto replies = replies_of(*queue);

  const std::vector<std::pair<std::uint64_t, int>> expected{{5, 1}, {5, 1}, {5, 1}};
  EXPECT_EQ(world.begun, expected);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].answer.status, Answer::Status::ok);
  EXPECT_EQ(replies[0].answer.attempts, 1);
}

TEST(SlotQueue, TheThirdLossIsATryLikeOthers) {
  for (const std::size_t retries : {0, 2}) {
    World world;
    world.fate = [](const Query&, int) { return lost(); };
    const auto queue = queue_of(world, {.retries = retries});
    queue->submit(query(5));

    const auto replies = replies_of(*queue);

    EXPECT_EQ(world.begun.size(), 3u + retries);
    ASSERT_EQ(replies.size(), 1u);
    EXPECT_EQ(replies[0].answer.status, Answer::Status::failed);
    EXPECT_EQ(replies[0].answer.attempts, 1 + static_cast<int>(retries));
  }
}

// Other queries are not kept waiting while one slot rests.
TEST(SlotQueue, ALostSlotRestsWhileOthersGoOn) {
  World world;
  world.fate = [n = 0](const Query& q, int) mutable {
    return q.id == 0 && ++n == 1 ? lost() : ok();
  };
  const auto queue = queue_of(world, {.slots = 2});
  for (std::uint64_t id = 0; id < 20; ++id) queue->submit(query(id));

  EXPECT_EQ(replies_of(*queue).size(), 20u);
  EXPECT_EQ(world.begun.size(), 21u);
}

TEST(SlotQueue, EndsWhatTakesTooLong) {
  World world;
  world.fate = [](const Query& q, int) -> std::optional<Outcome> {
    return q.id == 2 ? std::nullopt : std::optional(ok());
  };
  const auto queue = queue_of(world, {.slots = 2, .retries = 5, .limits = {.seconds = 0.05}});
  for (std::uint64_t id : {1, 2, 3}) queue->submit(query(id));

  const auto replies = replies_of(*queue);

  ASSERT_EQ(replies.size(), 3u);
  const Reply& last = replies[2];
  EXPECT_EQ(last.id, 2u);
  EXPECT_EQ(last.answer.status, Answer::Status::failed);
  EXPECT_TRUE(last.answer.reason.starts_with("ended after 0.05")) << last.answer.reason;
  EXPECT_TRUE(contains(last.answer.reason, "the time limit"));
  EXPECT_EQ(last.answer.attempts, 1) << "a time limit is no crash: again it would take as long";
  EXPECT_EQ(world.ended.size(), 1u);
}

// Broken by: a median that is not used, steps that follow and are not counted, one that is too long
// and keeps those behind it waiting.
TEST(SlotQueue, BeginsOnlyWhatWouldEndInTime) {
  World world;
  world.fate = [](const Query&, int) { return ok(100.0); };
  const auto queue = queue_of(world, {.slots = 9, .grace = 10.0});
  queue->submit(query(0));
  ASSERT_EQ(replies_of(*queue).size(), 1u);

  queue->close({.by = Clock::now() + seconds(250)});  // 238 of them for queries
  queue->submit(query(1, 3));
  queue->submit({.id = 2, .state = {0.0}, .steps = 1, .steps_after = 2});
  queue->submit(query(3, 2));
  queue->submit({.id = 4, .state = {0.0}, .steps = 1, .steps_after = 1});
  EXPECT_FALSE(queue->over());
  EXPECT_EQ(queue->running().size(), 2u);

  std::vector<std::uint64_t> ids;
  EXPECT_TRUE(test::eventually([&] {
    if (const auto reply = queue->next(Clock::now())) ids.push_back(reply->id);
    return queue->over();
  }));
  std::ranges::sort(ids);
  EXPECT_EQ(ids, (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(queue->open(), 2u);
  EXPECT_EQ(world.begun.size(), 3u);
}

TEST(SlotQueue, BeforeTheFirstAnswerItGoesByWhatIsExpected) {
  for (const double expected : {0.0, 10.0, 1000.0}) {
    World world;
    const auto queue = queue_of(world, {});
    queue->close({.by = Clock::now() + seconds(100), .usual = expected});

    queue->submit(query(1));

    EXPECT_EQ(queue->over(), expected == 1000.0);
    EXPECT_EQ(world.begun.size(), expected == 1000.0 ? 0u : 1u);
  }
}

// Half of the time there is, where that is not even enough to end things.
TEST(SlotQueue, GivesBackWhatStillRunsBeforeTheEnd) {
  World world;
  world.fate = [](const Query&, int) { return std::nullopt; };
  const auto queue = queue_of(world, {.slots = 1, .grace = 10.0});
  const auto begun = Clock::now();
  queue->submit(query(1));
  queue->submit(query(2));
  queue->close({.by = begun + milliseconds(100)});
  queue->close({.by = begun + seconds(50)});  // it never moves away

  EXPECT_TRUE(test::eventually([&] {
    EXPECT_FALSE(queue->next(Clock::now() + milliseconds(5)));
    return queue->over();
  }));

  EXPECT_GE(Clock::now() - begun, milliseconds(50));
  EXPECT_EQ(world.ended, std::vector<std::string>{kNotWanted});
  EXPECT_EQ(world.begun.size(), 1u);
  EXPECT_EQ(queue->open(), 2u);
  EXPECT_TRUE(queue->running().empty());
}

// A worker may take longer to come up than a query takes.
TEST(SlotQueue, GettingReadyDoesNotCount) {
  World world;
  world.fate = [](const Query&, int) { return std::nullopt; };
  world.getting_ready = {0};
  const auto queue = queue_of(world, {.limits = {.seconds = 0.03}});
  queue->submit(query(1));

  EXPECT_FALSE(queue->next(Clock::now() + milliseconds(100)));
  EXPECT_TRUE(world.ended.empty());
  world.getting_ready.clear();

  const auto ready = Clock::now();
  EXPECT_TRUE(queue->next(ready + seconds(5)));
  EXPECT_EQ(world.ended.size(), 1u);
  EXPECT_GE(Clock::now() - ready, milliseconds(29));  // of 30: it may have looked just before
}

// A worker that was ended while it came up is lost, but that is what was wanted.
TEST(SlotQueue, WhatIsEndedIsNotBegunAgain) {
  World world;
  world.fate = [](const Query&, int) { return std::nullopt; };
  world.ends_lost = true;
  const auto queue = queue_of(world, {.retries = 3, .limits = {.seconds = 0.03}});
  queue->submit(query(1));

  const auto replies = replies_of(*queue);

  EXPECT_EQ(world.begun.size(), 1u);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].answer.status, Answer::Status::failed);
}

// Nobody knows what is slow before eight answers are there.
TEST(SlotQueue, TimeLimitByRuleBeginsWithEightAnswers) {
  for (const std::uint64_t known : {7, 8}) {
    World world;
    world.fate = [](const Query& q, int) -> std::optional<Outcome> {
      if (q.id == 99) return std::nullopt;
      return ok(q.id == 0 ? 1000.0 : 0.01);  // a median is not moved by one
    };
    const auto queue = queue_of(world, {.limits = {.factor = 5, .least = 0.001}});
    for (std::uint64_t id = 0; id < known; ++id) queue->submit(query(id));
    ASSERT_EQ(replies_of(*queue).size(), known);
    queue->submit(query(99));

    const auto reply =
        queue->next(Clock::now() + (known < 8 ? milliseconds(200) : milliseconds(5000)));

    ASSERT_EQ(reply.has_value(), known >= 8);
    if (!reply) continue;
    EXPECT_TRUE(contains(reply->answer.reason, "5 times the median of 0.01 s a step"));
    EXPECT_GE(reply->answer.attempts, 1);
  }
}

TEST(SlotQueue, TimeLimitByRuleGrowsWithStepsAndHasAFloor) {
  const auto limit_of = [](double least, std::size_t steps) {
    World world;
    world.fate = [](const Query& q, int) -> std::optional<Outcome> {
      if (q.id == 99) return std::nullopt;
      return ok(0.02 * static_cast<double>(q.steps));
    };
    const auto queue = queue_of(world, {.limits = {.factor = 2, .least = least}});
    for (std::uint64_t id = 0; id < 8; ++id) queue->submit(query(id, id % 4 + 1));
    EXPECT_EQ(replies_of(*queue).size(), 8u);
    const auto begun = Clock::now();
    queue->submit(query(99, steps));
    EXPECT_TRUE(queue->next(begun + seconds(5)));
    return std::chrono::duration<double>(Clock::now() - begun).count();
  };

  // At least: a limit is never early, however busy the machine is.
  EXPECT_GE(limit_of(0.001, 1), 0.04);
  EXPECT_GE(limit_of(0.001, 5), 0.2);
  EXPECT_GE(limit_of(0.1, 1), 0.1);
}

// Failures say nothing about how long an answer takes.
TEST(SlotQueue, FailuresDoNotCountForTheTimeLimit) {
  World world;
  world.fate = [](const Query& q, int) -> std::optional<Outcome> {
    if (q.id == 99) return std::nullopt;
    return failed(false);
  };
  const auto queue = queue_of(world, {.limits = {.factor = 5, .least = 0.001}});
  for (std::uint64_t id = 0; id < 20; ++id) queue->submit(query(id));
  ASSERT_EQ(replies_of(*queue).size(), 20u);
  queue->submit(query(99));

  EXPECT_FALSE(queue->next(Clock::now() + milliseconds(100)));
  EXPECT_TRUE(world.ended.empty());
}

TEST(SlotQueue, NoFactorNoLimit) {
  World world;
  world.fate = [](const Query& q, int) -> std::optional<Outcome> {
    if (q.id == 99) return std::nullopt;
    return ok(0.0);
  };
  const auto queue = queue_of(world, {.limits = {.factor = 0, .least = 0}});
  for (std::uint64_t id = 0; id < 20; ++id) queue->submit(query(id));
  ASSERT_EQ(replies_of(*queue).size(), 20u);
  queue->submit(query(99));

  EXPECT_FALSE(queue->next(Clock::now() + milliseconds(100)));
}

TEST(SlotQueue, GivesBackWhatWaitsAndWhatRuns) {
  World world;
  world.fate = [](const Query& q, int) -> std::optional<Outcome> {
    return q.id == 1 ? std::nullopt : std::optional(ok());
  };
  const auto queue = queue_of(world, {.slots = 1});
  for (std::uint64_t id : {1, 2, 3}) queue->submit(query(id));

  EXPECT_FALSE(queue->give_back(77));
  EXPECT_TRUE(queue->give_back(2));
  EXPECT_FALSE(queue->give_back(2));
  EXPECT_TRUE(queue->give_back(1));
  EXPECT_EQ(queue->open(), 1u);
  EXPECT_EQ(world.ended.size(), 1u);
  const auto replies = replies_of(*queue);

  EXPECT_EQ(ids_of(replies), std::vector<std::uint64_t>{3});
  EXPECT_EQ(queue->open(), 0u);
}

TEST(SlotQueue, AnIdThatWasGivenBackIsFree) {
  World world;
  world.fate = [n = 0](const Query&, int) mutable -> std::optional<Outcome> {
    return ++n == 1 ? std::nullopt : std::optional(ok());
  };
  const auto queue = queue_of(world, {.slots = 1});
  queue->submit(query(1));
  queue->give_back(1);

  queue->submit(query(1));
  const auto replies = replies_of(*queue);

  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].answer.status, Answer::Status::ok) << "the first one's end was taken for it";
}

TEST(SlotQueue, HoldingBeginsNothingMore) {
  World world;
  world.fate = [](const Query& q, int attempt) -> std::optional<Outcome> {
    return q.id == 1 && attempt == 1 ? failed(true) : ok();
  };
  const auto queue = queue_of(world, {.slots = 2, .retries = 3});
  for (std::uint64_t id : {1, 2, 3}) queue->submit(query(id));

  queue->close({.hold = true});
  queue->submit(query(4));
  const auto replies = replies_of(*queue, milliseconds(50));

  EXPECT_EQ(ids_of(replies), std::vector<std::uint64_t>{2});
  EXPECT_EQ(queue->open(), 3u);
  EXPECT_EQ(world.begun.size(), 2u);
  EXPECT_TRUE(queue->running().empty());
}

TEST(SlotQueue, WhatIsGivenBackIsForgotten) {
  World world;
  world.fate = [](const Query& q, int) -> std::optional<Outcome> {
    return q.id < 100 ? std::nullopt : std::optional(ok());
  };
  const auto queue = queue_of(world, {.slots = 2});
  for (std::uint64_t id : {1, 2, 3}) queue->submit(query(id));

  for (std::uint64_t id : {1, 2, 3}) EXPECT_TRUE(queue->give_back(id));
  EXPECT_EQ(queue->open(), 0u);
  EXPECT_FALSE(queue->ready());
  EXPECT_EQ(world.ended.size(), 2u);
  for (std::uint64_t id : {101, 102, 103}) queue->submit(query(id));
  const auto replies = replies_of(*queue);

  EXPECT_EQ(ids_of(replies), (std::vector<std::uint64_t>{101, 102, 103}));
  EXPECT_EQ(world.most, 2u);
}

// What is not wanted any more has not failed.
TEST(SlotQueue, TellsSlotsThatNobodyWantsIt) {
  World world;
  world.fate = [](const Query&, int) { return std::nullopt; };
  const auto queue = queue_of(world, {});
  queue->submit(query(1));

  EXPECT_TRUE(queue->give_back(1));

  EXPECT_EQ(world.ended, std::vector<std::string>{kNotWanted});
}

TEST(SlotQueue, EndsWhatRunsWhenItIsDropped) {
  World world;
  world.fate = [](const Query&, int) { return std::nullopt; };
  {
    const auto queue = queue_of(world, {.slots = 3});
    for (std::uint64_t id : {1, 2, 3, 4}) queue->submit(query(id));
    EXPECT_EQ(world.running, 3u);
  }
  EXPECT_EQ(world.ended.size(), 3u);
  EXPECT_EQ(world.running, 0u);
  EXPECT_EQ(world.begun.size(), 3u);
}

// A worker stays when a query has ended: it must be gone before its folder is.
TEST(SlotQueue, WaitsForIdleSlotsWhenItIsDropped) {
  World world;
  world.let_go = 7;
  {
    const auto queue = queue_of(world, {.slots = 2});
    for (std::uint64_t id : {1, 2}) queue->submit(query(id));
    replies_of(*queue);
  }
  EXPECT_EQ(world.let_go, 0);
}

TEST(SlotQueue, DoesNotWaitForEverWhenItIsDropped) {
  World world;
  world.heeds_end = false;
  world.fate = [](const Query&, int) { return std::nullopt; };
  {
    const auto queue = queue_of(world, {.grace = -1.8});  // and two seconds
    queue->submit(query(1));
  }
  EXPECT_EQ(world.ended.size(), 1u);
}

TEST(SlotQueue, TellsWhatRuns) {
  World world;
  world.fate = [](const Query&, int) { return std::nullopt; };
  const auto queue = queue_of(world, {.slots = 2});
  for (std::uint64_t id : {4, 5, 6}) queue->submit(query(id));

  const std::vector<Running> running = queue->running();

  ASSERT_EQ(running.size(), 2u);
  EXPECT_EQ(running[0].id, 4u);
  EXPECT_EQ(running[1].id, 5u);
  EXPECT_GE(running[0].seconds, 0.0);
  EXPECT_EQ(running[1].where, "slot 1, here");
}

TEST(SlotQueue, ASlotThatCannotBeMadeLosesNoQuery) {
  World world;
  int refusals = 2;
  const auto queue = make_slot_queue({.slots = 2}, [&](std::size_t number) {
    if (refusals-- > 0) throw Error(ErrorKind::unavailable, "no slot today");
    return std::make_unique<FakeSlot>(world, number);
  });

  queue->submit(query(1));
  EXPECT_THROW(queue->next(Clock::now()), Error);
  EXPECT_THROW(queue->next(Clock::now()), Error);
  const auto replies = replies_of(*queue);

  EXPECT_EQ(ids_of(replies), std::vector<std::uint64_t>{1});
}

// A full disk of ours is nobody's failure. Broken by: an answer that is lost with the error, a
// query that is not asked again, or one that has been tried.
TEST(SlotQueue, WhatASlotThrowsComesBehindTheAnswersAndIsNoTry) {
  World world;
  bool full = true;
  world.fate = [&](const Query& what, int) {
    if (what.id == 2 && full) throw Error(ErrorKind::storage, "no room");
    return std::optional(ok());
  };
  const auto queue = queue_of(world, {.slots = 3});
  for (std::uint64_t id : {1, 2, 3}) queue->submit(query(id));

  const auto first = queue->next(Clock::now() + seconds(5));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->id, 1u);
  expect_error(ErrorKind::storage, "no room", [&] { queue->next(Clock::now() + seconds(5)); });
  full = false;
  const auto replies = replies_of(*queue);

  EXPECT_EQ(ids_of(replies), (std::vector<std::uint64_t>{2, 3}));
  for (const Reply& reply : replies) EXPECT_EQ(reply.answer.attempts, 1);
}

// Broken by: an error although another query runs, one that is charged as a try, a slot that never
// tries again.
TEST(SlotQueue, WaitsForWhatTheSystemDoesNotGiveWhileOthersRun) {
  World world;
  int refused = 0;
  world.fate = [&](const Query& what, int) -> std::optional<Outcome> {
    if (what.id == 1) return std::nullopt;
    if (refused < 12) throw Error(ErrorKind::storage, fmt::format("no socket {}", ++refused));
    return ok();
  };
  const auto queue = queue_of(world, {.slots = 2});
  for (std::uint64_t id : {1, 2}) queue->submit(query(id));

  const auto reply = queue->next(Clock::now() + seconds(60));

  ASSERT_TRUE(reply);
  EXPECT_EQ(refused, 12) << "more tries than 1.5 s have";
  EXPECT_EQ(reply->id, 2u);
  EXPECT_EQ(reply->answer.status, Answer::Status::ok);
  EXPECT_EQ(reply->answer.attempts, 1);
}

// Whether it fails to begin, or a moment later.
TEST(SlotQueue, TriesForAMomentWhereNothingElseRuns) {
  for (const bool at_look : {false, true}) {
    World world;
    int refusals = at_look ? 0 : 3;
    world.lacks_at_look = at_look ? 3 : 0;
    world.fate = [&](const Query&, int) -> std::optional<Outcome> {
      if (refusals-- > 0) throw Error(ErrorKind::storage, "no process");
      return ok();
    };
    const auto queue = queue_of(world, {.slots = 1});
    queue->submit(query(1));

    const auto reply = queue->next(Clock::now() + seconds(60));

    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->answer.status, Answer::Status::ok);
    EXPECT_EQ(reply->answer.attempts, 1);
  }
}

// Two that begin and then fail do not count as others that run.
TEST(SlotQueue, AShortageWithoutAnEndIsTold) {
  World world;
  world.lacks_at_look = 1000000;
  const auto queue = queue_of(world, {.slots = 2});
  for (std::uint64_t id : {1, 2, 3}) queue->submit(query(id));

  expect_error(ErrorKind::storage, "no step is charged for it",
               [&] { queue->next(Clock::now() + seconds(60)); });
  EXPECT_EQ(queue->open(), 3u);
  world.lacks_at_look = 0;

  const auto replies = replies_of(*queue);
  EXPECT_EQ(ids_of(replies), (std::vector<std::uint64_t>{1, 2, 3}));
  for (const Reply& reply : replies) EXPECT_EQ(reply.answer.attempts, 1);
}

// Whatever the slots do and whenever it is asked, every query that was not given back gets exactly
// one reply, and no slot ever has two. Broken if a retried query is also answered, if one that is
// retried, lost and then late is dropped, or if the end of one that was given back is taken for the
// next query of its slot.
TEST(SlotQueue, EveryQueryGetsExactlyOneReply) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Rng rng = Rng(seed).split("slots");
    World world;
    std::uint64_t tries = 0;
    bool may_lose = seed % 15 == 0;  // a lost slot rests for 0.2 s
    world.fate = [&](const Query&, int) -> std::optional<Outcome> {
      const double u = rng.uniform(tries++);
      if (u < 0.1) return std::nullopt;
      if (u < 0.15 && std::exchange(may_lose, false)) return lost();
      if (u < 0.3) return failed(true);
      if (u < 0.4) return failed(false);
      return ok();
    };
    const SlotRules rules{.slots = 1 + rng.split("slots").below(0, 5),
                          .retries = rng.split("retries").below(0, 3),
                          .limits = {.seconds = 0.002}};
    const auto queue = queue_of(world, rules);
    std::map<std::uint64_t, int> wanted, replies;  // by id, which may be used again
    std::uint64_t next = 0;
    const auto take = [&](Clock::time_point until) {
      if (queue->open() == 0) return;
      if (const auto reply = queue->next(until)) {
        ++replies[reply->id];
        EXPECT_LE(reply->answer.attempts, static_cast<int>(rules.retries) + 1);
      }
    };
    for (std::uint64_t turn = 0; turn < 120; ++turn) {
      const double u = rng.split("turns").uniform(turn);
      if (u < 0.5) {
        ++wanted[next];
        queue->submit(query(next++));
      } else if (u < 0.9) {
        take(Clock::now());
      } else if (next > 0) {
        const std::uint64_t id = rng.split("ids").below(turn, next);
        if (!queue->give_back(id)) continue;
        if (u < 0.95)
          queue->submit(query(id));
        else
          --wanted[id];
      }
    }
    const auto until = Clock::now() + seconds(20);
    while (queue->open() > 0 && Clock::now() < until) take(until);

    ASSERT_EQ(queue->open(), 0u) << "seed " << seed;
    for (std::uint64_t id = 0; id < next; ++id)
      EXPECT_EQ(replies[id], wanted[id]) << "seed " << seed << ", id " << id;
    EXPECT_LE(world.most, rules.slots);
  }
}

}  // namespace
}  // namespace stap::test
