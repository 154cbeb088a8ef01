#pragma once

// Runs a program the way a user does: arguments in, exit code, stdout and stderr out.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/contains.h"
#include "support/temporary_folder.h"
#include "support/waiting.h"

namespace stap::test {

struct Finished {
  int exit_code = -1;  ///< 128 + signal if it was killed
  std::string out;
  std::string err;
};

/// Runs command[0] with the other words as arguments (no shell) and waits for it. stdout goes to
/// `out_path` instead of the result where one is given; `prepare` is called in the new process just
/// before the program, to change its streams.
inline Finished run_process(const std::vector<std::string>& command,
                            const std::string& out_path = "",
                            const std::function<void()>& prepare = {}) {
  // Files instead of pipes: nothing can block, however much is written.
  const TemporaryFolder folder;
  const std::string out = out_path.empty() ? folder.path("out") : out_path;
  const std::string err = folder.path("err");
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);

  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process");
  if (child == 0) {
    const int in_fd = open("/dev/null", O_RDONLY);
    const int out_fd = open(out.c_str(), O_WRONLY | O_CREAT, 0600);
    const int err_fd = open(err.c_str(), O_WRONLY | O_CREAT, 0600);
    if (in_fd < 0 || out_fd < 0 || err_fd < 0) _exit(127);
    dup2(in_fd, STDIN_FILENO);
    dup2(out_fd, STDOUT_FILENO);
    dup2(err_fd, STDERR_FILENO);
    for (const int fd : {in_fd, out_fd, err_fd}) close(fd);  // or they would be those opened next
    if (prepare) prepare();
    execv(words[0], words.data());
    _exit(127);
  }
  const int status = wait_for(child);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          out_path.empty() ? content(out) : "", content(err)};
}

/// Starts the program `stap` of this build without waiting for it; its output goes nowhere.
inline pid_t start_stap(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), STAP_TEST_PROGRAM);
  std::vector<char*> words;
  for (std::string& word : arguments) words.push_back(word.data());
  words.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process");
  if (child == 0) {
    const int nowhere = open("/dev/null", O_RDWR);
    for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, stream);
    execv(words[0], words.data());
    _exit(127);
  }
  return child;
}

/// Runs the program `stap` of this build.
inline Finished run_stap(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), STAP_TEST_PROGRAM);
  return run_process(arguments);
}

}  // namespace stap::test
