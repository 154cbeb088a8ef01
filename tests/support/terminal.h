#pragma once

// A program on a terminal of its own.

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "support/waiting.h"

namespace stap::test {

/// All that a program writes to a terminal of so many columns on which `typed` is typed.
inline std::string on_terminal(const std::vector<std::string>& command, unsigned short columns,
                               const std::string& typed = "") {
  winsize size{};
  size.ws_col = columns;
  size.ws_row = 24;
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child < 0) throw std::runtime_error("no terminal");
  if (child == 0) {
    setenv("TERM", "xterm", 1);
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execv(words[0], words.data());
    _exit(127);
  }
  if (write(terminal, typed.data(), typed.size()) != static_cast<ssize_t>(typed.size()))
    throw std::runtime_error("the terminal takes no input");
  const std::string text = rest_of(terminal);
  close(terminal);
  const int status = wait_for(child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << text;
  return text;
}

}  // namespace stap::test
