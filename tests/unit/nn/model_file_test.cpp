#include "stap/nn/model_file.h"

#include "nn/safetensors.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>

#include "reference/crc32c.h"
#include "stap/core/error.h"
#include "support/contains.h"
#include "support/families.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

Model some_model() {
  Model model;
  model.spec = test::with_positions(
      test::small_shape({6, 10}, {4, 6}, 2, 5, 7, true, NetworkOptions::Target::state));
  model.spec.conserved = {1};
  for (std::uint64_t m = 0; m < 2; ++m) {
    MemberState member = fresh_member(model.spec, test::some_scaling(2), Rng(m));
    member.moment1 = initial_parameters(model.spec, Rng(10 + m));
    member.moment2 = initial_parameters(model.spec, Rng(20 + m));
    if (m == 1) member.average = initial_parameters(model.spec, Rng(30));
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

  EXPECT_EQ(back.spec, model.spec);
  EXPECT_EQ(back.members, model.members);
}

// Mutation: a share or kind of padding, or an axis's ends, that are not in the file; what a reader
// must know not said.
TEST(ModelFile, OfWallsComesBack) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "m";
  const NetworkSpec plane = test::small_shape({6, 10}, {4, 6}, 2);
  for (const double share : {0.5, 0.0}) {
    const NetworkSpec spec =
        test::with_padding(plane, {"points", "centres"}, {share, 0.0}, {"odd"});
    const Model model{spec, {fresh_member(spec, test::some_scaling(2), Rng(1))}};

    write_model(path, model);

    EXPECT_EQ(read_model(path).spec, spec);
    EXPECT_EQ(read_model(path).spec.body_grid().points,
              (std::vector<std::size_t>{share > 0 ? 9u : 6u, 10}));
    EXPECT_NE(content(path).find(share > 0 ? R"(requires":"[\"fno\",\"walls\",\"padding\"]")"
                                           : R"(requires":"[\"fno\",\"walls\"]")"),
              std::string::npos);
  }
}

TEST(ModelFile, OfFixedFieldsComesBack) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "m";
  const NetworkSpec plane = test::small_shape({6, 10}, {4, 6}, 2);
  for (const std::size_t channels : {0u, 2u}) {
    const NetworkSpec spec =
        test::with_padding(plane, {}, {}, {}, test::with_hole(plane.grid, channels));
    const Model model{spec, {fresh_member(spec, test::some_scaling(2), Rng(1))}};

    write_model(path, model);

    EXPECT_EQ(read_model(path).spec, spec);
    EXPECT_EQ(read_model(path).members, model.members);
    EXPECT_NE(content(path).find(R"(requires":"[\"fno\",\"fixed_fields\"]")"), std::string::npos);
  }
}

// Mutation: options of a family that are not in the file.
TEST(ModelFile, OfEveryFamilyComesBack) {
  const test::TemporaryFolder folder;
  for (const test::NetworkCase& one : test::networks_of_families(24, 2, {6, 10}, true)) {
    const Scaling scaling = test::some_scaling(one.network.grid.channels);
    const Model model{one.network, {fresh_member(one.network, scaling, Rng(1))}};

    write_model(folder.path() / one.name, model);
    const Model back = read_model(folder.path() / one.name);

    EXPECT_EQ(back.spec, model.spec) << one.name;
    EXPECT_EQ(back.members, model.members) << one.name;
  }
}

// A reader knows by name what it must know, and refuses what it does not.
TEST(ModelFile, SaysWhatItRequires) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "m";
  Model model = some_model();
  write_model(path, model);
  const std::string all = content(path);
  const std::string known =
      R"("requires":"[\"fno\",\"time_input\",\"position_input\",\"conserved\"]")";
  ASSERT_NE(all.find(known), std::string::npos);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string bytes = all;
    bytes.replace(bytes.find(from), from.size(), to);
    overwrite(path, resealed(bytes));
    return test::error_text(ErrorKind::data, [&] { read_model(path); });
  };

  EXPECT_TRUE(test::contains(with("time_input\\\",", "wind_input\\\","),
                             "it requires 'wind_input', which"));
  EXPECT_TRUE(test::contains(with("[\\\"fno", "[\\\"fnu"), "it requires 'fnu', which"));
  // One that asks less of its reader than it needs was not written by us.
  EXPECT_TRUE(test::contains(with(",\\\"conserved\\\"]", "]" + std::string(14, ' ')),
                             "is not what it says"));
  model.spec = test::small_shape({6, 10}, {4, 6}, 2, 5, 7);
  model.members.clear();
  write_model(path, model);
  EXPECT_NE(content(path).find(R"("requires":"[\"fno\"]")"), std::string::npos);
}

// Ranges are the network's own, so that nobody need know the run.
TEST(ModelFile, HasTheRangesOfItsParameters) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "m";
  for (const bool shifts : {false, true}) {
    NetworkSpec spec = test::with_parameters(test::small_shape({6}, {4}), 3);
    spec.inputs.shifts = shifts;
    const Model model{spec, {fresh_member(spec, test::some_scaling(1), Rng(1))}};
    write_model(path, model);

    const Model back = read_model(path);

    EXPECT_EQ(back.spec, spec);
    EXPECT_EQ(back.members, model.members);
    const std::string known = shifts ? R"("requires":"[\"fno\",\"parameters\",\"shifts\"]")"
                                     : R"("requires":"[\"fno\",\"parameters\"]")";
    EXPECT_NE(content(path).find(known), std::string::npos);
  }
  const std::string good = content(path);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string bytes = good;
    bytes.replace(bytes.find(from), from.size(), to);
    overwrite(path, resealed(bytes));
    return test::error_text(ErrorKind::data, [&] { read_model(path); });
  };
  EXPECT_TRUE(test::contains(with("[-2.0,3.0]", "[-2.03330]"), "'p0' has no range"));
  EXPECT_TRUE(test::contains(with("\\\"log\\\"", "\\\"lag\\\""), "'p1' has no range"));
  EXPECT_TRUE(test::contains(with("[0.001,", "[-.001,"), "m is not a usable model file"));
}

// Files as earlier versions wrote them, of a network of one layer on 4 points.
TEST(ModelFile, OfEarlierVersionsAreRead) {
  const test::TemporaryFolder folder;
  const fs::path older = fs::path(STAP_TEST_SOURCE_DIR) / "tests/unit/nn/older";
  for (const bool conserves : {false, true}) {
    const fs::path file = older / (conserves ? "model-3.safetensors" : "model-2.safetensors");
    const NetworkSpec spec =
        make_network(make_grid(1, {4}, {1.0}),
                     {.position_input = conserves,
                      .conserve = std::vector<std::string>(conserves ? 1 : 0, "u"),
                      .family = fno({{2}, 2, 2, 2, 1})},
                     std::vector<std::string>{"u"});

    const Model model = read_model(file);

    EXPECT_EQ(model.spec, spec) << file;
    EXPECT_EQ(model.cluster, 1u);
    EXPECT_EQ(model.origin.round, 2u);
    ASSERT_EQ(model.members.size(), 2u);
    check_parameters(spec, model.members[1].weights);
    const std::string bytes = content(file);
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    const std::vector<float>& first = model.members[0].weights[0].values;  // behind mean, deviation
    EXPECT_EQ(std::memcmp(first.data(), bytes.data() + 8 + header + 8, first.size() * 4), 0);
    write_model(folder.path() / "now", model);
    const Model again = read_model(folder.path() / "now");
    EXPECT_EQ(again.spec, model.spec);
    EXPECT_EQ(again.members, model.members);
    EXPECT_EQ(again.origin, model.origin);
  }
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
  EXPECT_NE(content(folder.path() / "double").find(R"(\"cluster\"]")"), std::string::npos);
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
  places.push_back(good.find("model/4") + 6);

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
  EXPECT_EQ(damaged(with("model/4", "model/9")), ErrorKind::data);
  EXPECT_EQ(damaged(with("0/mean", "0/maen")), ErrorKind::data);
  EXPECT_EQ(damaged(with("\\\"width\\\":5", "\\\"width\\\":6")), ErrorKind::data);
  EXPECT_EQ(damaged(with("\\\"layers\\\":4", "\\\"layers\\\":9")), ErrorKind::data);
  EXPECT_EQ(damaged(with("\\\"conserved\\\":[1]", "\\\"conserved\\\":[2]")), ErrorKind::data);
  EXPECT_EQ(damaged(with("\"seal\"", "\"else\"")), ErrorKind::data);
  overwrite(path, resealed(good));
  EXPECT_EQ(read_model(path).members.size(), 2u);
}

// [1.5] was read as [1].
TEST(ModelFile, SizesAreWholeNumbers) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "m";
  const auto reading = [&](const std::string& shape, const std::string& offsets) {
    const std::string header =
        R"({"a":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
    const std::uint64_t length = header.size();
    std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
    overwrite(path, bytes + header + std::string(4, '\0'));
    return read_tensors(path).tensors.at(0).shape;
  };

  EXPECT_EQ(reading("[1]", "[0,4]"), std::vector<std::size_t>{1});
  for (const char* shape : {"[1.5]", "[1.0]", "[-1]", "[true]", "[\"1\"]", "[1e0]"})
    EXPECT_THROW(reading(shape, "[0,4]"), Error) << shape;
  EXPECT_THROW(reading("[1]", "[0.5,4.5]"), Error);
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
