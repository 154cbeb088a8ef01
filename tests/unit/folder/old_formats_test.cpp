// What earlier versions wrote is refused, and the message says which one reads it.
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>

#include "stap/data/transitions.h"
#include "stap/folder/sweep_folder.h"
#include "stap/market/generate.h"
#include "stap/study/data_request.h"
#include "stap/study/presets.h"
#include "support/contains.h"
#include "support/h5_writing.h"
#include "support/networks.h"
#include "support/refusals.h"
#include "support/run_folder.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using test::TemporaryFolder;

struct OldFile {
  std::string format, expected;
  ErrorKind kind;
  /// Puts such a file into a folder and reads it.
  std::function<void(const TemporaryFolder&)> read;
};
void PrintTo(const OldFile& file, std::ostream* out) {
  *out << file.format;
}

// A file of a run of the demo that was of this version.
void read_of_run(const TemporaryFolder& folder, const std::string& file, const std::string& text,
                 void (*read)(const RunFolder&)) {
  test::write_run_folder(folder.path(), "");
  std::filesystem::create_directories(folder.path("rounds/00"));
  folder.file(file, text);
  read(RunFolder(folder.path()));
}

void read_model_1(const TemporaryFolder& folder) {
  const NetworkSpec shape = test::small_shape({16}, {8});
  write_model(folder.path("m"), {shape, {fresh_member(shape, test::some_scaling(1), Rng(1))}});
  std::string text = test::content(folder.path("m"));
  text.replace(text.find("model/4"), 7, "model/1");
  text.replace(text.find("\"seal\""), 6, "\"else\"");
  folder.file("m", text);
  read_model(folder.path("m"));
}

void read_transitions_1(const TemporaryFolder& folder) {
  test::H5File(folder.path("t.h5")).text_attribute("format", "transitions/1");
  read_transitions(folder.path("t.h5"));
}

void read_configuration(const TemporaryFolder& folder) {
  load_config(folder.file("config.yaml", "format: run/2\nstudy: {rounds: 2}\n"));
}

const std::vector<OldFile>& old_files() {
  constexpr ErrorKind kData = ErrorKind::data;
  const auto read_config = [](const RunFolder& run) { run.read_config(); };
  const auto read_manifest = [](const RunFolder& run) { run.read_manifest(); };
  static const std::vector<OldFile> all{
      {"run/1", "run/3", kData,
       [=](const auto& f) { read_of_run(f, "config.yaml", "format: run/1\n", read_config); }},
      {"run/2", "run/3", kData,
       [=](const auto& f) { read_of_run(f, "config.yaml", "format: run/2\n", read_config); }},
      {"run/2", "run/3", ErrorKind::config, read_configuration},
      {"manifest/1", "manifest/3", kData,
       [=](const auto& f) {
         read_of_run(f, "manifest.json", R"({"format": "manifest/1"})", read_manifest);
       }},
      {"manifest/2", "manifest/3", kData,
       [=](const auto& f) {
         read_of_run(f, "manifest.json", R"({"format": "manifest/2"})", read_manifest);
       }},
      {"plan/1", "plan/2", kData,
       [](const auto& f) {
         read_of_run(f, "rounds/00/plan.json", R"({"format": "plan/1"})",
                     [](const RunFolder& run) { run.read_plan(0, 1, 8, 3); });
       }},
      {"sweep/1", "sweep/2", kData,
       [](const auto& f) {
         f.file("sweep.json", R"({"format": "sweep/1", "runs": ["a"]})");
         names_in(f.path());
       }},
      {"model/1", "model/4", kData, read_model_1},
      {"transitions/1", "transitions/2", kData, read_transitions_1},
      {"data/1", "data/2", ErrorKind::unavailable,
       [](const auto& f) {
         f.file("config.yaml", "format: data/1\n");
         const Study study = make_study(load_config("demo"));
         Observer quiet;
         generate(data_request(study), *make_sampler(study, study.grid), make_solver(study, 1),
                  f.path(), quiet, {});
       }},
  };
  return all;
}

class OldFormats : public testing::TestWithParam<OldFile> {};

TEST_P(OldFormats, AreRefusedAndTheirReaderIsNamed) {
  const TemporaryFolder folder;

  const std::string text = test::error_text(GetParam().kind, [&] { GetParam().read(folder); });

  EXPECT_TRUE(test::contains(text, "has the format " + GetParam().format + ", expected " +
                                       GetParam().expected + ": an earlier version of stap"));
  EXPECT_TRUE(test::contains(text, "commit 98ee7af"));
}

INSTANTIATE_TEST_SUITE_P(Files, OldFormats, testing::ValuesIn(old_files()));

}  // namespace
}  // namespace stap
