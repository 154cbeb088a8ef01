#include "stap/study/starter.h"

#include <gtest/gtest.h>

#include "stap/core/error.h"
#include "study/starter_sources.h"
#include "support/contains.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;

// Breaks if the build changes a byte on the way (a '$', a '\n' in a string, a ';').
TEST(Starter, SourcesAreThoseOfTheTree) {
  ASSERT_FALSE(starter_sources().empty());
  for (const StarterSource& file : starter_sources())
    EXPECT_EQ(file.text, content(std::string(STAP_TEST_SOURCE_DIR "/") + std::string(file.path)))
        << file.path;
}

TEST(Starter, EveryVariantIsWholeAndFilledIn) {
  for (const std::string& from : starter_kinds())
    for (const std::string& language : starter_languages()) {
      const auto files =
          starter_files({.from = from, .language = language, .label = "the-label", .points = 96});

      std::string all;
      for (const StarterFile& file : files) {
        all += file.name + "\n";
        const bool source = file.name.starts_with("s") && file.name != "study.yaml";
        EXPECT_TRUE(source || file.text.find("<<") == std::string::npos) << file.text;
        if (file.name != "study.yaml") continue;
        EXPECT_TRUE(contains(file.text, "label: the-label"));
        EXPECT_TRUE(contains(file.text, "points: [96]"));
        EXPECT_TRUE(contains(file.text, "name: " + from));
      }
      for (const char* name : {"solver.", "study.yaml\n", "README.md\n"})
        EXPECT_TRUE(contains(all, name));
      EXPECT_EQ(all.find("Makefile") == std::string::npos, language == "python");
      EXPECT_EQ(all.find("stap_solver") == std::string::npos, from == "command");
    }
}

TEST(Starter, RefusesWhatItDoesNotKnow) {
  for (const StarterOptions& options :
       {StarterOptions{.from = "comand"}, StarterOptions{.language = "java"},
        StarterOptions{.points = 4}})
    EXPECT_EQ(error_kind([&] { starter_files(options); }), ErrorKind::config);
}

TEST(Starter, WritesIntoNewAndEmptyFoldersOnly) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path("empty"));
  fs::create_directory(folder.path("full"));
  folder.file("full/mine", "text");

  write_starter({}, folder.path("new/deep"));
  write_starter({}, folder.path("empty"));

  EXPECT_TRUE(fs::exists(folder.path("new/deep/study.yaml")));
  EXPECT_TRUE(fs::exists(folder.path("empty/solver.py")));
  EXPECT_THROW(write_starter({}, folder.path("full")), Error);
  EXPECT_THROW(write_starter({}, folder.path("full/mine")), Error);
  EXPECT_THROW(write_starter({}, folder.path("empty")), Error);
  EXPECT_FALSE(fs::exists(folder.path("full/study.yaml")));
}

}  // namespace
}  // namespace stap::test
