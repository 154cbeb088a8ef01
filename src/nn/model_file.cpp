#include "stap/nn/model_file.h"

#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "nn/safetensors.h"
#include "stap/config/files.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"

namespace stap {
namespace {

using nlohmann::json;

// A model that conserves something is of a format of its own: older readers would not do so.
constexpr const char *kModelFormat = "model/2", *kConservingFormat = "model/3";
constexpr std::size_t kMaxLayers = 1000;  // a file must not make us list tensors without end

const char* format_of(const FnoShape& shape) {
  return shape.conserved.empty() ? kModelFormat : kConservingFormat;
}

json shape_to_json(const FnoShape& s) {
  json j{{"channels", s.grid.channels},
         {"points", s.grid.points},
         {"lengths", s.grid.lengths},
         {"modes", s.options.modes},
         {"width", s.options.width},
         {"lifting", s.options.lifting},
         {"projection", s.options.projection},
         {"layers", s.options.layers},
         {"target", s.options.target == FnoOptions::Target::delta ? "delta" : "state"},
         {"time_input", s.options.time_input}};
  // Else bytes are those of older files.
  if (s.options.position_input) j["position_input"] = true;
  if (!s.conserved.empty()) j["conserved"] = s.conserved;
  return j;
}

FnoShape shape_from_json(const json& j) {
  FnoOptions options;
  options.modes = j.at("modes").get<std::vector<std::size_t>>();
  options.width = j.at("width").get<std::size_t>();
  options.lifting = j.at("lifting").get<std::size_t>();
  options.projection = j.at("projection").get<std::size_t>();
  options.layers = j.at("layers").get<std::size_t>();
  if (options.layers > kMaxLayers)
    throw Error(ErrorKind::data,
                fmt::format("{} layers, expected at most {}", options.layers, kMaxLayers));
  const auto target = j.at("target").get<std::string>();
  if (target != "delta" && target != "state")
    throw Error(ErrorKind::data, fmt::format("target is '{}', expected delta or state", target));
  options.target = target == "delta" ? FnoOptions::Target::delta : FnoOptions::Target::state;
  options.time_input = j.at("time_input").get<bool>();
  options.position_input = j.value("position_input", false);
  FnoShape shape = make_shape(
      make_grid(j.at("channels").get<std::size_t>(), j.at("points").get<std::vector<std::size_t>>(),
                j.at("lengths").get<std::vector<double>>()),
      options);
  shape.conserved = j.value("conserved", std::vector<std::size_t>{});
  for (std::size_t i = 0; i < shape.conserved.size(); ++i)
    if (shape.conserved[i] >= shape.grid.channels ||
        (i > 0 && shape.conserved[i] <= shape.conserved[i - 1]))
      throw Error(ErrorKind::data, "its conserved channels are not some of its channels, rising");
  return shape;
}

// Adds parameters under a prefix; takes them out again in the order of the shape's tensors.
void add(const std::string& prefix, const Parameters& parameters, TensorFile& file) {
  for (const Tensor& t : parameters) file.tensors.push_back({prefix + t.name, t.shape, t.values});
}

std::vector<float> take_values(const std::string& name, const std::vector<std::size_t>& shape,
                               std::map<std::string, Tensor>& tensors) {
  const auto found = tensors.find(name);
  if (found == tensors.end())
    throw Error(ErrorKind::data, fmt::format("tensor {} is missing", name));
  if (found->second.shape != shape)
    throw Error(ErrorKind::data, fmt::format("tensor {} has a shape that does not fit", name));
  std::vector<float> values = std::move(found->second.values);
  tensors.erase(found);
  return values;
}

Parameters take(const std::string& prefix, const FnoShape& shape,
                std::map<std::string, Tensor>& tensors) {
  // Names and shapes first, without values: a wrong shape must not make us allocate.
  Parameters parameters = parameter_shapes(shape);
  for (Tensor& t : parameters) t.values = take_values(prefix + t.name, t.shape, tensors);
  return parameters;
}

ModelOrigin origin_from(std::map<std::string, std::string>& metadata) {
  ModelOrigin origin{metadata.at("run"), json::parse(metadata.at("round")).get<std::size_t>(),
                     metadata.at("data")};
  if (!metadata.contains("stage")) return origin;
  origin.stage = json::parse(metadata.at("stage")).get<std::size_t>();
  for (const json& error : json::parse(metadata.at("held_back")))
    origin.held_back.push_back(error.is_null() ? std::numeric_limits<double>::infinity()
                                               : error.get<double>());
  return origin;
}

Model model_from_tensors(TensorFile file) {
  if (!file.sealed)
    throw Error(ErrorKind::data,
                "it is damaged: it has no checksum, though it was written with one");
  Model model;
  if (!file.metadata["run"].empty()) model.origin = origin_from(file.metadata);
  model.shape = shape_from_json(json::parse(file.metadata.at("shape")));
  if (file.metadata["format"] != format_of(model.shape))
    throw Error(ErrorKind::data, "what it conserves is not what its format says");
  if (file.metadata.contains("cluster"))
    model.cluster = json::parse(file.metadata.at("cluster")).get<std::size_t>();
  frame_grid(model.shape.grid, model.cluster);  // complains if it does not fit
  const auto steps = json::parse(file.metadata.at("steps")).get<std::vector<std::int64_t>>();
  std::map<std::string, Tensor> tensors;
  for (Tensor& t : file.tensors) {
    std::string name = t.name;
    tensors.emplace(std::move(name), std::move(t));
  }
  const std::size_t channels = model.shape.grid.channels;
  for (std::size_t m = 0; m < steps.size(); ++m) {
    const std::string prefix = fmt::format("{}/", m);
    MemberState member;
    member.steps = steps[m];
    member.scaling.mean = take_values(prefix + "mean", {channels}, tensors);
    member.scaling.deviation = take_values(prefix + "deviation", {channels}, tensors);
    member.weights = take(prefix, model.shape, tensors);
    if (tensors.contains(prefix + "adam1/" + member.weights[0].name)) {
      member.moment1 = take(prefix + "adam1/", model.shape, tensors);
      member.moment2 = take(prefix + "adam2/", model.shape, tensors);
    }
    if (tensors.contains(prefix + "average/" + member.weights[0].name))
      member.average = take(prefix + "average/", model.shape, tensors);
    model.members.push_back(std::move(member));
  }
  if (!tensors.empty())
    throw Error(ErrorKind::data,
                fmt::format("tensor {} belongs to no member", tensors.begin()->first));
  return model;
}

}  // namespace

void write_model(const std::filesystem::path& path, const Model& model) {
  TensorFile file;
  json steps = json::array();
  for (std::size_t m = 0; m < model.members.size(); ++m) {
    const MemberState& member = model.members[m];
    const std::string prefix = fmt::format("{}/", m);
    const std::size_t channels = member.scaling.mean.size();
    file.tensors.push_back({prefix + "mean", {channels}, member.scaling.mean});
    file.tensors.push_back({prefix + "deviation", {channels}, member.scaling.deviation});
    add(prefix, member.weights, file);
    add(prefix + "adam1/", member.moment1, file);
    add(prefix + "adam2/", member.moment2, file);
    add(prefix + "average/", member.average, file);
    steps.push_back(member.steps);
  }
  file.metadata = {{"format", format_of(model.shape)},
                   {"shape", shape_to_json(model.shape).dump()},
                   {"steps", steps.dump()}};
  if (model.cluster > 1) file.metadata["cluster"] = json(model.cluster).dump();
  if (!model.origin.run.empty()) {
    file.metadata["run"] = model.origin.run;
    file.metadata["round"] = json(model.origin.round).dump();
    file.metadata["data"] = model.origin.data;
    if (model.origin.stage > 0 || !model.origin.held_back.empty()) {
      file.metadata["stage"] = json(model.origin.stage).dump();
      file.metadata["held_back"] = json(model.origin.held_back).dump();
    }
  }
  write_tensors(path, file);
}

Model read_model(const std::filesystem::path& path) {
  TensorFile file = read_tensors(path);
  if (const std::string& format = file.metadata["format"]; format != kConservingFormat)
    check_format(format, kModelFormat, path);
  try {
    return model_from_tensors(std::move(file));
  } catch (const std::exception& e) {
    throw Error(ErrorKind::data,
                fmt::format("{} is not a usable model file: {}", path.string(), e.what()));
  }
}

}  // namespace stap
