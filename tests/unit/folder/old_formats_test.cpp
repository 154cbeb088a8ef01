// What earlier versions wrote is refused, and the message says which one reads it.
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>

#include "stap/folder/sweep_folder.h"
#include "support/contains.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

struct OldFile {
  std::string format, expected;
  /// Puts such a file into a folder and reads it.
  std::function<void(const test::TemporaryFolder&)> read;
};
void PrintTo(const OldFile& file, std::ostream* out) {
  *out << file.format;
}

class OldFormats : public testing::TestWithParam<OldFile> {};

TEST_P(OldFormats, AreRefusedAndTheirReaderIsNamed) {
  const test::TemporaryFolder folder;

  const std::string text = test::error_text(ErrorKind::data, [&] { GetParam().read(folder); });

  EXPECT_TRUE(test::contains(text, "has the format " + GetParam().format + ", expected " +
                                       GetParam().expected + ": an earlier version of stap"));
  EXPECT_TRUE(test::contains(text, "commit 98ee7af"));
}

INSTANTIATE_TEST_SUITE_P(, OldFormats,
                         testing::Values(OldFile{
                             "sweep/1", "sweep/2", [](const test::TemporaryFolder& folder) {
                               folder.file("sweep.json", R"({"format": "sweep/1", "runs": ["a"]})");
                               names_in(folder.path());
                             }}));

}  // namespace
}  // namespace stap
