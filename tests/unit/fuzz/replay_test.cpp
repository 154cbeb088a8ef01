// All that fuzzers and people have found to be hard to read (tests/fuzz), once more.
#include "fuzz/targets.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace stap::fuzz {
namespace {

namespace fs = std::filesystem;

class Replay : public testing::TestWithParam<Target> {};

// Breaks if a target crashes, hangs, or throws anything but an Error that says what is wrong with
// the bytes.
TEST_P(Replay, NothingInTheCorpusDoesHarm) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(STAP_TEST_SOURCE_DIR) /
                                                  "tests/fuzz/corpus" / GetParam().name)) {
    SCOPED_TRACE(entry.path());
    std::ifstream in(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};

    EXPECT_NO_THROW(
        GetParam().run({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}));
    ++count;
  }
  EXPECT_GT(count, 2u);
}

INSTANTIATE_TEST_SUITE_P(Corpus, Replay, testing::ValuesIn(kTargets),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace stap::fuzz
