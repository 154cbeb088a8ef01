#include "core/whole_file.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <cerrno>

#include "stap/config/files.h"
#include "stap/journal/journal.h"
#include "support/refusals.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::error_text;

// A file whose first byte cannot be read: nothing is mapped there.
constexpr const char* kFailing = "/proc/self/mem";

// A disk that fails says nothing about the file.
TEST(ReadErrors, ADiskThatFailsIsStorage) {
  for (const auto& read :
       std::vector<std::function<void()>>{[] { read_whole_file(kFailing, 100, ErrorKind::config); },
                                          [] { read_text_file(kFailing); }})
    EXPECT_NE(error_text(ErrorKind::storage, read).find("Input/output error"), std::string::npos);
}

TEST(ReadErrors, WithoutDescriptorsNothingIsKnownOfAFile) {
  const test::TemporaryFolder folder;
  folder.file("journal.jsonl", "");
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit none{1, limit.rlim_max};
  std::vector<std::string> said;

  setrlimit(RLIMIT_NOFILE, &none);
  for (const auto& read : std::vector<std::function<void()>>{
           [&] { read_whole_file(folder.path("journal.jsonl"), 100, ErrorKind::config); },
           [&] { read_journal(folder.path("journal.jsonl"), {}); }})
    said.push_back(error_text(ErrorKind::unavailable, read));
  setrlimit(RLIMIT_NOFILE, &limit);

  for (const std::string& text : said)
    EXPECT_NE(text.find("Too many open files"), std::string::npos) << text;
}

}  // namespace
}  // namespace stap
