#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>

#include "stap/journal/answer_store.h"
#include "stap/journal/journal.h"
#include "stap/journal/logged_answers.h"

namespace stap {

class Reserve;

/// Journal and answer store together: a line of type "answer" for every answer, its state in the
/// store, place and checksum in the line. What was appended is on disk when commit() returns and
/// must not be used before. Bytes of the store that no line names go with the first append. Both
/// files are forced to disk at the same time, so a power cut may leave lines of the commit it hit
/// without their states: these, and those behind them, are dropped on opening. Anything else that
/// does not fit is Error(data), with file and line, here or when the state is read.
class AnswerLog {
 public:
  static constexpr const char* kReserve = "reserve";  ///< the file that holds room

  /// Opens or creates both; the journal is locked. `others` is handed every line that is no answer.
  /// Throws as Journal and AnswerStore do.
  AnswerLog(std::filesystem::path journal, std::filesystem::path answers,
            const JournalVisitor& others = {});

  void append(std::size_t acquisition, const AnswerRecord& answer);
  /// Throws Error(storage): nothing of this commit must be used then, and every later one fails.
  void commit();
  /// A line that is no answer, with a commit of its own behind what was appended before.
  void note(std::string_view type, const config::Value& body);
  /// A line of type "breaker": these answers, appended before, do not count any more, as if nobody
  /// had asked. Nothing is written if there are none.
  void revoke(std::size_t acquisition, std::span<const AnswerKey> answers, std::string_view why);
  /// Drops all answers and lines, which are not needed any more, and begins again with this line.
  void restart(std::string_view type, const config::Value& body);

  /// Holds room for the last answers until this ends, in a file beside it, or goes without; their
  /// states have so many values.
  void hold_reserve(std::size_t values);
  /// The disk is full, and what was appended since is on disk only because of that room: nothing
  /// more should be paid for.
  bool on_reserve() const;

  /// All that count.
  LoggedAnswers recorded(std::size_t acquisition) const;
  /// Answers that a power cut had left without their states.
  std::size_t dropped() const { return dropped_; }
  /// Bytes that no line names: states that came just before a kill, or whose lines are lost.
  std::uint64_t unnamed() const { return unnamed_; }
  std::filesystem::path folder() const { return store_->path().parent_path(); }
  /// As Journal's.
  std::string left_by() const { return journal_->left_by(); }

 private:
  struct Opening;
  void take(Opening& opening, const JournalLine& line, const std::string& where);

  std::unique_ptr<Journal> journal_;
  std::shared_ptr<AnswerStore> store_;
  std::shared_ptr<Reserve> reserve_;
  std::map<std::size_t, std::size_t> counts_;  // answers by acquisition
  std::uint64_t group_ = 0;                    // number of the next commit
  std::size_t appended_ = 0;                   // to it
  std::size_t dropped_ = 0;
  std::uint64_t unnamed_ = 0;
};

/// Answers of a journal that may be in use, without their states and those that were revoked.
/// Throws Error(data) as read_journal does.
void read_answers(
    const std::filesystem::path& journal,
    const std::function<void(std::size_t acquisition, const AnswerRecord& answer)>& visit);

/// Hands on every answer of a journal that has a state, revoked or not, without the state: where it
/// is. Gives the byte behind the last. Only reads; throws Error(data) as read_journal does.
std::uint64_t visit_states(
    const std::filesystem::path& journal,
    const std::function<void(std::size_t acquisition, const AnswerRecord& answer,
                             const StatePlace& place)>& visit);
/// The states that a journal names, read once more and compared with their checksums. Only reads.
/// Throws Error(data) for the first that is damaged or cut off, and as read_journal does. How many
/// bytes there are besides: a crash leaves some, and a journal whose end is lost.
std::uint64_t check_answers(const std::filesystem::path& journal,
                            const std::filesystem::path& answers);

}  // namespace stap
