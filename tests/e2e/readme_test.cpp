// Every `stap` line of the README's shell blocks, run as it stands there (with the
// program of this build) in a folder of its own; studies are made smaller by settings at the end.
// And every link to a file of this tree, in all pages, leads to a file. (`make test-docs` runs the
// commands of the other pages, and the site's builder checks the anchors.)
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include "support/process.h"
#include "support/small_study.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> readme_commands() {
  std::ifstream readme(fs::path(STAP_TEST_SOURCE_DIR) / "README.md");
  std::vector<std::string> commands;
  bool in_shell = false;
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with("```")) in_shell = line == "```sh";
    if (in_shell && line.starts_with("stap ")) commands.push_back(line);
  }
  return commands;
}

TEST(Readme, CommandsWork) {
  const TemporaryFolder folder;
  setenv("STAP_CACHE", folder.path("cache").c_str(), 1);
  const std::vector<std::string> commands = readme_commands();

  ASSERT_GE(commands.size(), 2u);
  for (const std::string& command : commands) {
    std::istringstream stream(command.substr(0, command.find('#')));
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
      words.push_back(word.starts_with("my-") ? folder.path(word) : word);
    words.front() = STAP_TEST_PROGRAM;
    if (words[1] == "run" || words[1] == "sweep")
      for (const std::string& setting : small_study()) words.push_back(setting);

    const Finished result = run_process(words);

    EXPECT_EQ(result.exit_code, 0) << command << "\n" << result.err;
    EXPECT_NE(result.out, "") << command;
  }
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Readme, EveryLinkOfAPageLeadsToAFile) {
  const fs::path root = STAP_TEST_SOURCE_DIR;
  std::vector<fs::path> pages = {root / "README.md", root / "CONTRIBUTING.md",
                                 root / "SECURITY.md"};
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / "docs"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  const std::regex link(R"re((\]\(|src="|srcset=")([^)"#:]+)(#[^)"]*)?[)"])re");
  int links = 0;

  for (const fs::path& page : pages) {
    const std::string text = text_of(page);
    for (std::sregex_iterator found(text.begin(), text.end(), link), end; found != end; ++found) {
      EXPECT_TRUE(fs::exists(page.parent_path() / (*found)[2].str()))
          << page << ": " << (*found)[2];
      ++links;
    }
  }

  EXPECT_GT(pages.size(), 20u);
  EXPECT_GT(links, 100);
}

}  // namespace
}  // namespace stap::test
