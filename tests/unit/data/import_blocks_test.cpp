// Packed files are read by blocks of whole chunks, and within the limits of what they hold.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <map>

#include "data/import_layout.h"
#include "stap/core/observer.h"
#include "stap/data/import.h"
#include "stap/data/store.h"
#include "support/h5_writing.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using test::H5File;
using test::TemporaryFolder;
using Values = std::vector<double>;

// Numbers that pack well, and differ from row to row.
Values rows_of(std::size_t n) {
  Values values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i / 64));
  return values;
}

// `tensor` [N, T, X], packed.
void write_packed(const fs::path& path, const std::vector<hsize_t>& shape,
                  const std::vector<hsize_t>& chunk, const Values& values) {
  H5File file(path);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
  H5Pset_deflate(creation, 1);
  file.dataset("tensor", shape, values, H5T_IEEE_F32LE, creation);
  H5Pclose(creation);
}

class ImportBlocks : public ::testing::Test {
 protected:
  Imported import(ImportAs as, Observer* observer = nullptr) const {
    const fs::path files[] = {in_};
    return import_files(files, as, {.dt = 1.0, .lengths = {1.0}}, out_, {}, observer);
  }
  std::size_t block() const { return open_foreign(in_, {}, true).block; }

  TemporaryFolder folder_;
  const std::string in_ = folder_.path("in.hdf5"), out_ = folder_.path("out.h5");
};

// 200,000 rows in one chunk. Unpacked once for each of them that would take an hour, and more than
// the child is given: the file was called hostile.
TEST_F(ImportBlocks, OneChunkOfManyRowsIsReadAsAWhole) {
  const Values values = rows_of(std::size_t{200'000} * 2 * 4);
  write_packed(in_, {200'000, 2, 4}, {200'000, 2, 4}, values);

  EXPECT_EQ(import(ImportAs::test).rows, 200'000u);

  EXPECT_EQ(block(), 200'000u);
  EXPECT_EQ(read_array(out_, "trajectory").values, values);
}

// Every row needs all of the chunks here.
TEST_F(ImportBlocks, ChunksAcrossAllRowsAreToo) {
  const Values values = rows_of(std::size_t{50'000} * 16 * 4);
  write_packed(in_, {50'000, 16, 4}, {50'000, 1, 4}, values);

  EXPECT_EQ(import(ImportAs::transitions).rows, 50'000u * 15);

  EXPECT_EQ(block(), 50'000u);
  EXPECT_EQ(read_array(out_, "outputs").values.size(), 50'000u * 15 * 4);
}

// Breaks if a block ends within a chunk, or a row is taken from another block.
TEST_F(ImportBlocks, AreOfWholeChunks) {
  const Values values = rows_of(1003 * 3 * 1001);
  write_packed(in_, {1003, 3, 1001}, {7, 2, 1001}, values);

  import(ImportAs::test);

  EXPECT_EQ(block() % 7, 0u);
  EXPECT_GT(block(), 7u);
  EXPECT_LT(block(), 1003u);  // the last one is not whole
  EXPECT_EQ(read_array(out_, "trajectory").values, values);
}

TEST(ImportBlockSizes, AreBounded) {
  constexpr std::size_t kUsual = std::size_t{1} << 21, kMost = std::size_t{1} << 25;

  EXPECT_EQ(foreign::block_of(1000, 1), kUsual / 1000);
  EXPECT_EQ(foreign::block_of(1000, 900), 1800u);
  EXPECT_EQ(foreign::block_of(1000, 5000), 5000u);
  EXPECT_EQ(foreign::block_of(1000, std::size_t{1} << 60), kMost / 1000);
  EXPECT_EQ(foreign::block_of(std::size_t{1} << 40, 1), 1u);
  EXPECT_EQ(foreign::block_of(0, 1000), kUsual / 1000 * 1000);
  // Few chunks at a time, however small.
  EXPECT_EQ(foreign::block_of(48, 1), 4096u);
  EXPECT_EQ(foreign::block_of(48, 2, 8), 1024u);
  EXPECT_EQ(foreign::block_of(48, 1, 1 << 20), 1u);
}

TEST_F(ImportBlocks, ProgressIsToldByTrajectories) {
  struct Listener : Observer {
    void progress(const Progress& event) override {
      last[std::string(event.phase)] = {event.done, event.total};
      ++events;
    }
    std::map<std::string, std::pair<std::size_t, std::size_t>> last;
    std::size_t events = 0;
  } listener;
  write_packed(in_, {30, 2, 4}, {10, 2, 4}, rows_of(30 * 2 * 4));

  import(ImportAs::test, &listener);

  EXPECT_EQ(listener.events, 60u);
  EXPECT_EQ(listener.last["read"], std::pair(std::size_t{30}, std::size_t{30}));
  EXPECT_EQ(listener.last["write"], std::pair(std::size_t{30}, std::size_t{30}));
}

// Blocks give a file no more room and time than what it can hold.
TEST_F(ImportBlocks, WhatAFileOnlySaysIsRefused) {
  {
    H5File file(in_);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[] = {1, 1, 1 << 14};
    H5Pset_chunk(creation, 3, chunk);
    H5Pset_deflate(creation, 1);
    file.dataset("tensor", {1 << 10, 1, 1 << 14}, {}, H5T_IEEE_F32LE, creation);
    H5Pclose(creation);
  }

  const std::string message = test::error_text(ErrorKind::data, [&] { import(ImportAs::test); });

  EXPECT_NE(message.find("more than a file of"), std::string::npos) << message;
  EXPECT_FALSE(fs::exists(out_));
}

// A lock of another process (or a file system without locks) is none of our business: HDF5 would
// refuse the file, and it was called damaged.
TEST_F(ImportBlocks, LocksOfAFileDoNotMatter) {
  write_packed(in_, {3, 2, 4}, {3, 2, 4}, rows_of(3 * 2 * 4));
  const int other = open(in_.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX), 0);

  EXPECT_EQ(import(ImportAs::test).rows, 3u);

  close(other);
}

}  // namespace
}  // namespace stap
