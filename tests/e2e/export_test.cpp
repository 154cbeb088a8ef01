// `stap export` as a user runs it.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "stap/data/npy.h"
#include "stap/data/store.h"
#include "stap/data/transitions.h"
#include "stap/folder/run_folder.h"
#include "stap_model.h"
#include "support/environment.h"
#include "support/process.h"
#include "support/small_study.h"
#include "support/well_check.h"

namespace stap::test {
namespace {

class Exports : public ::testing::Test {
 protected:
  // One run for all of them.
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    const ScopedVariable cache("STAP_CACHE", "off");
    std::vector<std::string> words{"run", "demo", "--out", folder_->path("run"), "--quiet"};
    for (const std::string& setting : small_study()) words.push_back(setting);
    ASSERT_EQ(run_stap(words).exit_code, 0);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static Finished run_export(const std::string& format, const std::string& to,
                             std::vector<std::string> more = {}) {
    more.insert(more.begin(),
                {"export", folder_->path("run"), "--format", format, "--out", folder_->path(to)});
    return run_stap(more);
  }

  static std::unique_ptr<TemporaryFolder> folder_;
};
std::unique_ptr<TemporaryFolder> Exports::folder_;

// 3 trajectories of 5 steps and two rounds of 9.
constexpr std::size_t kTransitions = 15 + 18;

TEST_F(Exports, TheWell) {
  const Finished result = run_export("the-well", "a.hdf5", {"--json"});

  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto summary = nlohmann::json::parse(result.out);
  EXPECT_EQ(summary["transitions"], kTransitions);
  EXPECT_EQ(summary["problem"], "burgers");
  EXPECT_EQ(WellCheck::complaints(folder_->path("a.hdf5")), std::vector<std::string>{});
  const Array<double> u = read_array(folder_->path("a.hdf5"), "t0_fields/u");
  EXPECT_EQ(u.shape, (std::vector<std::size_t>{summary["trajectories"], 6, 32}));
}

// There and back: the same transitions, but in single precision.
TEST_F(Exports, TheWellComesBackAsTransitions) {
  ASSERT_EQ(run_export("the-well", "b.hdf5").exit_code, 0);

  const Finished result = run_stap({"import", folder_->path("b.hdf5"), "--as", "transitions",
                                    "--out", folder_->path("back.h5")});

  ASSERT_EQ(result.exit_code, 0) << result.err;
  const TransitionSet before = read_transitions(folder_->path("run/transitions.h5"));
  const TransitionSet back = read_transitions(folder_->path("back.h5"));
  EXPECT_EQ(back.equation, before.equation);
  ASSERT_EQ(back.count(), before.count());
  for (std::size_t i = 0; i < before.count(); ++i) {
    EXPECT_EQ(back.origins[i].step, before.origins[i].step);
    for (std::size_t v = 32 * i; v < 32 * (i + 1); ++v) {
      EXPECT_EQ(back.inputs[v], double{static_cast<float>(before.inputs[v])});
      EXPECT_EQ(back.outputs[v], double{static_cast<float>(before.outputs[v])});
    }
  }
}

TEST_F(Exports, Npy) {
  const Finished result = run_export("npy", "arrays");

  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "33 transitions of burgers"));
  const Array<double> inputs = read_npy(folder_->path("arrays/inputs.npy"));
  EXPECT_EQ(inputs.shape, (std::vector<std::size_t>{kTransitions, 1, 32}));
  EXPECT_EQ(inputs.values, read_array(folder_->path("run/transitions.h5"), "inputs").values);

  EXPECT_EQ(run_export("npy", "arrays").exit_code, 0);  // it is there, to the last byte
  folder_->file("arrays/README.txt", content(folder_->path("arrays/README.txt")) + "mine");
  const Finished again = run_export("npy", "arrays");
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_TRUE(contains(again.err, "exists and is not empty"));
}

TEST_F(Exports, Xdmf) {
  const Finished result = run_export("xdmf", "a.xdmf");

  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(content(folder_->path("a.xdmf")), "Format=\"HDF\">a.h5:/0_0_u</DataItem>"));
  EXPECT_EQ(read_array(folder_->path("a.h5"), "0_0_u").shape, std::vector<std::size_t>{32});
  EXPECT_EQ(run_export("xdmf", "a.vtk").exit_code, 2);
}

TEST_F(Exports, WhatIsNotThereOrCannotBeWrittenIsSaid) {
  const Finished unknown = run_export("zarr", "a");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_TRUE(contains(unknown.err, "the-well"));
  const Finished nothing =
      run_stap({"export", folder_->path("nothing"), "--format", "npy", "--out", "x"});
  EXPECT_EQ(nothing.exit_code, 3);
  EXPECT_TRUE(contains(nothing.err, "nothing"));
  EXPECT_EQ(run_export("the-well", "no/a.hdf5").exit_code, 6);
}

// Neither what is read, by whatever name, nor what somebody else has made.
TEST_F(Exports, NothingIsReplacedButAnExportOfTheSameKind) {
  namespace fs = std::filesystem;
  const auto bytes_of_run = [] {
    std::string all;
    for (const char* name : {"transitions.h5", "journal.jsonl", "answers.bin", "config.yaml"})
      all += content(folder_->path("run/") + name);
    return all;
  };
  const std::string before = bytes_of_run();
  fs::create_directory_symlink("run", folder_->path("other-name"));
  fs::create_symlink("run/transitions.h5", folder_->path("link.h5"));
  fs::copy_file(folder_->path("run/transitions.h5"), folder_->path("mydata.h5"));
  folder_->file("thesis.txt", "years");

  for (const char* to : {"run/transitions.h5", "run/journal.jsonl", "run/answers.bin", "run/new.h5",
                         "other-name/transitions.h5", "link.h5", "mydata.h5", "thesis.txt"})
    EXPECT_EQ(run_export("the-well", to).exit_code, 2) << to;
  for (const char* to : {"run/transitions.xdmf", "mydata.xdmf", "link.xdmf"})
    EXPECT_EQ(run_export("xdmf", to).exit_code, 2) << to;
  EXPECT_EQ(run_export("npy", "run/arrays").exit_code, 2);
  for (const char* to : {"run/transitions.h5", "mydata.h5"})
    EXPECT_EQ(run_stap({"predict", folder_->path("run"), "--input", folder_->path("thesis.txt"),
                        "--steps", "1", "--output", folder_->path(to)})
                  .exit_code,
              2)
        << to;

  EXPECT_EQ(bytes_of_run(), before);
  EXPECT_EQ(content(folder_->path("mydata.h5")), content(folder_->path("run/transitions.h5")));
  EXPECT_EQ(content(folder_->path("thesis.txt")), "years");
  for (const auto& [format, to] : {std::pair("the-well", "c.h5"), {"xdmf", "d.xdmf"}}) {
    EXPECT_EQ(run_export(format, to).exit_code, 0);
    EXPECT_EQ(run_export(format, to).exit_code, 0) << "an older one is replaced";
  }
  EXPECT_EQ(run_export("the-well", "d.h5").exit_code, 2) << "of another kind";
}

// One file, and the same numbers for whoever reads it. Mutation: an export of another round,
// without its scaling, or without what only the run's folder says.
TEST_F(Exports, AModelStandsByItself) {
  const std::string model = folder_->path("model.safetensors"), in = folder_->path("in.npy");
  std::vector<double> state(32);
  for (std::size_t i = 0; i < state.size(); ++i)
    state[i] = static_cast<float>(std::sin(0.2 * static_cast<double>(i)));
  const std::vector<std::size_t> shape{1, 1, 32};
  write_npy(in, shape, std::span<const double>(state));

  const Finished result =
      run_stap({"export-model", folder_->path("run"), "--out", model, "--json"});

  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto summary = nlohmann::json::parse(result.out);
  EXPECT_EQ(summary["problem"], "burgers");
  EXPECT_EQ(summary["bytes"], std::filesystem::file_size(model));
  const auto predicted = [&](const std::string& by, const std::string& to) {
    const Finished done = run_stap({"predict", by, "--input", in, "--steps", "3", "--out",
                                    folder_->path(to), "--device", "cpu"});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return read_array(folder_->path(to), "mean");
  };
  const Array<double> mean = predicted(model, "by-file.h5");
  EXPECT_EQ(mean.values, predicted(folder_->path("run"), "by-run.h5").values);
  EXPECT_EQ(read_state_info(folder_->path("by-file.h5")).equation, "burgers");
  char why[STAP_MODEL_MESSAGE];
  stap_model* c = stap_model_open(model.c_str(), why, sizeof why);
  ASSERT_NE(c, nullptr) << why;
  EXPECT_STREQ(stap_model_about(c)->problem, "burgers");
  EXPECT_EQ(stap_model_about(c)->members, summary["members"]);
  EXPECT_EQ(stap_model_about(c)->dt, read_state_info(folder_->path("by-run.h5")).dt);
  EXPECT_STREQ(stap_model_channel(c, 0), "u");
  stap_work* work = stap_model_work(c);
  for (long i = 0; i < 3; ++i)
    stap_model_step(c, work, STAP_MODEL_MEAN, i, state.data(), state.data());
  for (std::size_t i = 0; i < state.size(); ++i)
    EXPECT_NEAR(state[i], mean.values[3 * 32 + i], 3e-6) << i;  // single precision, three steps
  stap_work_free(work);
  stap_model_close(c);
  EXPECT_EQ(summary["error_bars"], false);
  // The example in C, which writes the same bytes.
  const auto file = [&](const char* name) { return folder_->path(name); };
  std::ofstream(file("state"), std::ios::binary)
      .write(reinterpret_cast<const char*>(mean.values.data()), 32 * sizeof(double));
  const Finished rolled = run_process({"/bin/sh", "-c",
                                       std::string(STAP_TEST_PROGRAMS) + "/rollout " + model +
                                           " 3 <" + file("state") + " >" + file("states")});
  ASSERT_EQ(rolled.exit_code, 0) << rolled.err;
  EXPECT_TRUE(contains(rolled.err, "step 3: members differ by"));
  std::vector<double> last(32);
  std::ifstream states(file("states"), std::ios::binary);
  states.seekg(2 * 32 * sizeof(double));
  states.read(reinterpret_cast<char*>(last.data()), 32 * sizeof(double));
  EXPECT_EQ(last, state);
}

// Bars go with the networks they are of. Mutation: an export without them, or with those of others.
TEST_F(Exports, AModelHasItsErrorBars) {
  const std::string run = folder_->path("run"), model = folder_->path("with-bars.safetensors");
  const ScopedVariable cache("STAP_CACHE",
                             folder_->path("cache"));  // where its test set is made anew
  ASSERT_EQ(run_stap({"generate", run}).exit_code, 0);
  ASSERT_EQ(run_stap({"calibrate", run, "--on", "test", "--level", "0.75"}).exit_code, 0);

  const Finished result = run_stap({"export-model", run, "--out", model});

  EXPECT_TRUE(contains(result.out, "with error bars"));
  char why[STAP_MODEL_MESSAGE];
  stap_model* c = stap_model_open(model.c_str(), why, sizeof why);
  ASSERT_NE(c, nullptr) << why;
  EXPECT_EQ(stap_model_about(c)->level, 0.75);
  EXPECT_EQ(stap_model_about(c)->bar_trajectories, 8);
  std::vector<double> state(32), made(32);
  for (std::size_t i = 0; i < state.size(); ++i)
    state[i] = static_cast<float>(std::sin(0.2 * static_cast<double>(i)));
  const std::vector<std::size_t> shape{1, 1, 32};
  write_npy(folder_->path("one.npy"), shape, std::span<const double>(state));
  ASSERT_EQ(run_stap({"predict", model, "--input", folder_->path("one.npy"), "--steps", "3",
                      "--bars", "--device", "cpu", "--out", folder_->path("bars.h5")})
                .exit_code,
            0);
  const Array<double> bars = read_array(folder_->path("bars.h5"), "bar");
  stap_work* work = stap_model_work(c);
  ASSERT_EQ(stap_model_begin(c, work, STAP_START_FIRST, 0, state.data()), 0);
  for (std::size_t step = 1; step <= 3; ++step) {
    double bar = 0;
    ASSERT_GE(stap_model_next(c, work, made.data(), &bar, nullptr, nullptr), 0);
    EXPECT_NEAR(bar, bars.values[step], 1e-4 * bars.values[step]);  // single precision
  }
  stap_work_free(work);
  stap_model_close(c);
  std::filesystem::remove(run + "/bars.json");
}

TEST_F(Exports, AModelTakesThePlaceOfAnOlderOneAlone) {
  const std::string run = folder_->path("run"), model = folder_->path("again.safetensors");
  const RunFolder files(run);
  std::filesystem::copy_file(files.newest_committee().path, folder_->path("other.safetensors"));
  const auto exporting = [&](const std::string& to) {
    return run_stap({"export-model", run, "--out", to}).exit_code;
  };

  EXPECT_EQ(exporting(model), 0);
  EXPECT_EQ(exporting(model), 0);
  EXPECT_EQ(exporting(folder_->path("other.safetensors")), 2);  // networks, but no export
  EXPECT_EQ(exporting(files.newest_committee().path), 2);
  EXPECT_EQ(exporting(run + "/model.safetensors"), 2);
  EXPECT_EQ(run_stap({"export-model", run, "--round", "77", "--out", model}).exit_code, 3);
  EXPECT_EQ(run_stap({"export-model", folder_->path("none")}).exit_code, 3);
}

}  // namespace
}  // namespace stap::test
