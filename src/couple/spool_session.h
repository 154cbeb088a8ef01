// The asking side of a spool folder, for all queues of this process there.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "couple/spool_folder.h"
#include "couple/spool_life.h"
#include "couple/spool_problem.h"
#include "stap/core/solver_queue.h"

namespace stap {

class SpoolAsker {
 public:
  virtual ~SpoolAsker() = default;
  /// Asks for nothing more: what waits is not to be begun for it.
  virtual bool held() const = 0;
  virtual void take(std::uint64_t id, const std::string& key, const Answer& answer) = 0;
};

class SpoolSession {
 public:
  using Clock = SolverQueue::Clock;

  SpoolSession(SpoolFolder folder, double silence);

  std::mutex mutex;  ///< whoever calls holds it
  /// What servers need to know before the problem's queries come; the last one counts.
  void add(const std::string& id, SpoolProblem problem);
  void ask(SpoolAsker& asker, std::uint64_t id, const std::string& key, const Query& query);
  /// Does what is due(): brings answers, asks more, sees who has gone. Throws Error(storage).
  void look();
  Clock::time_point due() const { return due_; }
  /// The asker wants to know no longer. `for_good`: nor will anybody later, so a server ends it.
  void leave(const SpoolAsker& asker, std::uint64_t id, const std::string& key, bool for_good);
  /// Takes back what no server has begun and only those ask for who are held.
  void withdraw();
  /// An answer that was taken is in a journal; or it `stays`, for who asks again.
  void release(const std::string& key, bool stays);
  /// Which server has it, for how long as far as is known here.
  struct Place {
    std::string server;
    double seconds = 0.0;
  };
  std::optional<Place> place(const std::string& key) const;

 private:
  enum class Where { here, waiting, claimed };
  struct Item {
    Query query;
    std::vector<std::pair<SpoolAsker*, std::uint64_t>> askers;
    Where where = Where::here;
    std::string server{};
    Clock::time_point since{}, missing{};
    int losses = 0, flaws = 0;

    bool held() const;  // by all who ask
  };
  using Items = std::unordered_map<std::string, Item>;

  void first_look();
  void look_for_answers();
  bool take_answer(Items::iterator item);
  void deliver(Items::iterator item, const Answer& answer);
  void look_at_claims();
  void give_to_others(const std::string& key, const std::string& server);
  void look_for_lost();
  void ask_again(Items::iterator item);
  void put_queries();
  void put_problem(const std::string& id);
  void move(Item& item, Where where);
  std::size_t room() const;

  SpoolFolder folder_;
  Clock::duration silence_;
  AskRight right_;
  bool begun_ = false;
  std::map<std::string, SpoolProblem> problems_;
  Items items_;
  std::deque<std::string> here_;                // keys to be put, in order; some may be elsewhere
  std::size_t waiting_ = 0, slots_ = 0;         // items in queries/; of living servers
  std::unordered_map<std::string, int> taken_;  // answers that are not released, how often
  std::unordered_set<std::string> answers_;     // that lie there, and nobody asked for
  std::unordered_set<std::string> old_;         // that were there before us
  std::map<std::string, std::pair<std::string, Clock::time_point>> claims_;  // by key
  std::unordered_set<std::uint64_t> closed_;  // hashes of keys whose answers are not wanted
  Clock::duration pause_;                     // between two looks for answers
  Clock::time_point due_{}, answers_due_{}, claims_due_{}, lost_due_{}, fresh_{};
};

}  // namespace stap
