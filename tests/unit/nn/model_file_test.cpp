#include "stap/nn/model_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>

#include "reference/crc32c.h"
#include "stap/core/error.h"
#include "support/networks.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

Model some_model() {
  Model model;
  model.shape = test::with_positions(
      test::small_shape({6, 10}, {4, 6}, 2, 5, 7, true, FnoOptions::Target::state));
  model.shape.conserved = {1};
  for (std::uint64_t m = 0; m < 2; ++m) {
    MemberState member = fresh_member(model.shape, test::some_scaling(2), Rng(m));
    member.moment1 = initial_parameters(model.shape, Rng(10 + m));
    member.moment2 = initial_parameters(model.shape, Rng(20 + m));
    if (m == 1) member.average = initial_parameters(model.shape, Rng(30));
    member.steps = 12345678901 + static_cast<std::int64_t>(m);
    model.members.push_back(member);
  }
  return model;
}

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void overwrite(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
}

// With the seal that fits what was changed.
std::string resealed(std::string bytes) {
  const std::string mark = "\"seal\":\"crc32c:";
  const std::size_t at = bytes.find(mark) + mark.size();
  if (at < mark.size() || at + 8 > bytes.size()) return bytes;
  bytes.replace(at, 8, "00000000");
  char seal[9];
  std::snprintf(seal, sizeof seal, "%08x", test::crc32c_slow(std::as_bytes(std::span(bytes))));
  return bytes.replace(at, 8, seal);
}

ErrorKind kind_of_reading(const fs::path& path) {
  try {
    read_model(path);
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(path.filename().string()), std::string::npos) << e.what();
    return e.kind();
  }
  return ErrorKind::internal;
}

TEST(ModelFile, ComesBackBitForBit) {
  const test::TemporaryFolder folder;
  const Model model = some_model();

  write_model(folder.path() / "model.safetensors", model);
  const Model back = read_model(folder.path() / "model.safetensors");

  EXPECT_EQ(back.shape, model.shape);
  EXPECT_EQ(back.members, model.members);
}

// Older programs, which would not conserve anything, do not read what does.
TEST(ModelFile, ThatConservesIsOfAnotherFormat) {
  const test::TemporaryFolder folder;
  Model model = some_model();
  write_model(folder.path() / "conserves", model);
  model.shape.conserved.clear();
  write_model(folder.path() / "plain", model);

  EXPECT_NE(content(folder.path() / "conserves").find("model/3"), std::string::npos);
  EXPECT_NE(content(folder.path() / "plain").find("model/2"), std::string::npos);
  EXPECT_EQ(content(folder.path() / "plain").find("conserved"), std::string::npos);
}

// Models of single steps are written as they were before there were others.
TEST(ModelFile, RemembersItsClusterUnlessItIsOne) {
  const test::TemporaryFolder folder;
  Model model = some_model();  // of two channels
  write_model(folder.path() / "single", model);
  model.cluster = 2;

  write_model(folder.path() / "double", model);

  EXPECT_EQ(read_model(folder.path() / "single").cluster, 1u);
  EXPECT_EQ(read_model(folder.path() / "double").cluster, 2u);
  EXPECT_EQ(content(folder.path() / "single").find("cluster"), std::string::npos);
  std::string odd = content(folder.path() / "double");
  odd.replace(odd.find("\"cluster\":\"2\"") + 11, 1, "3");
  overwrite(folder.path() / "double", resealed(odd));
  EXPECT_EQ(kind_of_reading(folder.path() / "double"), ErrorKind::data);
}

TEST(ModelFile, OptimiserMayBeLeftOut) {
  const test::TemporaryFolder folder;
  Model model = some_model();
  model.members[0].moment1.clear();
  model.members[0].moment2.clear();

  write_model(folder.path() / "m", model);

  EXPECT_EQ(read_model(folder.path() / "m").members, model.members);
}

// The layout of the format, read without our own reader: little-endian length, JSON, data.
TEST(ModelFile, IsASafetensorsFile) {
  const test::TemporaryFolder folder;
  write_model(folder.path() / "m", some_model());

  const std::string bytes = content(folder.path() / "m");

  ASSERT_GT(bytes.size(), 8u);
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length * 256 + static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
  ASSERT_LT(length + 8, bytes.size());
  EXPECT_EQ(bytes[8], '{');
  EXPECT_NE(bytes.find("\"0/lifting.fcs.0.weight\":{\"data_offsets\":["), std::string::npos);
  EXPECT_EQ((8 + length) % 8, 0u);
}

// No change of a byte passes, in the header or in the data, the seal and its digits included.
TEST(ModelFile, NoChangeOfAByteIsBelieved) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "m";
  write_model(path, some_model());
  const std::string good = content(path);
  std::uint64_t header = 0;
  std::memcpy(&header, good.data(), sizeof header);
  const std::size_t data = sizeof header + header, seal = good.find("\"seal\"");
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < good.size(); i += i < data ? 97 : 9973) places.push_back(i);
  for (std::size_t i = 0; i < 26; ++i) places.push_back(seal + i);
  places.push_back(good.find("model/3") + 6);

  for (const std::size_t i : places)
    for (const int bits : {1, 3}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ bits);
      overwrite(path, bad);
      EXPECT_EQ(kind_of_reading(path), ErrorKind::data) << i << " " << bits;
    }
}

// What is behind the seal, as a program would write it that knows of seals.
TEST(ModelFile, DamageIsFound) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "m";
  write_model(path, some_model());
  const std::string good = content(path);
  auto damaged = [&](const std::string& bytes) {
    overwrite(path, resealed(bytes));
    return kind_of_reading(path);
  };
  auto with = [&](const std::string& from, const std::string& to) {
    std::string bytes = good;
    const std::size_t at = bytes.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return bytes.replace(at, from.size(), to);
  };

  EXPECT_EQ(kind_of_reading(folder.path() / "missing"), ErrorKind::data);
  EXPECT_EQ(damaged(""), ErrorKind::data);
  EXPECT_EQ(damaged("short"), ErrorKind::data);
  for (std::size_t n = 0; n < good.size(); n += 1 + good.size() / 97)
    EXPECT_EQ(damaged(good.substr(0, n)), ErrorKind::data) << n;
  EXPECT_EQ(damaged(good + "tail"), ErrorKind::data);
  EXPECT_EQ(damaged(std::string(8, '\xff') + good.substr(8)), ErrorKind::data);
  EXPECT_EQ(damaged(with("\"F32\"", "\"F16\"")), ErrorKind::data);
  EXPECT_EQ(damaged(with("model/3", "model/9")), ErrorKind::data);
  EXPECT_EQ(damaged(with("0/mean", "0/maen")), ErrorKind::data);
  EXPECT_EQ(damaged(with("\\\"width\\\":5", "\\\"width\\\":6")), ErrorKind::data);
  EXPECT_EQ(damaged(with("\\\"layers\\\":4", "\\\"layers\\\":9")), ErrorKind::data);
  EXPECT_EQ(damaged(with("\\\"conserved\\\":[1]", "\\\"conserved\\\":[2]")), ErrorKind::data);
  EXPECT_EQ(damaged(with("\"seal\"", "\"else\"")), ErrorKind::data);
  overwrite(path, resealed(good));
  EXPECT_EQ(read_model(path).members.size(), 2u);
}

TEST(ModelFile, KeepsWhereItComesFrom) {
  const test::TemporaryFolder folder;
  Model model = some_model();
  model.origin = {"0123456789abcdef", 3, "fedcba9876543210"};
  write_model(folder.path() / "m", model);
  EXPECT_EQ(read_model(folder.path() / "m").origin, model.origin);
  model.origin.stage = 1;
  model.origin.held_back = {0.1 + 0.2, std::numeric_limits<double>::infinity(), 1e-300 / 3};
  write_model(folder.path() / "m", model);
  EXPECT_EQ(read_model(folder.path() / "m").origin, model.origin);
}

TEST(ModelFile, UnwritablePlaceIsAStorageErrorAndLeavesNothing) {
  const test::TemporaryFolder folder;
  try {
    write_model(folder.path() / "no" / "such" / "folder", some_model());
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::storage);
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace
}  // namespace stap
