#include "core/pending_file.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace stap
