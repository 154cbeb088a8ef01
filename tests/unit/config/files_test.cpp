#include "stap/config/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>

#include "core/private_folder.h"
#include "journal/reserve.h"
#include "stap/core/error.h"
#include "support/environment.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::content;
using test::error_text;
using test::TemporaryFolder;

TEST(ReadTextFile, TakesFilesOfAtMostSoManyBytesAndNothingElse) {
  const TemporaryFolder folder;
  const std::string five = folder.file("five", "12345"), pipe = folder.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);

  EXPECT_EQ(read_text_file(five, 5), "12345");
  EXPECT_EQ(read_text_file(folder.file("none", ""), 0), "");
  EXPECT_FALSE(read_text_file("/proc/self/stat").empty());  // its size is 0 until it is read
  const std::pair<std::string, const char*> cases[] = {{five, "has 5 bytes, expected at most 4"},
                                                       {"/proc/self/stat", "more than 4 bytes"},
                                                       {pipe, "no regular file"},
                                                       {"/dev/zero", "no regular file"},
                                                       {folder.path(), "a folder"}};
  for (const auto& [path, why] : cases)
    EXPECT_NE(error_text(ErrorKind::data, [&] { read_text_file(path, 4); }).find(why),
              std::string::npos)
        << path;
}

// A link in the place of a file of ours leads to somebody else's.
TEST(AppendLines, NeitherAddToNorCutWhatALinkLeadsTo) {
  const TemporaryFolder folder;
  const std::string theirs = folder.file("theirs", "a line\nand a cut one");
  std::filesystem::create_symlink("theirs", folder.path("losses.jsonl"));

  for (const auto& write :
       {std::function([&] { append_lines(folder.path("losses.jsonl"), "x\n"); }),
        std::function([&] { cut_torn_line(folder.path("losses.jsonl")); })})
    EXPECT_NE(error_text(ErrorKind::storage, write).find("cannot write"), std::string::npos);

  EXPECT_EQ(content(theirs), "a line\nand a cut one");
}

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

// A pipe would be waited for until somebody reads it.
TEST(Files, WhatIsNoFileIsNotWrittenTo) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("nowhere", folder.path("link"));
  std::filesystem::create_hard_link(folder.file("users", "text"), folder.path("reserve"));

  for (const char* name : {"pipe", "link"})
    test::expect_error(ErrorKind::storage, "is not a file",
                       [&] { append_lines(folder.path(name), "{}\n"); });
  test::expect_error(ErrorKind::storage, "is not a file",
                     [&] { const Reserve reserve(folder.path("pipe"), 10); });
  test::expect_error(ErrorKind::storage, "a link to nowhere, which is not there",
                     [&] { make_folder(folder.path("link")); });
  { const Reserve reserve(folder.path("reserve"), 10); }
  EXPECT_EQ(content(folder.path("users")), "text");
}

TEST(Files, ATemporaryFolderThatIsNotThereIsNamed) {
  const test::ScopedVariable variable("TMPDIR", "/nonexist");
  test::expect_error(ErrorKind::storage, "TMPDIR is '/nonexist'",
                     [] { const PrivateFolder folder({}, "stap-test"); });
}

}  // namespace
}  // namespace stap
