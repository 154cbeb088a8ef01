// Graphs of write_onnx() against the slow twin, computed in double precision by a reader of the
// tests; `make test-onnx` has a runtime that nobody here wrote.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "stap/nn/onnx_file.h"
#include "support/network_shapes.h"
#include "support/onnx_reader.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

test::OnnxModel graph_of(const Model& model) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "step.onnx";
  write_onnx(path, model);
  std::ifstream in(path, std::ios::binary);
  return test::OnnxModel(std::string(std::istreambuf_iterator<char>(in), {}));
}

// What stap_model.c does not take.
std::vector<test::NamedShape> own_padding() {
  using test::dilated_shape, test::with_padding, test::with_parameters, test::with_shifts;
  const NetworkSpec line = dilated_shape({11}, 2, 5, {3, 1}, true),
                    plane = test::with_positions(dilated_shape({9, 7}, 2, 5, {2, 1}));
  return {
      {"shifts", with_shifts(with_parameters(line, 2))},
      {"zeros", with_padding(with_parameters(line, 2), {"points"}, {}, {"conv-zero"})},
      {"mirrors", with_padding(line, {"points"}, {}, {"conv-mirror"})},
      {"a channel", with_padding(with_parameters(plane, 1), {"centres", "periodic"}, {},
                                 {"conv-zero"}, test::with_hole(plane.grid, 1))},
      {"a room", with_padding(with_shifts(with_parameters(plane, 3)), {"points", "centres"}, {},
                              {"conv-mirror", "conv-zero"})},
      {"a ring", with_padding(plane, {"centres", "points"}, {0.0, 0.4}, {"conv-mirror", "odd"})}};
}

// Two rows of a batch and both members. Only constants are rounded (6e-8 each, of sums with random
// signs). Mutation: a wrong sign, factor, tap, padding, mask or mean; a parameter in another place
// or out of its range; members or rows that are swapped.
TEST(Onnx, AGraphMakesTheStepsOfTheTwin) {
  std::vector<test::NamedShape> all = test::shapes();
  std::ranges::move(own_padding(), std::back_inserter(all));
  for (const auto& [name, shape] : all) {
    if (shape.grid.points_total() > 130) continue;  // seconds for the twin
    SCOPED_TRACE(name);
    const std::vector<MemberState> members{test::member_of(shape, 1), test::member_of(shape, 2)};
    const States<float> in = test::random_states(shape.grid, 2, Rng(2));
    const test::Condition now(shape);
    std::vector<std::size_t> sizes{2, shape.grid.channels};
    sizes.insert(sizes.end(), shape.grid.points.begin(), shape.grid.points.end());
    test::OnnxValues given{{"state", {sizes, test::doubles(in.values())}}};
    if (shape.inputs.time) given["step"] = {{2}, std::vector<double>(2, test::Condition::kNumber)};
    if (!now.values.empty()) {
      given["parameters"] = {{2, now.values.size()}, now.values};
      given["parameters"].values.insert(given["parameters"].values.end(), now.values.begin(),
                                        now.values.end());
    }
    const test::OnnxModel graph = graph_of({shape, members});
    ASSERT_EQ(graph.inputs().size(), given.size());

    const test::OnnxValues made = graph.run(given);

    const std::vector<double>& each = made.at("members").values;
    const std::vector<double>& next = made.at("next").values;
    EXPECT_EQ(made.at("next").shape, sizes);
    ASSERT_EQ(each.size(), 2 * next.size());
    const std::size_t values = shape.grid.values();
    for (std::size_t row = 0; row < 2; ++row) {
      std::vector<double> mean(values, 0.0);
      for (std::size_t m = 0; m < 2; ++m) {
        const reference::DoubleParameters weights(members[m].weights);
        const auto exact =
            test::twin_step(shape, weights, members[m].scaling, in.row(row), now.told);
        const auto begin = each.begin() + std::ptrdiff_t((m * 2 + row) * values);
        EXPECT_LE(test::relative_l2({begin, begin + std::ptrdiff_t(values)}, exact), 1e-6)
            << m << " " << row;
        for (std::size_t v = 0; v < values; ++v) mean[v] += exact[v] / 2;
      }
      const auto begin = next.begin() + std::ptrdiff_t(row * values);
      EXPECT_LE(test::relative_l2({begin, begin + std::ptrdiff_t(values)}, mean), 1e-6) << row;
    }
  }
}

}  // namespace
}  // namespace stap
