// Whose turn it is to work in a folder, among processes of all machines that see it.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

namespace stap {

/// The right to work in a folder, as long as this lives. No file lock is relied on: a file `maker`
/// is made by one process only, and its owner writes a number into it every now and then. An owner
/// that was asleep for so long that another took over finds out.
class Turn {
 public:
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  /// Another has taken over: nothing must be written any more.
  bool lost() const;

 private:
  friend class TurnTaker;
  class Pulse;
  explicit Turn(std::unique_ptr<Pulse> pulse);
  std::unique_ptr<Pulse> pulse_;
};

/// One that wants the turn, and watches who has it.
class TurnTaker {
 public:
  using Clock = std::chrono::steady_clock;

  /// `pulse`: between two signs of life; after ten of them without one an owner is taken for dead.
  /// (One on this machine that is dead is seen at once.)
  explicit TurnTaker(std::filesystem::path folder,
                     std::chrono::milliseconds pulse = std::chrono::seconds(3));

  /// Null: somebody else has it; ask again. Makes the folder. Throws Error(storage).
  std::unique_ptr<Turn> take();
  /// Who has it, for people: "process 4711 on n3".
  const std::string& owner() const { return owner_; }

  /// Whether a file of this name in the folder is ours.
  static bool is_its_file(const std::string& name);

 private:
  bool is_stale(const std::string& content);
  void remove(const std::string& content) const;

  std::filesystem::path folder_, file_;
  std::chrono::milliseconds pulse_;
  std::string seen_, owner_;
  Clock::time_point since_{};
};

}  // namespace stap
