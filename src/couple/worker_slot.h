// A solver that is started once and then asked again and again.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "couple/connection.h"
#include "couple/process.h"
#include "couple/slot.h"
#include "couple/worker_slot_options.h"
#include "stap/core/outline.h"

namespace stap {

/// One worker, started by the first query and again by the one after it was lost. While idle it
/// may end as it likes. What it says is believed only as far as it follows the protocol: anything
/// else fails the query and ends it.
class WorkerSlot final : public Slot {
 public:
  WorkerSlot(const Outline& outline, WorkerSlotOptions options);
  /// Tells it to end, and ends it.
  ~WorkerSlot() override;

  void begin(const Query& query, int attempt) override;
  void watch(std::vector<pollfd>& descriptors) const override;
  std::optional<Outcome> look() override;
  void end(const std::string& why) override;
  std::string where() const override;
  Clock::time_point due() const override;
  bool getting_ready() const override { return state_ == State::starting; }
  bool let_go() override;

 private:
  enum class State { down, starting, idle, asking, ending };
  static constexpr int kFramesAtOnce = 64;  // of one look(), so that nobody keeps us from others

  static Clock::time_point later(Clock::time_point from, double seconds);
  void start();
  void look_for_room();
  void take_callers();
  void go_on_starting();
  void welcome(const Hello& hello);
  void ask();
  void go_on_asking();
  /// The query's outcome, once nothing of the worker is left.
  void fail(std::string why, bool retry);
  /// The system keeps something from us, so that it must be ended: nobody's failure, thrown once
  /// nothing of it is left.
  void lack(std::string what);
  /// What it said is wrong; while it starts, it did not come up.
  void breach(const std::string& flaw);
  /// It has answered a query before once more: another worker gets this one.
  void replace();
  /// It is going by itself: given a moment, so that how it ended can be told.
  void gone(std::string why);
  std::optional<Outcome> finish();
  void judge_launcher();
  bool dead();
  Clock::time_point due_by_state() const;

  Outline outline_;
  WorkerSlotOptions options_;
  State state_ = State::down;
  std::optional<Process> process_;
  std::unique_ptr<Listener> listener_;
  std::vector<std::unique_ptr<Connection>> callers_;  // who have not yet said who they are
  std::string turned_away_;                           // why, of the last of them
  std::string token_;
  std::unique_ptr<Connection> connection_;
  bool greeted_ = false;  // its hello came
  Hello hello_;

  const Query* query_ = nullptr;
  int attempt_ = 0;
  std::uint64_t id_ = 0;  // of the frame: queries that are asked again have new ones
  Clock::time_point started_{}, asked_{}, sign_{};
  std::optional<Clock::time_point> waits_since_{};  // its launcher, for room
  Outcome outcome_;
  std::string why_;         // of a failure
  bool by_itself_ = false;  // how it ended belongs to the reason
  bool lacks_ = false;      // why_ is no failure
  bool hung_up_ = false;    // its connection ended, and not at our wish
  bool had_to_be_ended_ = false;
  bool unheard_ = false;        // nothing came of it since it was asked
  bool late_ = false;           // it answered a query before, which is no fault of this one
  bool started_again_ = false;  // for the same query
  Clock::time_point end_at_{};  // when to end what should be ending by itself
};

}  // namespace stap
