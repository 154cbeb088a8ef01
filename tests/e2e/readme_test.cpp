// Every `build/release/stap` line of the README's shell blocks, run as it stands there (with the
// program of this build), in a folder that holds the file the text speaks of. Studies are made
// smaller by settings at the end; nothing else is changed.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <sstream>

#include "support/h5_writing.h"
#include "support/process.h"
#include "support/small_study.h"

namespace stap::test {
namespace {

std::vector<std::string> readme_commands() {
  std::ifstream readme(std::filesystem::path(STAP_TEST_SOURCE_DIR) / "README.md");
  std::vector<std::string> commands;
  bool in_shell = false;
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with("```")) in_shell = line == "```sh";
    if (in_shell && line.starts_with("build/release/stap ")) commands.push_back(line);
  }
  return commands;
}

TEST(Readme, CommandsWork) {
  const TemporaryFolder folder;
  setenv("STAP_CACHE", folder.path("cache").c_str(), 1);
  std::vector<double> states(2 * 256);
  for (std::size_t i = 0; i < states.size(); ++i)
    states[i] = std::sin(2 * std::numbers::pi * (static_cast<double>(i % 256) + 0.5) / 256);
  H5File(folder.path("initial.h5")).dataset("states", {2, 1, 256}, states);
  const std::vector<std::string> commands = readme_commands();

  ASSERT_GE(commands.size(), 6u);
  for (const std::string& command : commands) {
    std::istringstream stream(command.substr(0, command.find('#')));
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
      words.push_back(word.ends_with(".h5") || word.starts_with("my-") ? folder.path(word) : word);
    words.front() = STAP_TEST_PROGRAM;
    if (words[1] == "run" || words[1] == "sweep")
      for (const std::string& setting : small_study()) words.push_back(setting);

    const Finished result = run_process(words);

    EXPECT_EQ(result.exit_code, 0) << command << "\n" << result.err;
    EXPECT_NE(result.out, "") << command;
  }
}

}  // namespace
}  // namespace stap::test
