#include "stap/data/array_file.h"

#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <functional>

#include "stap/core/error.h"
#include "stap/data/store.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::content;
using test::error_text;
using test::TemporaryFolder;
using Sizes = std::vector<std::size_t>;

void write_sample(const std::string& path) {
  const std::vector<double> values{1, 0.1, -3, std::nan(""), 5, 6}, one{7};
  ArrayWriter writer(path);
  writer.add("b", {2, 1, 3}, values);
  writer.add("a", {}, one);
  writer.add_text_attribute("format", "some/1");
  writer.add_text_attribute("note", "ä\nb");
  writer.add_attribute("dt", 0.25);
  writer.commit();
}

TEST(ArrayFile, HoldsWhatWasAdded) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.h5");

  write_sample(path);

  EXPECT_EQ(list_datasets(path), (std::vector<std::string>{"a", "b"}));
  const Array<double> b = read_array(path, "b");
  EXPECT_EQ(b.shape, (Sizes{2, 1, 3}));
  EXPECT_EQ(b.values[1], 0.1);
  EXPECT_TRUE(std::isnan(b.values[3]));
  EXPECT_EQ(b.values[5], 6.0);
  EXPECT_EQ(read_array(path, "a").shape, Sizes{});
  EXPECT_EQ(read_array(path, "a").values, std::vector<double>{7});
  EXPECT_EQ(read_text_attribute(path, "/", "format"), "some/1");
  EXPECT_EQ(read_text_attribute(path, "/", "note"), "ä\nb");
  EXPECT_EQ(read_attribute(path, "/", "dt").values, std::vector<double>{0.25});
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(ArrayFile, HoldsBytesAsBytes) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.h5");
  const std::vector<std::uint8_t> values{0, 1, 255, 7, 8, 9}, none;
  ArrayWriter writer(path);

  writer.add_bytes("b", {2, 3}, values);
  writer.add_bytes("empty", {0, 3}, none);
  EXPECT_THROW(writer.add_bytes("c", {4}, values), Error);
  writer.commit();

  EXPECT_EQ(read_array(path, "b").shape, (Sizes{2, 3}));
  EXPECT_EQ(read_array(path, "b").values, (std::vector<double>{0, 1, 255, 7, 8, 9}));
  EXPECT_EQ(read_array(path, "empty").shape, (Sizes{0, 3}));
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, "b", H5P_DEFAULT);
  EXPECT_EQ(H5Dget_storage_size(dataset), 6u);
  H5Dclose(dataset);
  H5Fclose(file);
}

// Ids are integers for whoever reads the file.
TEST(ArrayFile, HoldsIntegersAsIntegers) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.h5");
  const std::vector<std::int64_t> values{0, -1, std::int64_t{1} << 60}, none;
  const std::vector<double> real{1.0};
  ArrayWriter writer(path);

  writer.add_integers("i", {3}, values);
  writer.add_integers("empty", {0}, none);
  writer.add("r", {1}, real);
  EXPECT_THROW(writer.add_integers("c", {4}, values), Error);
  writer.commit();

  EXPECT_EQ(read_integers(path, "i").values, values);
  EXPECT_EQ(read_integers(path, "empty").shape, (Sizes{0}));
  EXPECT_EQ(read_array(path, "i").values[1], -1.0);
  EXPECT_NE(error_text(ErrorKind::data, [&] { read_integers(path, "r"); }).find("whole numbers"),
            std::string::npos);
}

TEST(ArrayFile, SaysWhatItsStatesAre) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.h5");
  const Grid grid = make_grid(2, {4, 6}, {1.5, 2.0});
  {
    ArrayWriter writer(path);
    writer.describe({"burgers", grid, 0.25});
    writer.commit();
  }

  EXPECT_EQ(read_text_attribute(path, "/", "equation"), "burgers");
  EXPECT_EQ(read_attribute(path, "/", "channels").values, std::vector<double>{2});
  EXPECT_EQ(read_attribute(path, "/", "points").values, (std::vector<double>{4, 6}));
  EXPECT_EQ(read_attribute(path, "/", "lengths").values, (std::vector<double>{1.5, 2.0}));
  EXPECT_EQ(read_attribute(path, "/", "dt").values, std::vector<double>{0.25});
  const StateInfo info = read_state_info(path);
  EXPECT_EQ(info.equation, "burgers");
  EXPECT_EQ(info.grid, grid);
  EXPECT_EQ(info.dt, 0.25);
  write_sample(folder.path("b.h5"));
  EXPECT_NE(error_text(ErrorKind::data, [&] { read_state_info(folder.path("b.h5")); })
                .find("names no grid"),
            std::string::npos);
}

// HDF5 does not survive a damaged heap, where texts of variable length are.
TEST(ArrayFile, TextsHaveAFixedLength) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.h5");
  {
    ArrayWriter writer(path);
    writer.add_text_attribute("some", "ä");
    writer.add_text_attribute("none", "");
    writer.commit();
  }

  EXPECT_EQ(read_text_attribute(path, "/", "some"), "ä");
  EXPECT_EQ(read_text_attribute(path, "/", "none"), "");
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t attribute = H5Aopen(file, "some", H5P_DEFAULT);
  const hid_t type = H5Aget_type(attribute);
  EXPECT_EQ(H5Tis_variable_str(type), 0);
  EXPECT_EQ(H5Tget_size(type), 2u);
  H5Tclose(type);
  H5Aclose(attribute);
  H5Fclose(file);
}

// Bytes alone would be equal by chance within one second, so the times in the file are looked at.
TEST(ArrayFile, EqualContentGivesEqualBytes) {
  const TemporaryFolder folder;

  write_sample(folder.path("a.h5"));
  write_sample(folder.path("b.h5"));

  EXPECT_EQ(content(folder.path("a.h5")), content(folder.path("b.h5")));
  const hid_t file = H5Fopen(folder.path("a.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, "b", H5P_DEFAULT);
#if H5_VERSION_GE(1, 12, 0)
  H5O_info2_t info;
  ASSERT_GE(H5Oget_info3(dataset, &info, H5O_INFO_TIME), 0);
#else
  H5O_info_t info;
  ASSERT_GE(H5Oget_info2(dataset, &info, H5O_INFO_TIME), 0);
#endif
  EXPECT_EQ(info.ctime, 0);
  EXPECT_EQ(info.mtime, 0);
  H5Dclose(dataset);
  H5Fclose(file);
}

TEST(ArrayFile, WithoutCommitNothingIsLeftAndTheOldFileStays) {
  const TemporaryFolder folder;
  folder.file("a.h5", "old");
  {
    const std::vector<double> values{1};
    ArrayWriter writer(folder.path("a.h5"));
    writer.add("x", {1}, values);
  }

  EXPECT_EQ(content(folder.path("a.h5")), "old");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(ArrayFile, PlacesThatCannotBeWrittenShowAtOnce) {
  const TemporaryFolder folder;
  const auto create = [](const std::string& path) {
    return error_text(ErrorKind::storage, [&] { ArrayWriter writer(path); });
  };

  EXPECT_NE(create(folder.path("no/a.h5")).find("no folder"), std::string::npos);
  EXPECT_NE(create(folder.path().string()).find("not a file"), std::string::npos);
  create("/proc/a.h5");
}

TEST(ArrayFile, RoomIsAskedFor) {
  const TemporaryFolder folder;
  const ArrayWriter writer(folder.path("a.h5"));
  const auto room = [&](std::size_t values) {
    return error_text(ErrorKind::storage, [&] { writer.check_room(values); });
  };

  writer.check_room(1000);
  EXPECT_NE(room(std::size_t{1} << 50).find("bytes are free"), std::string::npos);
  EXPECT_NE(room(std::size_t{1} << 63).find("too large"), std::string::npos);
}

// A disk that is full when the file is written (here: a limit on the size of files).
TEST(ArrayFile, AFullDiskLeavesNothing) {
  const TemporaryFolder folder;
  const std::vector<double> values(100'000, 1.0);
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{1 << 16, limit.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);

  const std::string message = error_text(ErrorKind::storage, [&] {
    ArrayWriter writer(folder.path("a.h5"));
    writer.add("x", {values.size()}, values);
    writer.commit();
  });

  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_NE(message.find("a.h5"), std::string::npos) << message;
  EXPECT_EQ(folder.entries(), 0u);
}

TEST(ArrayFile, AShapeThatDoesNotFitIsOurBug) {
  const TemporaryFolder folder;
  ArrayWriter writer(folder.path("a.h5"));
  const std::vector<double> values(5);

  error_text(ErrorKind::internal, [&] { writer.add("x", {2, 3}, values); });
}

// Broken by: pieces written at a wrong row, space taken when the first piece comes.
TEST(ArrayFile, PiecesGiveTheBytesOfTheWhole) {
  const TemporaryFolder folder;
  std::vector<double> values(7 * 6);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  {
    ArrayWriter writer(folder.path("whole.h5"));
    writer.add("x", {7, 2, 3}, values);
    writer.commit();
  }

  for (std::size_t rows : {1u, 2u, 3u, 7u}) {
    std::size_t first = 0;
    ArrayWriter writer(folder.path("pieces.h5"));
    writer.add_pieces("x", {7, 2, 3}, [&] {
      const std::size_t n = std::min<std::size_t>(rows, 7 - first);
      first += n;
      return std::span<const double>(values).subspan((first - n) * 6, n * 6);
    });
    writer.commit();

    EXPECT_EQ(content(folder.path("pieces.h5")), content(folder.path("whole.h5"))) << rows;
  }
}

TEST(ArrayFile, PiecesThatDoNotFitAreOurBugAndLeaveNothing) {
  const TemporaryFolder folder;
  const std::vector<double> values(24);
  for (std::size_t size : {0u, 5u, 18u})  // nothing, no whole rows, more than there are
    error_text(ErrorKind::internal, [&] {
      ArrayWriter writer(folder.path("a.h5"));
      writer.add_pieces("x", {2, 6}, [&] { return std::span<const double>(values).first(size); });
      writer.commit();
    });

  EXPECT_EQ(folder.entries(), 0u);
  ArrayWriter writer(folder.path("a.h5"));
  error_text(ErrorKind::internal, [&] { writer.add_pieces("x", {}, {}); });
  error_text(ErrorKind::internal, [&] { writer.add_pieces("x", {0, 3}, {}); });
}

}  // namespace
}  // namespace stap
