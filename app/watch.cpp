// `stap watch`: the report of runs while they work, for a browser of this machine.
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "console.h"
#include "interrupt.h"
#include "stap/core/error.h"
#include "stap/data/store.h"
#include "stap/report/watch.h"
#include "stap/results/run_result.h"
#include "watch_http.h"
#include "watch_page.h"

extern char** environ;

namespace stap::app {
namespace {

struct WatchOptions {
  std::string folder;
  int port = 0;  ///< 0: any
  bool no_open = false;
  bool wait = false;  ///< for the folder
  bool stay = false;  ///< when the runs have ended
};

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::chrono::milliseconds kLookEvery{1000}, kNap{50};
constexpr std::chrono::seconds kLastView{10};  // for a browser to hear of the end,
constexpr std::chrono::seconds kLastPage{3};   // and to ask for the last page then
constexpr int kRest = 4;                       // times what making a page took

double time_of_day() {
  return Seconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

// What is served; the threads of the server read it, others replace it.
class Board {
 public:
  void set_page(LivePage page) {
    const std::lock_guard guard(mutex_);
    page_ = std::make_shared<const LivePage>(std::move(page));
    ++version_;
  }
  std::string version() const {
    const std::lock_guard guard(mutex_);
    return fmt::format("{}", version_);
  }
  void set_status(std::string status, bool ended) {
    const std::lock_guard guard(mutex_);
    status_ = std::make_shared<const std::string>(std::move(status));
    ended_ = ended;
  }
  bool has_page() const {
    const std::lock_guard guard(mutex_);
    return page_ != nullptr;
  }
  WebAnswer page() {
    const std::lock_guard guard(mutex_);
    if (page_ == nullptr) return {};
    // Whoever has heard of the end asks for the last page, and for nothing more.
    if ((page_->waiting && page_->last) || end_told_) end_seen_ = true;
    return {200, "text/html; charset=utf-8", page_->text, {}, page_->policy};
  }
  WebAnswer status() {
    const std::lock_guard guard(mutex_);
    if (ended_ && !end_told_) end_told_ = Clock::now();
    return {200, "application/json; charset=utf-8", *status_};
  }
  /// Somebody was told that all has ended, and has the last page or does not want it.
  bool end_seen() const {
    const std::lock_guard guard(mutex_);
    return end_seen_ || (end_told_ && Clock::now() - *end_told_ > kLastPage);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const LivePage> page_;
  std::shared_ptr<const std::string> status_ = std::make_shared<const std::string>("{}");
  std::size_t version_ = 0;
  bool ended_ = false;
  std::optional<Clock::time_point> end_told_;
  bool end_seen_ = false;
};

// Makes the page, and makes it again when files have changed: at most once a second, and at most a
// fifth of the time, so that the runs keep their cores.
class PageMaker {
 public:
  PageMaker(fs::path folder, Board& board)
      : folder_(std::move(folder)), board_(board), thread_([this](const std::stop_token& stop) {
          do {
            make(false);
            std::this_thread::sleep_for(kNap);
          } while (!stop.stop_requested());
          next_ = {};
          make(true);
          finished_ = true;
        }) {}

  /// Only what has changed until now is made; finished() says when that is done.
  void finish() { thread_.request_stop(); }
  bool finished() const { return finished_; }

 private:
  void make(bool last) {
    const auto start = Clock::now();
    if (start < next_) return;
    const std::string seen = files_seen(folder_);
    if (seen != seen_ || (last && waiting_)) {
      LivePage page = live_page(folder_, time_of_day(), last);
      waiting_ = page.waiting;
      board_.set_page(std::move(page));
    }
    seen_ = seen;
    next_ = Clock::now() + std::max<Clock::duration>(kLookEvery, kRest * (Clock::now() - start));
  }

  fs::path folder_;
  Board& board_;
  std::string seen_ = "nothing";
  bool waiting_ = false;  // what is shown says that there is nothing yet
  Clock::time_point next_{};
  std::atomic<bool> finished_ = false;
  std::jthread thread_;
};

// A browser is given a ticket that is good for once, since other users can see what programs are
// started with.
class Ticket {
 public:
  bool use(std::string_view given) {
    return same_secret(given, "/" + text_) && !used_.exchange(true);
  }
  void open(int port) {
    std::string url = fmt::format("http://127.0.0.1:{}/{}", port, text_), program = "xdg-open";
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    char* words[] = {program.data(), url.data(), nullptr};
    pid_t process = 0;
    if (posix_spawnp(&process, program.c_str(), &quiet, nullptr, words, environ) == 0)
      used_ = false;
    posix_spawn_file_actions_destroy(&quiet);
  }

 private:
  std::string text_ = random_token();
  std::atomic<bool> used_ = true;  // until it is given away
};

// Somebody sits before a screen of this machine.
bool has_screen() {
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
  };
  return isatty(STDOUT_FILENO) == 1 && (set("DISPLAY") || set("WAYLAND_DISPLAY")) &&
         !set("SSH_CONNECTION");
}

bool is_there(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "config.yaml", error) || fs::exists(folder / "sweep.json", error) ||
         fs::exists(folder / "status.json", error);  // while pool and test set are made
}

void wait_for(const WatchOptions& options, const InterruptGuard& interrupt, Console& console) {
  const fs::path folder = options.folder;
  if (is_there(folder)) return;
  if (!options.wait)
    throw Error(ErrorKind::data,
                fmt::format("there is no run or sweep in {0} yet: 'stap watch {0} --wait' waits "
                            "for it",
                            folder.string()));
  console.note(fmt::format("waiting for {}", folder.string()));
  while (!is_there(folder)) {
    if (interrupt.requested()) interrupt.end_program();
    std::this_thread::sleep_for(kNap);
  }
}

// There is a run with a configuration: its pool and test set are made.
bool has_begun(const fs::path& folder) {
  try {
    return !run_folders(folder).empty();
  } catch (const Error&) {
    return false;
  }
}

std::string last_words(const fs::path& folder) {
  std::error_code error;
  const fs::path report = folder / "report.html";
  const std::string over = fmt::format("nobody works in {} any more; ", folder.string());
  if (fs::exists(report, error)) return over + fmt::format("its report is {}\n", report.string());
  if (!has_begun(folder))
    return over +
           "it has no results: it ended while pool and test set were made, and the same "
           "command goes on with them\n";
  return over + fmt::format("'stap report {}' makes its report\n", folder.string());
}

void run_watch(const WatchOptions& options, const Globals& globals, std::ostream& out) {
  disable_store_exit_handler();
  const fs::path folder = options.folder;
  Console console(globals);
  const InterruptGuard interrupt;
  const std::string token = random_token();
  Ticket ticket;
  Board board;
  const LoopbackServer server(options.port, [&](const std::string& target) -> WebAnswer {
    if (same_secret(target, "/" + token + "/")) return board.page();
    if (same_secret(target, "/" + token + "/status.json")) return board.status();
    if (ticket.use(target)) return {302, "text/plain; charset=utf-8", "", "/" + token + "/"};
    return {};
  });
  wait_for(options, interrupt, console);
  PageMaker pages(folder, board);
  const auto nap = [&] {
    if (interrupt.requested()) interrupt.end_program();
    std::this_thread::sleep_for(kNap);
  };
  // A browser asks no more once it has heard of the end: not before the last page is there.
  const auto look = [&](bool last) {
    LiveFolder live = look_at_live(folder, time_of_day());
    const bool over = std::exchange(live.ended, last);
    board.set_status(config::json_text(to_value(live, board.version()), 0) + "\n", last);
    return over;
  };
  while (!board.has_page()) nap();
  bool ended = look(false);
  out << fmt::format("http://127.0.0.1:{}/{}/", server.port(), token) << std::endl;
  if (!options.no_open && has_screen()) ticket.open(server.port());
  for (auto next = Clock::now() + kLookEvery; !ended || options.stay; nap()) {
    if (Clock::now() < next) continue;
    ended = look(false);
    next = Clock::now() + kLookEvery;
  }
  for (pages.finish(); !pages.finished();) nap();
  look(true);
  for (const auto end = Clock::now() + kLastView; Clock::now() < end && !board.end_seen();) nap();
  out << last_words(folder);
}

}  // namespace

void add_watch(CLI::App& program, const Globals& globals) {
  const auto options = std::make_shared<WatchOptions>();
  CLI::App* command = program.add_subcommand(
      "watch", "Show the report of runs while they work, in a browser of this machine");
  command->add_option("folder", options->folder, "Folder of a run or a sweep")->required();
  command->add_option("--port", options->port, "Port of 127.0.0.1 (default: any that is free)")
      ->check(CLI::Range(0, 65535));
  command->add_flag("--no-open", options->no_open, "Print the address and start no browser");
  command->add_flag("--wait", options->wait, "Wait for a folder that is not there yet");
  command->add_flag("--stay", options->stay, "Go on when nobody works in the folder any more");
  command->footer(
      "Only reads, only on the loopback interface, and only for who knows the address, which is "
      "another one\nevery time. From elsewhere: ssh -L PORT:127.0.0.1:PORT HOST, with --port. Ends "
      "with the runs.\nExample:\n  stap watch my-run\n  stap watch my-sweep --port 8642 --no-open");
  command->callback([options, &globals] { run_watch(*options, globals, std::cout); });
}

}  // namespace stap::app
