#include "stap/config/files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "stap/core/error.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::content;
using test::error_text;
using test::TemporaryFolder;

TEST(JsonLines, AreReadWithTheirPlaces) {
  const TemporaryFolder folder;
  folder.file("a.jsonl", "{\"x\":1}\n{\"x\":2}\n");

  const auto lines = read_json_lines(folder.path("a.jsonl"), false);

  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].text, "{\"x\":2}");
  EXPECT_EQ(field<int>(lines[1].value, "x", lines[1].where), 2);
  EXPECT_EQ(lines[1].where, folder.path("a.jsonl") + ", line 2");
  EXPECT_NE(error_text(ErrorKind::data, [&] { field<int>(lines[1].value, "y", lines[1].where); })
                .find("a.jsonl, line 2: y is missing"),
            std::string::npos);
  EXPECT_TRUE(read_json_lines(folder.path("none"), false).empty());
}

TEST(JsonLines, DamageIsToldByItsLine) {
  const TemporaryFolder folder;
  for (const char* text : {"{}\n{\"x\":\n{}\n", "{}\n\n{}\n", "{}\n[1]\n{}\n", "{}\n{}{}\n{}\n"}) {
    folder.file("a.jsonl", text);
    for (const bool may_be_cut : {false, true})
      EXPECT_NE(
          error_text(ErrorKind::data, [&] { read_json_lines(folder.path("a.jsonl"), may_be_cut); })
              .find("a.jsonl, line 2"),
          std::string::npos)
          << text;
  }
}

TEST(JsonLines, ALastLineThatIsCutOffIsDamageOrLeftOut) {
  const TemporaryFolder folder;
  folder.file("a.jsonl", "{}\n{\"x\":");

  EXPECT_EQ(read_json_lines(folder.path("a.jsonl"), true).size(), 1u);
  EXPECT_NE(error_text(ErrorKind::data, [&] { read_json_lines(folder.path("a.jsonl"), false); })
                .find("a.jsonl, line 2 is cut off"),
            std::string::npos);

  cut_torn_line(folder.path("a.jsonl"));
  append_lines(folder.path("a.jsonl"), "{\"x\":1}\n");
  cut_torn_line(folder.path("a.jsonl"));
  cut_torn_line(folder.path("none"));

  EXPECT_EQ(content(folder.path("a.jsonl")), "{}\n{\"x\":1}\n");
  EXPECT_FALSE(std::filesystem::exists(folder.path("none")));
  error_text(ErrorKind::storage, [&] { append_lines(folder.path("no/a.jsonl"), "{}\n"); });
  error_text(ErrorKind::storage, [&] { append_lines("/dev/full", "{}\n"); });
}

// Anything else with ".tmp-" in its name is somebody's.
TEST(RemoveLeftovers, TakesOnlyTemporaryFilesOfOurOwn) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path("sub"));
  for (const char* name : {"a.h5.tmp-1-0", "sub/b.h5.tmp-22-3", "a.h5", "c.h5.tmp-1-0",
                           "a.h5.tmp-mine", "sub/a.h5.tmp-1-0", "notes.tmp-old"})
    folder.file(name, "");

  remove_leftovers(folder.path(), [](const std::filesystem::path& file) {
    return file == "a.h5" || file == "sub/b.h5";
  });

  for (const char* gone : {"a.h5.tmp-1-0", "sub/b.h5.tmp-22-3"})
    EXPECT_FALSE(std::filesystem::exists(folder.path(gone))) << gone;
  for (const char* stays :
       {"a.h5", "c.h5.tmp-1-0", "a.h5.tmp-mine", "sub/a.h5.tmp-1-0", "notes.tmp-old"})
    EXPECT_TRUE(std::filesystem::exists(folder.path(stays))) << stays;
}

}  // namespace
}  // namespace stap
