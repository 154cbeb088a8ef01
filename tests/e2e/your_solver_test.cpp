// docs/how-to/connect-a-solver.md as a user follows it: files are what the blocks with a title
// hold, and every block of shell commands is run as it stands there, one after the other, in one
// folder, but for those below a comment "not run", which says why.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "support/process.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;

struct Page {
  std::map<std::string, std::string> files;
  std::vector<std::string> scripts;
};

Page read_page(const char* name) {
  std::ifstream text(fs::path(STAP_TEST_SOURCE_DIR) / "docs" / "how-to" / name);
  Page page;
  std::string* block = nullptr;
  std::string skipped;
  bool skip = false;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("```")) {
      if (block != nullptr)
        *block += line + "\n";
      else
        skip = line.starts_with("<!-- not run: ");
      continue;
    }
    const std::size_t title = line.find("title=\"");
    if (block != nullptr)
      block = nullptr;
    else if (line == "```sh")
      block = skip ? &skipped : &page.scripts.emplace_back();
    else if (title != std::string::npos)
      block = &page.files[line.substr(title + 7, line.size() - title - 8)];
  }
  return page;
}

TEST(YourSolver, ThePageWorksAsItIsWritten) {
  const Page page = read_page("connect-a-solver.md");
  ASSERT_GE(page.files.size(), 2u);
  ASSERT_GE(page.scripts.size(), 2u);
  const TemporaryFolder folder;
  setenv("STAP_CACHE", folder.path("cache").c_str(), 1);
  fs::create_directory(folder.path("bin"));
  fs::create_symlink(STAP_TEST_PROGRAM, folder.path("bin") + "/stap");
  for (const auto& [name, content] : page.files) folder.file(name, content);

  for (const std::string& script : page.scripts) {
    const Finished result =
        run_process({"/bin/bash", "-ec",
                     "cd '" + folder.path().string() + "'; PATH=$PWD/bin:$PATH\n" + script});

    EXPECT_EQ(result.exit_code, 0) << script << "\n" << result.out << "\n" << result.err;
    EXPECT_NE(result.out, "") << script;
  }
  EXPECT_TRUE(fs::exists(folder.path("predicted.h5")));
}

}  // namespace
}  // namespace stap::test
