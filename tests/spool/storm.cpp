// Many servers of a spool folder that come and go, and a process that asks and is killed:
//
//   storm FOLDER SERVE SOLVER --servers N --queries N --seconds S [--kills PER_SECOND]
//         [--asker-kills N] [--silence S] [--slow LIBRARY MILLISECONDS]
//
// prints one JSON object and exits with 0 if every query was answered once, with the right numbers,
// and nothing is left of anything.
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "couple/spool_folder.h"
#include "stap/core/error.h"
#include "stap/core/rng.h"
#include "stap/core/solver_queue.h"
#include "stap/couple/solver_table.h"
#include "support/processes.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr const char* kMark = "STAP_STORM=1";

struct Storm {
  fs::path folder;
  std::string serve, solver, slow;
  std::size_t servers = 200, queries = 10000, asker_kills = 0;
  double seconds = 3, kills = 0, silence = 10, slow_ms = 0;

  fs::path spool() const { return folder / "spool"; }
  fs::path journal() const { return folder / "journal"; }
  fs::path log() const { return folder / "calls"; }
};

// --- the process that asks ---

std::set<std::uint64_t> answered(const fs::path& journal) {
  std::ifstream in(journal);
  std::set<std::uint64_t> ids;
  std::string line;
  while (std::getline(in, line) && !in.eof())
    if (!ids.insert(std::stoull(line)).second) fmt::print(stderr, "twice: {}\n", line);
  return ids;
}

int ask(const Storm& storm) {
  const Outline outline{.name = "storm",
                        .grid = {.channels = 1, .points = {16}, .lengths = {1.0}},
                        .channels = {"u"},
                        .dt = 1,
                        .guard_min = {},
                        .guard_max = {},
                        .parameters = {}};
  config::Value how;
  how.set("name", "command");
  how.set("argv", config::Value::List{storm.solver.c_str(), "{input}", "{output}",
                                      fmt::format("{}", storm.seconds), storm.log().string()});
  how.set("env", config::Value::List{kMark, "SLOW_FILES="});
  how.set("spool", storm.spool().string());
  how.set("limits", config::Value::Map{{"server", storm.silence}});
  how.set("grace", 1);
  CoupleContext context;
  context.recipe.set("solver", how);
  const auto choice = solver_table().choose(how);
  const auto solver = choice.row->make(choice.options, outline, context);
  const auto queue = solver->open();
  const std::set<std::uint64_t> before = answered(storm.journal());
  for (std::uint64_t id = 0; id < storm.queries; ++id)
    if (!before.contains(id))
      queue->submit({.id = id, .state = std::vector(16, static_cast<double>(id))});
  const int journal = open(storm.journal().c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  while (queue->open() > 0) {
    std::string lines;
    for (bool more = true; more && queue->open() > 0; more = queue->ready()) {
      const auto reply = queue->next(Clock::now() + std::chrono::seconds(1));
      if (!reply) break;
      const bool right =
          reply->answer.states == std::vector(16, static_cast<double>(reply->id) + 1);
      if (!right) {
        fmt::print(stderr, "query {}: {}\n", reply->id, reply->answer.reason);
        return 1;
      }
      lines += fmt::format("{}\n", reply->id);
    }
    if (write(journal, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size())) return 1;
    fdatasync(journal);
    queue->recorded();
  }
  return 0;
}

// --- processes ---

struct Server {
  pid_t pid = 0;
  Clock::time_point begun{}, again{};
};

// A server, or with `self`, the arguments of this process, one that asks.
pid_t start(const Storm& storm, char** self) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  if (!storm.slow.empty()) {
    setenv("LD_PRELOAD", storm.slow.c_str(), 1);
    setenv("SLOW_FILES", storm.spool().c_str(), 1);
    setenv("SLOW_FILES_MS", fmt::format("{}", storm.slow_ms).c_str(), 1);
  }
  if (self != nullptr) {
    setenv("STORM_ASKS", "1", 1);
    execv("/proc/self/exe", self);
    _exit(127);
  }
  const int log = open((storm.folder / "servers.log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  dup2(log, 1);
  dup2(log, 2);
  execl(storm.serve.c_str(), "stap-serve", storm.spool().c_str(), "--quiet", nullptr);
  _exit(127);
}

// The program.
int storm_main(int argc, char** argv) {
  Storm storm;
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 3) return fmt::print(stderr, "storm FOLDER SERVE SOLVER ...\n"), 2;
  storm.folder = words[0];
  storm.serve = words[1];
  storm.solver = words[2];
  for (std::size_t i = 3; i + 1 < words.size(); i += 2) {
    const double value = std::atof(words[i + 1].c_str());
    const auto count = static_cast<std::size_t>(value);
    if (words[i] == "--servers") storm.servers = count;
    if (words[i] == "--queries") storm.queries = count;
    if (words[i] == "--seconds") storm.seconds = value;
    if (words[i] == "--kills") storm.kills = value;
    if (words[i] == "--asker-kills") storm.asker_kills = count;
    if (words[i] == "--silence") storm.silence = value;
    if (words[i] == "--slow") storm.slow = words[i + 1];
    if (words[i] == "--slow-ms") storm.slow_ms = value;
  }
  if (getenv("STORM_ASKS") != nullptr) {
    try {
      return ask(storm);
    } catch (const Error& error) {
      return fmt::print(stderr, "asker: {}\n", error.what()), error.exit_code();
    }
  }
  fs::remove_all(storm.folder);
  fs::create_directories(storm.spool());
  SpoolFolder::make(storm.spool());

  // What is moved into folders.
  const int events = inotify_init1(IN_NONBLOCK);
  std::map<int, std::size_t> moved;
  const int queries = inotify_add_watch(events, (storm.spool() / "queries").c_str(), IN_MOVED_TO);
  const int claims = inotify_add_watch(events, (storm.spool() / "claimed").c_str(), IN_MOVED_TO);
  const int answers = inotify_add_watch(events, (storm.spool() / "answers").c_str(), IN_MOVED_TO);
  const auto count_moves = [&] {
    alignas(inotify_event) char buffer[65536];
    for (ssize_t n; (n = read(events, buffer, sizeof buffer)) > 0;)
      for (ssize_t at = 0; at < n;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
        ++moved[event->wd];
        at += static_cast<ssize_t>(sizeof *event + event->len);
      }
  };

  const Rng random(4711);
  std::uint64_t draws = 0;
  const auto begun = Clock::now();
  std::vector<Server> servers(storm.servers);
  double life = 0;
  std::size_t kills = 0, terms = 0, restarts = 0, asker_kills = 0;
  pid_t asker = start(storm, argv);
  auto next_kill = begun, next_asker_kill = begun + std::chrono::seconds(2);
  int status = 0;
  bool done = false;
  while (!done) {
    const auto now = Clock::now();
    if (Seconds(now - begun).count() > 600) break;
    count_moves();
    if (waitpid(asker, &status, WNOHANG) == asker) {
      if (WIFSIGNALED(status))
        asker = start(storm, argv);
      else
        done = true;
    } else if (asker_kills < storm.asker_kills && now >= next_asker_kill) {
      kill(asker, SIGKILL);
      ++asker_kills;
      next_asker_kill = now + std::chrono::milliseconds(500 + random.below(++draws, 2500));
    }
    for (Server& server : servers) {
      int ended = 0;
      if (server.pid > 0 && waitpid(server.pid, &ended, WNOHANG) == server.pid) {
        life += Seconds(now - server.begun).count();
        server.pid = 0;
        if (WIFEXITED(ended) && WEXITSTATUS(ended) != 0)
          fmt::print(stderr, "a server ended with {}\n", WEXITSTATUS(ended));
      }
      if (server.pid == 0 && now >= server.again) {
        server.pid = start(storm, nullptr);
        server.begun = now;
        ++restarts;
      }
    }
    while (storm.kills > 0 && now >= next_kill) {
      next_kill += std::chrono::microseconds(static_cast<long>(1e6 / storm.kills));
      Server& server = servers[random.below(++draws, servers.size())];
      if (server.pid == 0) continue;
      const bool hard = random.uniform(++draws) < 0.5;
      kill(server.pid, hard ? SIGKILL : SIGTERM);
      ++(hard ? kills : terms);
      server.again = now + std::chrono::milliseconds(random.below(++draws, 4000));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const double wall = Seconds(Clock::now() - begun).count();
  for (const Server& server : servers)
    if (server.pid > 0) kill(server.pid, SIGTERM);
  for (const Server& server : servers)
    if (server.pid > 0) {
      test::wait_for(server.pid);
      life += wall - Seconds(server.begun - begun).count();
    }
  count_moves();

  std::size_t calls = 0;
  {
    std::ifstream in(storm.log());
    for (std::string line; std::getline(in, line);) ++calls;
  }
  std::size_t lines = 0;
  {
    std::ifstream in(storm.journal());
    for (std::string line; std::getline(in, line);) ++lines;
  }
  const bool gone = eventually([] { return processes_with(kMark).empty(); }, 5.0);
  std::size_t left = 0;
  for (const char* name : {"queries", "claimed", "answers", "aside"})
    left += names_in(storm.spool() / name, false).size();
  const bool whole = answered(storm.journal()).size() == storm.queries && lines == storm.queries;
  const auto n = static_cast<double>(storm.queries);
  fmt::print(
      "{{\"bench\": \"spool\", \"servers\": {}, \"queries\": {}, \"seconds\": {}, \"wall\": "
      "{:.1f}, "
      "\"answered_once\": {}, \"calls\": {}, \"kill_9\": {}, \"sigterm\": {}, \"starts\": {}, "
      "\"asker_killed\": {}, \"idle_share\": {:.3f}, \"useful_share\": {:.3f}, "
      "\"queries_put\": {:.3f}, \"claims\": {:.3f}, \"answers_put\": {:.3f}, \"files_left\": {}, "
      "\"orphans\": {}}}\n",
      storm.servers, storm.queries, storm.seconds, wall, whole, calls, kills, terms, restarts,
      asker_kills, 1 - static_cast<double>(calls) * storm.seconds / life, n * storm.seconds / life,
      static_cast<double>(moved[queries]) / n, static_cast<double>(moved[claims]) / n,
      static_cast<double>(moved[answers]) / n, left, gone ? 0 : processes_with(kMark).size());
  const bool none_twice = storm.kills > 0 || calls == storm.queries;
  return done && WIFEXITED(status) && WEXITSTATUS(status) == 0 && whole && gone && none_twice ? 0
                                                                                              : 1;
}

}  // namespace
}  // namespace stap::test

int main(int argc, char** argv) {
  return stap::test::storm_main(argc, argv);
}
