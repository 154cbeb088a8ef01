#include "couple/warden_start.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "couple/warden.h"
#include "stap/core/error.h"

extern char** environ;

namespace stap {
namespace {

// Where the warden's program lies; empty: a fork of ours must do. It is beside the program that
// uses it, or where that is installed. Nowhere else: whoever may write to another folder could put
// a program of theirs there.
const std::string& warden_program() {
  static const std::string found = [] {
    std::error_code error;
    const std::filesystem::path folder =
        std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    std::vector<std::filesystem::path> places{folder / "stap-warden"};
    if (folder.filename() == "bin")
      places.push_back(folder.parent_path() / "libexec/stap/stap-warden");
    for (const std::filesystem::path& path : places)
      if (access(path.c_str(), X_OK) == 0) return path.string();
    return std::string();
  }();
  return found;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

// Ours, and what is added: the last one of a name counts.
std::vector<std::string> environment(const std::vector<std::string>& added) {
  std::vector<std::string> all;
  const auto name_of = [](const std::string& entry) { return entry.substr(0, entry.find('=')); };
  for (char** entry = environ; *entry != nullptr; ++entry) {
    bool replaced = false;
    for (const std::string& other : added) replaced = replaced || name_of(other) == name_of(*entry);
    if (!replaced) all.emplace_back(*entry);
  }
  all.insert(all.end(), added.begin(), added.end());
  return all;
}

// The program is small, so that many are cheap, and posix_spawn copies nothing of this process.
int spawn_warden(const Launch& launch, std::vector<std::string> env, int socket,
                 const int (&streams)[3]) {
  std::vector<std::string> words{"stap-warden", std::to_string(socket),
                                 std::to_string(static_cast<long>(launch.grace * 1000)),
                                 std::to_string(launch.file_bytes_most)};
  words.insert(words.end(), launch.argv.begin(), launch.argv.end());

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  for (int stream = 0; stream < 3; ++stream)
    posix_spawn_file_actions_adddup2(&actions, streams[stream], stream);
  posix_spawn_file_actions_adddup2(&actions, socket, socket);  // it is not closed then
  if (!launch.folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, launch.folder.c_str());
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, warden_program().c_str(), &actions, &attributes,
                                pointers(words).data(), pointers(env).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) cannot_start("no process can be started", error);
  return pid;
}

// The same in a fork of this process. Between fork and exec only system calls are made.
int fork_warden(const Launch& launch, std::vector<std::string> env, int socket,
                const int (&streams)[3]) {
  std::vector<std::string> words = launch.argv;
  const std::vector<char*> argv = pointers(words), envp = pointers(env);
  const pid_t pid = fork();
  if (pid < 0) cannot_start("no process can be made", errno);
  if (pid > 0) return pid;
  bool ready = setsid() >= 0;
  for (int stream = 0; stream < 3; ++stream) ready = ready && dup2(streams[stream], stream) >= 0;
  ready = ready && (launch.folder.empty() || chdir(launch.folder.c_str()) == 0);
  if (!ready) _exit(send_report(socket, {.short_of = errno}) ? 0 : 1);
  environ = const_cast<char**>(envp.data());
  _exit(keep_watch(socket, argv.data(), static_cast<long>(launch.grace * 1000),
                   launch.file_bytes_most));
}

}  // namespace

pid_t start_warden(const Launch& launch, const std::vector<std::string>& added, int socket,
                   const int (&streams)[3]) {
  const auto start = launch.by_fork || warden_program().empty() ? fork_warden : spawn_warden;
  return start(launch, environment(added), socket, streams);
}

std::string lack_text(const char* what, int error) {
  return fmt::format("{}: {}; {}", what, std::generic_category().message(error),
                     error == ETXTBSY
                         ? "somebody has the program's file open for writing"
                         : "fewer slots or higher limits ('ulimit -u', 'ulimit -n') may help");
}

void cannot_start(const char* what, int error) {
  throw Error(ErrorKind::storage, lack_text(what, error));
}

}  // namespace stap
