// Other people's programs, started and ended so that nothing of them is left.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace stap {

/// What to start.
struct Launch {
  std::vector<std::string> argv;      ///< argv[0] as execvp takes it
  std::vector<std::string> env{};     ///< "NAME=value", added to ours
  std::filesystem::path folder{};     ///< to work in; empty: ours
  int in = -1, out = -1, err = -1;    ///< what it gets as 0, 1, 2; -1: /dev/null. Stay ours
  double grace = 10.0;                ///< seconds between SIGTERM and SIGKILL
  std::uint64_t file_bytes_most = 0;  ///< of one file it writes; 0: no limit
  bool by_fork = false;               ///< without the program stap-warden, as where there is none
};

/// How a program ended.
struct Ending {
  int code = 0;         ///< of exit()
  int signal = 0;       ///< or the signal that ended it
  int start_error = 0;  ///< or the errno with which it could not be started
  std::string lack{};   ///< or what the system did not give, of which it knows nothing; empty: all
  std::size_t left_behind = 0;    ///< processes of it that were still there, and were ended
  double seconds = 0.0;           ///< from its start to its end
  std::uint64_t memory_peak = 0;  ///< bytes, of its largest process

  bool good() const { return code == 0 && signal == 0 && start_error == 0 && lack.empty(); }
  /// Throws Error(storage) where something lacked: that is no fault of the program's.
  void check_lack() const;
  /// By a signal that a process does not send itself when it crashes.
  bool by_force() const;
  /// "exit code 3", "signal 11 (Segmentation fault)", "cannot be started: ...".
  std::string text() const;
};

/// A program in a session of its own below a warden (warden.h), which ends all its processes, also
/// those that left the session, when it is told to, when the program itself ends, and when this
/// process is gone, however that happened. What belongs to the program has STAP_STARTED_BY=... in
/// its environment. If the warden is killed, is stopped again and again, or does not do what it is
/// told to in time, all of it is ended without the warden.
class Process {
 public:
  /// Returns at once. Throws Error(storage) if no process, socket or descriptor is to be had; that
  /// the program cannot be started is told by ended().
  explicit Process(const Launch& launch);
  /// Ends it, with its grace, without waiting for that.
  ~Process();
  Process(Process&&) noexcept;
  Process& operator=(Process&&) noexcept;

  /// Becomes readable when it has ended.
  int descriptor() const { return control_; }
  /// When ended() has something to do although that is not readable. It is to be asked once a
  /// second besides.
  std::chrono::steady_clock::time_point due() const { return life_.due; }
  /// How, once nothing of it is left. Does not wait, but for 2 s at most where it ends it itself.
  std::optional<Ending> ended();
  /// Asks it to end (SIGTERM, and SIGKILL after its grace); `now`: SIGKILL at once. Does not wait.
  void end(bool now = false);
  /// It was told to leave: it has two seconds for that before it is ended. Does not wait.
  void leave();
  /// Of the warden, whose descendants are all that was started.
  int warden() const { return life_.warden; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Life {
    int warden = -1;
    std::string mark{};  // of the environment of all that belongs to it
    double grace = 0.0;
    int stops = 0;  // how often the warden was found stopped
    int blows = 0;  // how often it was ended without the warden
    Clock::time_point due = Clock::time_point::max();
    Clock::time_point heard_by = Clock::time_point::max();  // the warden, of an order
    std::optional<Ending> ending{};
  };

  void tell(char order);
  void look_after_warden(bool stopped, bool hung_up);

  int control_ = -1;  // our end of the warden's socket
  Life life_;
};

}  // namespace stap
