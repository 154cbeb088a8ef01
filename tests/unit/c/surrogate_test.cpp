#include "stap/c/surrogate.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "stap/core/error.h"
#include "stap/eval/rollout.h"
#include "stap/folder/model_of.h"
#include "stap/nn/model_file.h"
#include "support/contains.h"
#include "support/networks.h"
#include "support/process.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

constexpr std::size_t kPoints = 16, kRows = 3, kCalls = 4;

class CSurrogate : public ::testing::Test {
 protected:
  void SetUp() override {
    Model model;
    model.spec = test::small_shape({kPoints}, {6});
    model.members = {fresh_member(model.spec, test::some_scaling(1), Rng(1)),
                     fresh_member(model.spec, test::some_scaling(1), Rng(2))};
    model.problem = {"heat", {"T"}, 0.5};
    write_model(file_, model);
    ASSERT_EQ(stap_surrogate_open(file_.c_str(), "cpu", 1, &opened_, why_.data(), why_.size()), 0)
        << why_.data();
  }
  void TearDown() override { stap_surrogate_close(opened_); }

  static std::vector<double> states() {
    std::vector<double> values(kRows * kPoints);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = Rng(5).normal(i);
    return values;
  }

  test::TemporaryFolder folder_;
  std::string file_ = folder_.path("model.safetensors");
  stap_surrogate* opened_ = nullptr;
  std::array<char, 400> why_{};
};

TEST_F(CSurrogate, SaysWhatItIsOf) {
  const stap_surrogate_sizes sizes = stap_surrogate_about(opened_);

  EXPECT_EQ(sizes.values, kPoints);
  EXPECT_EQ(sizes.members, 2);
  EXPECT_EQ(sizes.parameters, 0U);
  const nlohmann::json text = nlohmann::json::parse(stap_surrogate_text(opened_));
  EXPECT_EQ(text["problem"], "heat");
  EXPECT_EQ(text["channels"], nlohmann::json({"T"}));
  EXPECT_EQ(text["dt"], 0.5);
  EXPECT_TRUE(text["bars"].is_null());
}

TEST_F(CSurrogate, RollsOutAsTheLibraryDoes) {
  const std::vector<double> from = states();
  std::vector<double> made(kRows * kCalls * kPoints);

  for (const int member : {STAP_SURROGATE_MEAN, 1}) {
    ASSERT_EQ(stap_surrogate_rollout(opened_, member, kRows, kCalls, from.data(), nullptr, nullptr,
                                     made.data(), why_.data(), why_.size()),
              0)
        << why_.data();

    Surrogate same = load_surrogate(file_, {.device = ComputeOptions::Device::cpu}, 1);
    States<float> initial(same.grid(), kRows);
    convert(from, initial.values());
    roll_out(*same.committee, initial.view(), member, kCalls, kRows,
             [&](std::size_t step, std::size_t first, StatesView<const float> block) {
               for (std::size_t r = 0; r < block.count; ++r)
                 for (std::size_t p = 0; p < kPoints; ++p)
                   EXPECT_EQ(made[((first + r) * kCalls + step) * kPoints + p],
                             static_cast<double>(block.row(r)[p]));
             });
  }
}

TEST_F(CSurrogate, RefusesWrongArgumentsAndWritesNothing) {
  const std::vector<double> from = states();
  std::vector<double> made(kRows * kCalls * kPoints, 7.0);
  const std::size_t huge = std::numeric_limits<std::size_t>::max() / 16;
  struct Wrong {
    int member;
    std::size_t rows, calls;
    const double* states;
    const char* words;
  };

  for (const Wrong& wrong :
       {Wrong{2, kRows, 1, from.data(), "no member 2"},
        Wrong{-2, kRows, 1, from.data(), "member -2"}, Wrong{0, 0, 1, from.data(), "0 rows"},
        Wrong{0, 1, 0, from.data(), "0 calls"}, Wrong{0, kRows, 1, nullptr, "'states' is NULL"},
        Wrong{0, huge, huge, from.data(), "more values than there can be"}}) {
    EXPECT_EQ(stap_surrogate_rollout(opened_, wrong.member, wrong.rows, wrong.calls, wrong.states,
                                     nullptr, nullptr, made.data(), why_.data(), why_.size()),
              static_cast<int>(ErrorKind::config));
    EXPECT_TRUE(test::contains(why_.data(), wrong.words)) << why_.data();
  }
  EXPECT_EQ(made, std::vector<double>(made.size(), 7.0));
  EXPECT_EQ(stap_surrogate_rollout(nullptr, 0, 1, 1, from.data(), nullptr, nullptr, made.data(),
                                   nullptr, 0),
            static_cast<int>(ErrorKind::config));
}

TEST_F(CSurrogate, TextsAreCutToTheRoomThereIs) {
  stap_surrogate* other = nullptr;
  std::array<char, 8> small{};
  small.fill('x');

  const int code = stap_surrogate_open(folder_.path("no.safetensors").c_str(), "cpu", 1, &other,
                                       small.data(), 7);

  EXPECT_EQ(code, static_cast<int>(ErrorKind::data));
  EXPECT_EQ(std::strlen(small.data()), 6U);
  EXPECT_EQ(small[7], 'x');
  EXPECT_EQ(other, nullptr);
  EXPECT_EQ(stap_surrogate_open(file_.c_str(), "tpu", 1, &other, why_.data(), why_.size()),
            static_cast<int>(ErrorKind::config));
  EXPECT_TRUE(test::contains(why_.data(), "expected cpu, cuda or auto"));
}

TEST_F(CSurrogate, WithoutCalibrationThereAreNoBars) {
  const std::vector<double> from = states();
  std::vector<double> all(kRows * 2), channels(kRows * 2);

  EXPECT_EQ(stap_surrogate_bars(opened_, 0, kRows, 1, from.data(), nullptr, all.data(),
                                channels.data(), nullptr, nullptr, why_.data(), why_.size()),
            static_cast<int>(ErrorKind::data));
  EXPECT_TRUE(test::contains(why_.data(), "stap calibrate")) << why_.data();
}

TEST(CSurrogateHeader, IsC) {
  const std::string header = STAP_TEST_SOURCE_DIR "/include/stap/c/surrogate.h";

  const test::Finished done =
      test::run_process({"/usr/bin/env", "cc", "-std=c99", "-pedantic", "-Wall", "-Wextra",
                         "-Werror", "-fsyntax-only", "-x", "c", "-include", header, "/dev/null"});

  EXPECT_EQ(done.exit_code, 0) << done.err;
}

}  // namespace
}  // namespace stap
