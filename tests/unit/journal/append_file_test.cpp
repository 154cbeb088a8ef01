#include "journal/append_file.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "core/descriptors.h"
#include "stap/core/error.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

std::size_t descriptors_open() {
  const fs::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// As many as these at most, while it lives.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(std::size_t most) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{most, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

class ManyAppendFiles : public ::testing::Test {
 protected:
  std::string name(std::size_t i) const { return folder_.path("file-" + std::to_string(i)); }
  void open_all() {
    for (std::size_t i = 0; i < kFiles; ++i) {
      files_.push_back(std::make_unique<AppendFile>(name(i)));
      files_.back()->write("first " + std::to_string(i));
      files_.back()->sync();
    }
  }

  static constexpr std::size_t kFiles = 100;
  const DescriptorLimit limit_{64};
  TemporaryFolder folder_;
  std::vector<std::unique_ptr<AppendFile>> files_;
};

// More files than descriptors. Breaks if one that rests is not opened again, or none rests.
TEST_F(ManyAppendFiles, AreOpenWhenTheyAreNeeded) {
  const std::size_t before = descriptors_open();

  open_all();
  for (std::size_t i = 0; i < kFiles; ++i) {
    files_[i]->write(", second");
    files_[i]->sync();
    files_[i]->cut(files_[i]->size() - 3);
  }

  for (std::size_t i = 0; i < kFiles; ++i) {
    files_[i]->sync();
    const std::string expected = "first " + std::to_string(i) + ", sec";
    std::string there(expected.size(), ' ');
    EXPECT_EQ(files_[i]->read(0, there), expected.size());
    EXPECT_EQ(there, expected);
    EXPECT_EQ(test::content(name(i)), expected);
  }
  EXPECT_LE(descriptors_open(), before + most_logs_open() + 2);  // two are kept for need
}

// What was written to another file would be lost.
TEST_F(ManyAppendFiles, AreTheSameFilesAgain) {
  open_all();
  const std::string last = name(kFiles - 1);
  fs::rename(last, folder_.path("moved"));
  folder_.file("file-99", "of somebody else");

  test::expect_error(ErrorKind::storage, "it is another file now",
                     [&] { files_.back()->write("more"); });

  EXPECT_EQ(test::content(last), "of somebody else");
}

TEST(Descriptors, WhatCannotBeOpenedIsSaidFirst) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t used = descriptors_open();
  const rlimit soft{used + 4, limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &soft);

  need_descriptors(20, "a sweep of 8 runs");

  rlimit now{};
  getrlimit(RLIMIT_NOFILE, &now);
  setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_GE(now.rlim_cur, used + 20);
  EXPECT_EQ(now.rlim_max, limit.rlim_max);
  test::expect_error(ErrorKind::storage, "Too many open files: a sweep of 8 runs takes",
                     [] { need_descriptors(std::size_t{1} << 40, "a sweep of 8 runs"); });
}

}  // namespace
}  // namespace stap
