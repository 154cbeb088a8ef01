// The family dilated against values of an independent program
// (tests/reference/make-golden-dilated): every file dilated-*.safetensors.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include <nlohmann/json.hpp>

#include "nn/gradients.h"
#include "stap/config/value.h"
#include "stap/data/store.h"
#include "stap/nn/dilated.h"
#include "stap/nn/engine.h"
#include "support/engine_under_test.h"
#include "support/golden.h"
#include "support/networks.h"

namespace stap {
namespace {

struct DilatedFile {
  explicit DilatedFile(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    const auto header = nlohmann::json::parse(bytes.substr(sizeof length, length));
    for (const auto& [name, info] : header.items()) {
      if (name == "__metadata__") continue;
      Array<double>& array = arrays[name];
      array.shape = info.at("shape").get<std::vector<std::size_t>>();
      const auto ends = info.at("data_offsets").get<std::vector<std::size_t>>();
      array.values.resize((ends.at(1) - ends.at(0)) / sizeof(double));
      std::memcpy(array.values.data(), bytes.data() + sizeof length + length + ends[0],
                  ends[1] - ends[0]);
    }
    const auto& metadata = header.at("__metadata__");
    periodic = metadata.at("padding").get<std::string>() == "circular";
    const std::vector<std::size_t>& shape = arrays.at("x").shape;  // [rows, C, X...]
    const std::vector<std::size_t> points(shape.begin() + 2, shape.end());
    const auto options = metadata.at("options").get<std::string>();
    // The bare network, without scaling: target "state" with mean 0 and deviation 1.
    const std::vector<std::string> walls(points.size(), periodic ? "periodic" : "centres");
    spec = make_network(
        with_walls(make_grid(shape.at(1), points, std::vector<double>(points.size(), 1.0)), walls),
        {.target = NetworkOptions::Target::state,
         .padding = {{}, std::vector<std::string>(periodic ? 0 : 1, "conv-zero")},
         .family = dilated(config::read(dilated_fields(),
                                        config::parse_json(options, path.string()), "network"))});
    weights = parameter_shapes(spec);
    for (Tensor& t : weights) {
      const Array<double>& found = arrays.at("weights/" + t.name);
      t.shape = found.shape;
      t.values.assign(found.values.begin(), found.values.end());
    }
    check_parameters(spec, weights);
  }
  States<float> states(const std::string& name) const {
    States<float> read(spec.grid, arrays.at(name).shape.at(0));
    convert(arrays.at(name).values, read.values());
    return read;
  }

  std::map<std::string, Array<double>> arrays;
  bool periodic = true;
  NetworkSpec spec;
  Parameters weights;
};

std::vector<std::filesystem::path> dilated_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(test::golden_folder()))
    if (entry.path().filename().string().starts_with("dilated-")) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

// Single precision through at most seven convolutions of up to 90 terms: errors are some roundings.
constexpr double kTolerance = 3e-6;

TEST(DilatedGolden, ThereAreFiles) {
  EXPECT_FALSE(dilated_files().empty()) << "no dilated-* in " << test::golden_folder();
}

TEST(DilatedGolden, OutputsLossAndGradients) {
  if (test::testing_cuda() && !family_table().find("dilated")->cuda)
    GTEST_SKIP() << "the family dilated is for the CPU only";
  for (const auto& path : dilated_files()) {
    const DilatedFile file(path);
    if (test::testing_cuda() && !file.periodic) continue;  // no GPU kernels for walls
    const auto inputs = file.states("x"), targets = file.states("y");
    const auto engine = test::make_engine_under_test(file.spec, 1, 2);
    MemberState member;
    member.scaling = unit_scaling(file.spec.grid.channels);
    member.weights = file.weights;
    engine->load(0, member);
    const auto committee = engine->committee({0});
    const RowsId rows = committee->rows(inputs.count());
    std::vector<std::size_t> index(inputs.count());
    for (std::size_t r = 0; r < index.size(); ++r) index[r] = r;
    const std::vector<int> which(index.size(), 0);

    committee->put(rows, 0, inputs.view());
    committee->advance(rows, index, which, rows, index);
    States<float> out(file.spec.grid, inputs.count());
    committee->get(rows, 0, out.view());
    Parameters gradient;
    const double loss = batch_gradient(*engine, 0, {inputs.view(), targets.view(), {}}, gradient);

    EXPECT_LT(
        test::relative_l2({out.values().begin(), out.values().end()}, file.arrays.at("out").values),
        kTolerance)
        << path;
    const double expected = file.arrays.at("loss").values.at(0);
    EXPECT_NEAR(loss, expected, kTolerance * expected) << path;
    for (const Tensor& t : gradient)
      EXPECT_LT(test::relative_l2({t.values.begin(), t.values.end()},
                                  file.arrays.at("gradient/" + t.name).values),
                kTolerance)
          << path << " " << t.name;
  }
}

}  // namespace
}  // namespace stap
