#include "shards.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "standard_streams.h"
#include "stap/core/error.h"
#include "stap/run/by_hand.h"
#include "stap/study/study.h"

namespace stap::app {
namespace {

std::optional<std::size_t> number_of(std::string_view text) {
  std::size_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::size_t from_slurm(const char* variable) {
  const char* text = std::getenv(variable);
  const auto number = number_of(text != nullptr ? text : "");
  if (!number)
    throw Error(
        ErrorKind::config,
        fmt::format("--shard auto is for the tasks of a Slurm array, but {} is not set: give "
                    "--shard i/n",
                    variable));
  return *number;
}

// The task's place among all of its array.
void read_task(Share& share) {
  const std::size_t task = from_slurm("SLURM_ARRAY_TASK_ID"),
                    first = from_slurm("SLURM_ARRAY_TASK_MIN"),
                    last = from_slurm("SLURM_ARRAY_TASK_MAX"),
                    count = from_slurm("SLURM_ARRAY_TASK_COUNT");
  const std::size_t step = count > 1 ? (last - first) / (count - 1) : 1;
  // --array=2,5,6 is a part of an array that was submitted before: which part cannot be told.
  if (count == 0 || step == 0 || task < first || task > last ||
      first + step * (count - 1) != last || (task - first) % step != 0)
    throw Error(
        ErrorKind::config,
        fmt::format("--shard auto needs a whole array, but task {} is one of {} from {} to {}: "
                    "give --shard i/n, such as --shard $SLURM_ARRAY_TASK_ID/6",
                    task, count, first, last));
  share.shard = (task - first) / step;
  share.shards = count;
}

// One process and what it says.
struct Part {
  std::string device;
  pid_t process = -1;
  int words = -1;      // the end of its stderr that we read
  std::string line{};  // not at its end yet
  int status = -1;
};

// The given command without what is another one's for each part.
std::vector<std::string> common_words(const Globals& globals) {
  std::vector<std::string> words;
  const auto is_own = [](const std::string& word) {
    return word == "--device" || word == "--shard" || word == "--threads";
  };
  for (std::size_t i = 0; i < globals.words.size(); ++i) {
    const std::string& word = globals.words[i];
    if (is_own(word))
      ++i;
    else if (!is_own(word.substr(0, word.find('='))))
      words.push_back(word);
  }
  return words;
}

Part start(std::vector<std::string> words, const std::string& device, const sigset_t& mask) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Error(ErrorKind::unavailable,
                fmt::format("cannot start a process for {}: {}", device, std::strerror(errno)));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = getpid(), child = fork();
  if (child == 0) {
    setpgid(0, 0);  // a terminal's Ctrl-C comes to us alone, and is handed on
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(143);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    const int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    execv("/proc/self/exe", arguments.data());
    _exit(127);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    throw Error(ErrorKind::unavailable,
                fmt::format("cannot start a process for {}: {}", device, std::strerror(errno)));
  }
  return {device, child, ends[0]};
}

// Shows whole lines; false: there will be no more.
bool show_words(Part& part) {
  char bytes[4096];
  const ssize_t n = read(part.words, bytes, sizeof bytes);
  if (n < 0 && errno == EINTR) return true;
  part.line.append(bytes, n > 0 ? static_cast<std::size_t>(n) : 0);
  if (n <= 0 && !part.line.empty() && !part.line.ends_with('\n')) part.line += '\n';
  for (std::size_t end; (end = part.line.find('\n')) != std::string::npos;) {
    write_stderr(fmt::format("[{}] {}\n", part.device, part.line.substr(0, end)));
    part.line.erase(0, end + 1);
  }
  return n > 0;
}

class Parts {
 public:
  Parts() {
    sigset_t heard;
    sigemptyset(&heard);
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&heard, signal);
    sigprocmask(SIG_BLOCK, &heard, &before_);
    signals_ = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~Parts() {
    hand_on(SIGTERM);
    for (Part& part : all_) wait_for(part);
    if (signals_ >= 0) close(signals_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  void add(std::vector<std::string> words, const std::string& device) {
    all_.push_back(start(std::move(words), device, before_));
  }

  // Until all have ended.
  void wait() {
    for (;;) {
      std::vector<pollfd> watched{{signals_, POLLIN, 0}};
      std::vector<Part*> owners;
      for (Part& part : all_)
        if (part.words >= 0) {
          watched.push_back({part.words, POLLIN, 0});
          owners.push_back(&part);
        }
      if (owners.empty()) break;
      poll(watched.data(), watched.size(), -1);
      signalfd_siginfo came{};
      while (read(signals_, &came, sizeof came) == sizeof came) {
        last_ = static_cast<int>(came.ssi_signo);
        hand_on(last_);
      }
      for (std::size_t i = 0; i < owners.size(); ++i)
        if (watched[i + 1].revents != 0 && !show_words(*owners[i])) {
          close(std::exchange(owners[i]->words, -1));
          wait_for(*owners[i]);
        }
    }
  }

  const std::vector<Part>& all() const { return all_; }
  // The last signal that came, 0: none.
  int last_signal() const { return last_; }

 private:
  void hand_on(int signal) {
    for (const Part& part : all_)
      if (part.process > 0) kill(part.process, signal);
  }
  static void wait_for(Part& part) {
    if (part.process <= 0) return;
    while (waitpid(part.process, &part.status, 0) < 0 && errno == EINTR) {
    }
    part.process = -1;
  }

  sigset_t before_{};
  int signals_ = -1;
  std::vector<Part> all_;
  int last_ = 0;
};

// How all of them together have ended.
LoopEnd end_of(const std::vector<Part>& parts, int signal) {
  LoopEnd end = LoopEnd::finished;
  for (const Part& part : parts) {
    const int code = WIFEXITED(part.status) ? WEXITSTATUS(part.status) : -1;
    if (code == kContinue || (WIFSIGNALED(part.status) && WTERMSIG(part.status) == signal))
      end = LoopEnd::stopped;
    else if (code == kOtherPart && end == LoopEnd::finished)
      end = LoopEnd::paused;
    else if (code < 0)
      throw Error(
          ErrorKind::internal,
          fmt::format("the process for {} was ended by signal {}; run the same command again to "
                      "continue",
                      part.device, WTERMSIG(part.status)));
    else if (code != 0 && code != kOtherPart)
      throw EndWith{code};  // it has said why
  }
  return end;
}

}  // namespace

void read_shard(const std::string& text, Share& share) {
  if (text.empty()) return;
  if (text == "auto") return read_task(share);
  const std::size_t slash = text.find('/');
  const auto shard = number_of(std::string_view(text).substr(0, slash));
  const auto shards = slash == std::string::npos
                          ? std::nullopt
                          : number_of(std::string_view(text).substr(slash + 1));
  if (!shard || !shards || *shard >= *shards)
    throw Error(ErrorKind::config,
                fmt::format("--shard '{}', expected i/n with i from 0 to n - 1, or auto", text));
  share.shard = *shard;
  share.shards = *shards;
}

void sweep_on_devices(const std::vector<SweepRun>& runs, const Task& task, const Globals& globals,
                      Console& console, std::ostream& out) {
  const Purpose purpose = task.share.until == Until::trained ? Purpose::train : Purpose::run;
  for (const SweepRun& run : runs) {  // said once, not by each
    make_study(run.document, purpose);
    const config::Value* spool = config::find_path(run.document, "solver.spool");
    if (spool != nullptr && spool->text() != nullptr && task.share.until != Until::trained)
      throw Error(
          ErrorKind::config,
          fmt::format("solver.spool is {}, which serves one process, but --device starts one "
                      "per device: give one device, or use one with '--until bought' and "
                      "all with '--until trained'",
                      *spool->text()));
  }
  const std::size_t devices = globals.devices.size();
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int threads =
      std::max(1, (globals.threads > 0 ? globals.threads : cores) / static_cast<int>(devices));
  Parts parts;
  for (std::size_t d = 0; d < devices; ++d) {
    std::vector<std::string> words = common_words(globals);
    words.insert(words.begin(), "stap");
    if (task.report != nullptr) words.emplace_back("--no-report");  // there is one of all of them
    // Of this shard's runs every one of `devices`, beginning with run d of them.
    const std::size_t shard = task.share.shard + task.share.shards * d;
    for (const std::string& word :
         {std::string("--shard"), fmt::format("{}/{}", shard, task.share.shards * devices),
          std::string("--device"), globals.devices[d], std::string("--threads"),
          fmt::format("{}", threads)})
      words.push_back(word);
    parts.add(std::move(words), globals.devices[d]);
  }
  parts.wait();
  const LoopEnd end = end_of(parts.all(), parts.last_signal());
  if (end == LoopEnd::stopped && parts.last_signal() != 0 && parts.last_signal() != SIGUSR1) {
    console.note(fmt::format("stopped; run the same command again to continue in {}", task.folder));
    std::signal(parts.last_signal(), SIG_DFL);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, parts.last_signal());
    sigprocmask(SIG_UNBLOCK, &one, nullptr);
    std::raise(parts.last_signal());
  }
  const InterruptGuard none;
  report_end(end, task, {}, none, console, out);
}

}  // namespace stap::app
