// What the reader of models in C (interfaces/c/stap_model.c) takes and refuses.
#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>

#include "reference/crc32c.h"
#include "stap/nn/model_file.h"
#include "stap_model.h"
#include "support/contains.h"
#include "support/network_shapes.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// With the seal that fits what was changed.
std::string sealed_again(std::string bytes) {
  const std::string mark = "\"seal\":\"crc32c:";
  const std::size_t at = bytes.find(mark) + mark.size();
  if (at < mark.size() || at + 8 > bytes.size()) return bytes;
  bytes.replace(at, 8, "00000000");
  char seal[9];
  std::snprintf(seal, sizeof seal, "%08x", test::crc32c_slow(std::as_bytes(std::span(bytes))));
  return bytes.replace(at, 8, seal);
}

// Why it was refused; empty: it was not.
std::string complaint(const std::string& bytes) {
  char why[STAP_MODEL_MESSAGE] = "";
  stap_model* model = stap_model_read(bytes.data(), bytes.size(), why, sizeof why);
  EXPECT_EQ(model == nullptr, why[0] != '\0');
  stap_model_close(model);
  return why;
}

class CReader : public testing::Test {
 protected:
  CReader() {
    model_.spec.conserved = {1};
    for (const std::uint64_t seed : {1, 2})
      model_.members.push_back(fresh_member(model_.spec, test::some_scaling(4), Rng(seed)));
    model_.cluster = 2;
    model_.origin = {"0123456789abcdef", 0, "fedcba9876543210"};
    model_.problem = {"gas", {"\xcf\x81\"", "p"}, 0.15384615384615385};
    write_model(path_, model_);
    good_ = bytes_of(path_);
  }
  std::string with(const std::string& from, const std::string& to) const {
    std::string bytes = good_;
    const std::size_t at = bytes.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return complaint(sealed_again(bytes.replace(at, from.size(), to)));
  }

  test::TemporaryFolder folder_;
  const std::string path_ = (folder_.path() / "model.safetensors").string();
  Model model_{test::with_positions(test::small_shape({6, 10}, {4, 6}, 4, 5, 7, true)), {}};
  std::string good_;
};

TEST_F(CReader, SaysWhatAModelIs) {
  char why[STAP_MODEL_MESSAGE];

  stap_model* model = stap_model_open(path_.c_str(), why, sizeof why);

  ASSERT_NE(model, nullptr) << why;
  const stap_model_info& about = *stap_model_about(model);
  EXPECT_EQ(about.axes, 2);
  EXPECT_EQ(about.points[0], 6u);
  EXPECT_EQ(about.points[1], 10u);
  EXPECT_EQ(about.lengths[1], 1.0);
  EXPECT_EQ(about.channels, 2u);
  EXPECT_EQ(about.values, 4u * 60);
  EXPECT_EQ(about.members, 2);
  EXPECT_EQ(about.cluster, 2);
  EXPECT_EQ(about.horizon, 1000);
  EXPECT_EQ(about.dt, 0.15384615384615385);  // the same bits
  EXPECT_STREQ(about.problem, "gas");
  EXPECT_STREQ(about.run, "0123456789abcdef");
  EXPECT_EQ(about.round, 0);
  EXPECT_STREQ(stap_model_channel(model, 0), "\xcf\x81\"");
  EXPECT_STREQ(stap_model_channel(model, 1), "p");
  EXPECT_STREQ(stap_model_channel(model, 2), "");
  stap_model_close(model);
}

// Numbers are those of JSON whatever the locale says. Mutation: strtod. (Where no locale with a
// comma is installed, the source shows that nothing which goes by the locale is called.)
TEST_F(CReader, KnowsNoLocale) {
  const bool comma = std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
  const std::string refused = complaint(good_);
  std::setlocale(LC_ALL, "C");

  EXPECT_EQ(refused, "");
  const std::string source = bytes_of(fs::path(STAP_TEST_SOURCE_DIR) / "interfaces/c/stap_model.c");
  for (const char* word :
       {"strtod(", "strtof(", "strtol(", "scanf(", "atof(", "isdigit(", "isspace("})
    EXPECT_EQ(source.find(word), std::string::npos) << word << " " << comma;
  for (const double dt : {0.1, 1e-3, 6.283185307179586, 123456789.0, 2.5e-7, 1e22}) {
    model_.problem.dt = dt;
    write_model(path_, model_);
    stap_model* model = stap_model_open(path_.c_str(), nullptr, 0);
    ASSERT_NE(model, nullptr);
    EXPECT_NEAR(stap_model_about(model)->dt, dt, dt * 2.3e-16) << dt;  // one rounding more
    stap_model_close(model);
  }
}

TEST_F(CReader, RefusesWhatItDoesNotKnowByName) {
  EXPECT_TRUE(test::contains(with("time_input\\\",", "wind_input\\\","),
                             "it requires 'wind_input', which this reader does not know"));
  EXPECT_TRUE(test::contains(with("[\\\"fno", "[\\\"fnu"), "it requires 'fnu', which"));
  EXPECT_TRUE(test::contains(
      with("\\\"conserved\\\",\\\"cluster\\\"]", "\\\"conserved\\\"]" + std::string(12, ' ')),
      "is not what it says"));
  const NetworkSpec line = test::dilated_shape({9}, 1, 4, {1});
  for (const auto& [spec, name] :
       {std::pair(test::with_padding(line, {"points"}, {}, {"conv-zero"}), "convolved_padding"),
        std::pair(test::with_shifts(test::with_parameters(line, 1)), "dilated_shifts")}) {
    write_model(path_, {spec, {fresh_member(spec, test::some_scaling(1), Rng(1))}});
    EXPECT_EQ(read_model(path_).spec, spec);
    EXPECT_TRUE(test::contains(complaint(bytes_of(path_)),
                               std::string("it requires '") + name + "', which"));
  }
  EXPECT_TRUE(test::contains(with("model/4", "model/9"), "its format is 'model/9', expected"));
  EXPECT_TRUE(test::contains(with("\"F32\"", "\"F16\""), "has type 'F16', expected F32"));
}

// Breaks if a byte that was changed, cut off or added goes unnoticed.
TEST_F(CReader, NoDamageIsBelieved) {
  for (std::size_t n = 0; n < good_.size(); n += 1 + good_.size() / 197)
    EXPECT_NE(complaint(good_.substr(0, n)), "") << n;
  EXPECT_NE(complaint(good_ + "tail"), "");
  for (std::size_t i = 0; i < good_.size(); i += i < 9000 ? 41 : 997)
    for (const int bits : {1, 64}) {
      std::string bad = good_;
      bad[i] = static_cast<char>(bad[i] ^ bits);
      EXPECT_NE(complaint(bad), "") << i << " " << bits;
    }
  EXPECT_TRUE(test::contains(with("\"seal\"", "\"else\""), "no checksum"));
}

// Behind a seal that fits: what another program may write, or a hostile one.
TEST_F(CReader, NothingThatDoesNotFitIsUsed) {
  EXPECT_EQ(complaint(sealed_again(good_)), "");
  EXPECT_TRUE(test::contains(with("0/mean", "0/maen"), "tensor 0/mean is missing"));
  EXPECT_TRUE(test::contains(with("\\\"width\\\":5", "\\\"width\\\":6"), "does not fit"));
  EXPECT_TRUE(test::contains(with("\\\"layers\\\":4", "\\\"layers\\\":9"), "does not fit"));
  EXPECT_TRUE(test::contains(with("\\\"layers\\\":4", "\\\"layers\\\":3"), ""));
  EXPECT_TRUE(test::contains(with("\\\"points\\\":[6,10]", "\\\"points\\\":[6,90]"), ""));
  EXPECT_NE(with("\\\"points\\\":[6,10]", "\\\"points\\\":[1,10]"), "");
  EXPECT_NE(with("\\\"points\\\":[6,10]", "\\\"points\\\":[6,.1]"), "");
  EXPECT_TRUE(test::contains(with("\\\"conserved\\\":[1]", "\\\"conserved\\\":[4]"), "rising"));
  EXPECT_NE(with("\"cluster\":\"2\"", "\"cluster\":\"3\""), "");
  EXPECT_NE(with("\\\"horizon\\\":1000", "\\\"horizon\\\":0000"), "");
  EXPECT_NE(with("\"steps\":\"[0,0]\"", "\"steps\":\"[0  ]\""), "");
  const float infinite = std::numeric_limits<float>::infinity(), zero = 0.0f;
  std::uint64_t header = 0;
  std::memcpy(&header, good_.data(), sizeof header);
  std::string bad = good_;
  std::memcpy(bad.data() + bad.size() - 4, &infinite, 4);
  EXPECT_TRUE(test::contains(complaint(sealed_again(bad)), "not finite"));
  bad = good_;
  std::memcpy(bad.data() + 8 + header + 16, &zero, 4);  // behind 4 means
  EXPECT_TRUE(test::contains(complaint(sealed_again(bad)), "deviation is not above 0"));
}

// A model with all that may surround networks: what does not fit is found, and nothing is believed.
TEST_F(CReader, WhatSurroundsNetworksMustFit) {
  NetworkSpec spec =
      test::with_padding(test::with_parameters(test::small_shape({6, 10}, {4, 6}, 1, 5, 7), 2),
                         {"centres", "periodic"}, {0.5, 0.0}, {"odd", "blended"});
  spec.fixed = test::with_hole(spec.grid, 1);
  Model model{spec, {fresh_member(spec, unit_scaling(1), Rng(1))}};
  model.bars = R"({"format":"bars/1","level":0.9,"trajectories":9,"channels":1,"steps":2,)"
               R"("cluster":1,"floor":[0.5],"first":{"all":[1,2],"channels":[[1,2]],)"
               R"("bands":[[1,null]]},"any":{"all":[1,2],"channels":[[1,2]],"bands":[[3,4]]},)"
               R"("widest":[1,2],"states":"","weights":"","run":"","on":"","round":0})";
  write_model(path_, model);
  good_ = bytes_of(path_);
  char why[STAP_MODEL_MESSAGE] = "";

  stap_model* c = stap_model_open(path_.c_str(), why, sizeof why);

  ASSERT_NE(c, nullptr) << why;
  const stap_model_info& about = *stap_model_about(c);
  EXPECT_STREQ(about.family, "fno");
  EXPECT_EQ(about.walls[0], 1);
  EXPECT_EQ(about.walls[1], 0);
  EXPECT_EQ(about.level, 0.9);
  EXPECT_EQ(about.bar_steps, 2);
  ASSERT_NE(about.mask, nullptr);
  for (std::size_t p = 0; p < 60; ++p) EXPECT_EQ(about.mask[p], spec.fixed->mask[p]);
  ASSERT_EQ(about.parameters, 2);
  EXPECT_STREQ(stap_model_parameter(c, 1)->name, "p1");
  EXPECT_EQ(stap_model_parameter(c, 1)->least, 1e-3);
  EXPECT_EQ(stap_model_parameter(c, 2), nullptr);
  stap_work* work = stap_model_work(c);
  std::vector<double> state(60, 0.5);
  const auto step = [&] { return stap_model_step(c, work, 0, 0, state.data(), state.data()); };
  EXPECT_EQ(step(), -1);  // nobody said the parameters
  EXPECT_EQ(stap_model_set(c, work, std::vector{1.0, 0.0}.data()), -1);  // its logarithm counts
  EXPECT_EQ(stap_model_set(c, work, std::vector{HUGE_VAL, 0.1}.data()), -1);
  EXPECT_EQ(stap_model_set(c, work, std::vector{1.0, 0.01}.data()), 0);
  EXPECT_EQ(step(), 0);
  double bar = 0.0;
  EXPECT_EQ(stap_model_next(c, work, state.data(), &bar, nullptr, nullptr), -1);  // not begun
  stap_work_free(work);
  stap_model_close(c);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"centres", "centers"},
           {"periodic", "peri0dic"},
           {"[0.5,0.0]", "[0.5,0.5]"},
           {"[0.5,0.0]", "[9.5,0.0]"},
           {"\\\"odd", "\\\"add"},
           {"uniform", "unif0rm"},
           {"[-2.0,3.0]", "[3.0,-2.0]"},
           {"[0.001,0.1]", "[0.000,0.1]"},
           {"\"mask\"", "\"musk\""},
           {"\"fixed\"", "\"f1xed\""},
           {"bars/1", "bars/2"},
           {"\\\"level\\\":0.9", "\\\"level\\\":1.9"},
           {"[[3,4]]", "[[3,-]]"},
           {"[[3,4]]", "[[3.4]]"},
           {"\\\"steps\\\":2", "\\\"steps\\\":3"},
           {"\\\"widest\\\"", "\\\"widset\\\""},
           {"\\\"steps\\\":2", "\\\"steps\\\":8"},
           {"\\\"parameters\\\",\\\"walls", "\\\"paramet3rs\\\",\\\"walls"}})
    EXPECT_NE(with(from, to), "") << from << " " << to;
}

// Of a machine with the other order of bytes the length of the header is beyond all sizes.
TEST_F(CReader, FilesThatAreNoneAreRefusedAtOnce) {
  std::string foreign = good_;
  std::reverse(foreign.begin(), foreign.begin() + 8);
  EXPECT_TRUE(test::contains(complaint(foreign), "no model file"));
  EXPECT_NE(complaint(std::string(8, '\xff') + good_.substr(8)), "");
  EXPECT_NE(complaint(""), "");
  const auto opening = [&](const std::string& path) {
    char why[STAP_MODEL_MESSAGE] = "";
    EXPECT_EQ(stap_model_open(path.c_str(), why, sizeof why), nullptr);
    EXPECT_TRUE(test::contains(why, path));
    return std::string(why);
  };
  EXPECT_TRUE(test::contains(opening(folder_.path() / "missing"), "cannot be opened"));
  EXPECT_NE(opening(folder_.path()), "");
  // A terabyte of nothing behind a whole header: nothing is read of it.
  const std::string huge = (folder_.path() / "huge").string();
  std::ofstream(huge, std::ios::binary) << good_;
  fs::resize_file(huge, std::uintmax_t{1} << 40);
  EXPECT_TRUE(test::contains(opening(huge), "follow the last tensor"));
  fs::resize_file(huge, 0);
  fs::resize_file(huge, std::uintmax_t{1} << 40);
  EXPECT_NE(opening(huge), "");
  // Messages are cut where there is no room.
  char why[8];
  EXPECT_EQ(stap_model_open("/none", why, sizeof why), nullptr);
  EXPECT_EQ(std::strlen(why), 7u);
}

}  // namespace
}  // namespace stap
