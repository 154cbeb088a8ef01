// The engine against values of an independent program (neuraloperator 0.3.0): every file whose name
// starts with "fno", tolerances from its attributes.
#include <gtest/gtest.h>

#include <algorithm>

#include "nn/gradients.h"
#include "stap/nn/engine.h"
#include "support/engine_under_test.h"
#include "support/golden.h"
#include "support/golden_networks.h"
#include "support/networks.h"

namespace stap {
namespace {

// The bare network, without scaling: target "state" with mean 0 and deviation 1.
struct FnoFile {
  explicit FnoFile(const std::filesystem::path& path)
      : shape(test::golden_shape(path, read_array(path, "x").shape, NetworkOptions::Target::state)),
        inputs(test::golden_states(shape.grid, read_array(path, "x"))),
        targets(test::golden_states(shape.grid, read_array(path, "y"))),
        engine(test::make_engine_under_test(shape, 1, 2)) {
    MemberState member;
    member.scaling = unit_scaling(shape.grid.channels);
    member.weights = test::golden_parameters(path, "params/", shape);
    engine->load(0, member);
  }
  TransitionsView transitions() const { return {inputs.view(), targets.view(), {}}; }

  NetworkSpec shape;
  States<float> inputs, targets;
  std::unique_ptr<Engine> engine;
};

class FnoGolden : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FALSE(files.empty()) << "no fno*.h5 in " << test::golden_folder();
  }
  std::vector<std::filesystem::path> files = test::golden_files("fno");
};

TEST_F(FnoGolden, Outputs) {
  for (const auto& path : files) {
    const FnoFile file(path);
    const std::size_t n = file.inputs.count();
    const auto committee = file.engine->committee({0});
    const RowsId rows = committee->rows(n);
    std::vector<std::size_t> index(n);
    for (std::size_t r = 0; r < n; ++r) index[r] = r;
    const std::vector<int> member(n, 0);

    committee->put(rows, 0, file.inputs.view());
    committee->advance(rows, index, member, rows, index);
    States<float> out(file.shape.grid, n);
    committee->get(rows, 0, out.view());

    const std::vector<double> found(out.values().begin(), out.values().end());
    const double error = test::relative_l2(found, read_array(path, "out").values);
    EXPECT_LT(error, test::stated(path, "tolerance_out")) << path;
  }
}

TEST_F(FnoGolden, LossAndGradients) {
  for (const auto& path : files) {
    const FnoFile file(path);

    Parameters gradient;
    const double loss = batch_gradient(*file.engine, 0, file.transitions(), gradient);

    const double expected = read_array(path, "loss").values.at(0);
    EXPECT_NEAR(loss, expected, test::stated(path, "tolerance_losses") * expected) << path;
    for (const Tensor& t : gradient) {
      const std::vector<double> found(t.values.begin(), t.values.end());
      const double error = test::relative_l2(found, read_array(path, "grads/" + t.name).values);
      EXPECT_LT(error, test::stated(path, "tolerance_grads")) << path << " " << t.name;
    }
  }
}

// One full batch an epoch: the loss an epoch reports is the loss before its single step.
TEST_F(FnoGolden, TenAdamSteps) {
  struct Losses : Observer {
    void epoch_done(const EpochDone& e) override { values.push_back(e.loss); }
    std::vector<double> values;
  };
  for (const auto& path : files) {
    const FnoFile file(path);
    FitOptions options;
    options.epochs = static_cast<int>(test::stated(path, "cosine_epochs"));
    options.learning_rate = test::stated(path, "adam_lr");
    FitJob job{0, file.transitions(), options, Rng(0)};
    Losses losses;

    file.engine->fit({&job, 1}, losses);

    const auto expected = read_array(path, "adam_losses").values;
    ASSERT_EQ(losses.values.size(), expected.size());
    for (std::size_t t = 0; t < expected.size(); ++t)
      EXPECT_NEAR(losses.values[t], expected[t],
                  test::stated(path, "tolerance_losses") * expected[t])
          << path << " step " << t;
  }
}

}  // namespace
}  // namespace stap
