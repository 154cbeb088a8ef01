#include "core/pending_file.h"

#include <gtest/gtest.h>

#include <signal.h>

#include <filesystem>
#include <fstream>

#include "support/data_making.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

TEST(PendingFile, TemporaryFilesAreKnownByTheirNames) {
  const test::TemporaryFolder folder;
  const PendingFile pending(folder.path("a.h5"));

  EXPECT_EQ(pending_target(pending.temporary().filename().string()), "a.h5");
  EXPECT_EQ(pending_target("a.tmp-1-2.h5.tmp-34-56"), "a.tmp-1-2.h5");
  for (const char* other : {"a.h5", "a.h5.tmp-", "a.h5.tmp-1", "a.h5.tmp-1-", "a.h5.tmp--1",
                            "a.h5.tmp-1-2x", "a.h5.tmp-x-2", "a.h5.tmp-1-2-3", ".tmp-1-2", ""})
    EXPECT_EQ(pending_target(other), "") << other;
}

// Of this target, and of processes that have ended: one that lives is writing.
TEST(PendingFile, WhatReplacesAPrivateFileIsPrivate) {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path("a");
  std::ofstream(file) << "old";
  std::filesystem::permissions(file, std::filesystem::perms(0600));
  PendingFile pending(file);
  pending.write("new");
  pending.commit();
  EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0600));
}

TEST(PendingFile, WhatTheKilledHaveLeftIsRemovedByWhoWritesTheSame) {
  const test::TemporaryFolder folder;
  const pid_t child = test::in_process([&] {
    new PendingFile(folder.path("a.h5"));
    new PendingFile(folder.path("b.h5"));
    std::filesystem::create_directory(folder.path("a.h5") + pending_suffix(7));
    raise(SIGKILL);
  });
  test::wait_for(child);
  const PendingFile ours(folder.path("a.h5"));
  folder.file("a.h5.tmp-1-0", "of a machine that is not known");
  folder.file("a.h5.tmp-999999999-mine", "of the user");
  ASSERT_EQ(folder.entries(), 6u);

  remove_leftovers_of(folder.path("a.h5"));

  EXPECT_TRUE(std::filesystem::exists(ours.temporary()));
  EXPECT_EQ(folder.entries(), 4u);
}

}  // namespace
}  // namespace stap
