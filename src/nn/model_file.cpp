#include "stap/nn/model_file.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "nn/model_tensors.h"
#include "nn/safetensors.h"
#include "stap/config/files.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/nn/family.h"

namespace stap {
namespace {

using nlohmann::json;

constexpr const char* kModelFormat = "model/4";
// Of earlier versions: networks of the family fno; those that conserve something have the second.
constexpr const char *kOlderFormat = "model/2", *kOlderConserving = "model/3";
constexpr const char* kSurroundings[] = {"channels", "points", "lengths", "conserved", "horizon"};

// Capabilities that a reader must have, by name: later ones add names, not formats.
std::vector<std::string> required(const Model& model) {
  std::vector<std::string> names{model.spec.family.row->name};
  const auto add = [&](const char* name, bool needed) {
    if (needed) names.emplace_back(name);
  };
  add("time_input", model.spec.inputs.time);
  add("position_input", model.spec.inputs.position);
  add("conserved", !model.spec.conserved.empty());
  add("parameters", !model.spec.parameters.empty());
  add("shifts", model.spec.shifts() > 0);
  add("walls", model.spec.grid.walled());
  add("fixed_fields", model.spec.fixed != nullptr);
  add("padding", model.spec.grid.points != model.spec.body_grid().points);
  add("cluster", model.cluster > 1);
  // Readers of before knew `walls` and `shifts`, but not these.
  add("convolved_padding", std::ranges::any_of(model.spec.padding, &Padding::convolved));
  add("dilated_shifts", model.spec.shifts() > 0 && names.front() == "dilated");
  return names;
}

void check_known(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (family_table().find(name) == nullptr && name != "time_input" && name != "position_input" &&
        name != "conserved" && name != "parameters" && name != "shifts" && name != "walls" &&
        name != "padding" && name != "fixed_fields" && name != "cluster" &&
        name != "convolved_padding" && name != "dilated_shifts")
      throw Error(ErrorKind::data,
                  fmt::format("it requires '{}', which this program does not know: use the version "
                              "of stap or the program that wrote it",
                              name));
}

constexpr const char* kDraws[] = {"uniform", "log", "list"};  // ParameterDraw::Kind

json parameters_to_json(const std::vector<ParameterDraw>& parameters) {
  json list = json::array();
  for (const ParameterDraw& p : parameters)
    list.push_back({{"name", p.name},
                    {"draw", kDraws[static_cast<std::size_t>(p.kind)]},
                    {"values", p.values}});
  return list;
}

std::vector<ParameterDraw> parameters_from_json(const json& list) {
  const auto wrong = [](const std::string& name) {
    throw Error(ErrorKind::data, fmt::format("its parameter '{}' has no range", name));
  };
  std::vector<ParameterDraw> parameters;
  for (const json& one : list) {
    ParameterDraw p{one.at("name"), {}, one.at("values").get<std::vector<double>>()};
    const auto* draw = std::ranges::find(kDraws, one.at("draw").get<std::string>());
    if (draw == std::end(kDraws)) wrong(p.name);
    p.kind = static_cast<ParameterDraw::Kind>(draw - kDraws);
    const bool list_of = p.kind == ParameterDraw::Kind::list;
    const double lowest = p.kind == ParameterDraw::Kind::log ? 0.0 : -HUGE_VAL;
    if (list_of ? p.values.empty() : p.values.size() != 2) wrong(p.name);
    for (const double value : p.values)
      if (!std::isfinite(value) || !(value > lowest)) wrong(p.name);
    parameters.push_back(std::move(p));
  }
  if (parameters.size() > kVariedMost)
    throw Error(ErrorKind::data, fmt::format("it has {} parameters, expected at most {}",
                                             parameters.size(), kVariedMost));
  return parameters;
}

json spec_to_json(const NetworkSpec& spec) {
  config::Value network = spec.family.value();
  config::Value common =
      to_value(network_fields(), NetworkOptions{.target = spec.target,
                                                .time_input = spec.inputs.time,
                                                .position_input = spec.inputs.position,
                                                .padding = spec.padding_options()});
  common.erase("conserve");  // said by channel, not by name
  common.erase("parameter_input");
  if (spec.shifts() > 0) common.set("parameter_input", "shifts");
  for (const config::Value::Member& member : *common.map()) network.set(member.key, member.value);
  json j{{"channels", spec.grid.channels},
         {"points", spec.grid.points},
         {"lengths", spec.grid.lengths},
         {"conserved", spec.conserved},
         {"network", json::parse(config::json_text(network, 0))}};
  if (spec.horizon > 0) j["horizon"] = spec.horizon;
  if (!spec.parameters.empty()) j["parameters"] = parameters_to_json(spec.parameters);
  if (spec.grid.walled()) j["walls"] = wall_names(spec.grid);
  return j;
}

NetworkSpec spec_from_json(const json& j) {
  const config::Value section = config::parse_json(j.at("network").dump(), "network");
  config::Complaints complaints;
  const auto read = read_section(network_family(), section, complaints);
  complaints.throw_if_any();
  NetworkSpec spec =
      make_network(with_walls(make_grid(j.at("channels").get<std::size_t>(),
                                        j.at("points").get<std::vector<std::size_t>>(),
                                        j.at("lengths").get<std::vector<double>>()),
                              j.value("walls", std::vector<std::string>{})),
                   network_options(*read), {}, j.value("horizon", std::size_t{0}),
                   parameters_from_json(j.value("parameters", json::array())));
  spec.conserved = j.value("conserved", std::vector<std::size_t>{});
  for (std::size_t i = 0; i < spec.conserved.size(); ++i)
    if (spec.conserved[i] >= spec.grid.channels ||
        (i > 0 && spec.conserved[i] <= spec.conserved[i - 1]))
      throw Error(ErrorKind::data, "its conserved channels are not some of its channels, rising");
  return spec;
}

// What earlier versions called shape: the same in one map, without the family's name.
json older_spec(json shape) {
  json spec = json::object();
  for (const char* key : kSurroundings)
    if (const auto found = shape.find(key); found != shape.end()) {
      spec[key] = *found;
      shape.erase(found);
    }
  spec["network"] = std::move(shape);
  return spec;
}

// Adds parameters under a prefix; takes them out again in the order of the network's tensors.
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

Parameters take(const std::string& prefix, const NetworkSpec& spec,
                std::map<std::string, Tensor>& tensors) {
  // Names and shapes first, without values: a wrong shape must not make us allocate.
  Parameters parameters = parameter_shapes(spec);
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

// Tensors of all members: the mask [X...] of ones and zeros, static channels [C, X...].
void add_fixed(const NetworkSpec& spec, TensorFile& file) {
  if (!spec.fixed) return;
  const auto& [mask, channels] = *spec.fixed;
  if (!mask.empty()) file.tensors.push_back({"mask", spec.grid.points, {mask.begin(), mask.end()}});
  std::vector<std::size_t> shape{spec.fixed->count(spec.grid)};
  shape.insert(shape.end(), spec.grid.points.begin(), spec.grid.points.end());
  if (!channels.empty()) file.tensors.push_back({"fixed", shape, channels});
}

SharedFixedFields take_fixed(const Grid& grid, std::map<std::string, Tensor>& tensors) {
  FixedFields fields;
  if (tensors.contains("mask"))
    for (const float value : take_values("mask", grid.points, tensors))
      fields.mask.push_back(value != 0.0f);
  if (const auto found = tensors.find("fixed"); found != tensors.end()) {
    std::vector<std::size_t> shape{found->second.shape.empty() ? 0 : found->second.shape[0]};
    shape.insert(shape.end(), grid.points.begin(), grid.points.end());
    fields.channels = take_values("fixed", shape, tensors);
  }
  return make_fixed_fields(grid, std::move(fields));
}

Model model_from_tensors(TensorFile file) {
  if (!file.sealed)
    throw Error(ErrorKind::data,
                "it is damaged: it has no checksum, though it was written with one");
  Model model;
  if (!file.metadata["run"].empty()) model.origin = origin_from(file.metadata);
  model.bars = file.metadata["bars"];  // nobody must know it to use the networks
  const std::string format = file.metadata["format"];
  const auto parsed = [&](const char* key) { return json::parse(file.metadata.at(key)); };
  std::vector<std::string> needed;
  if (format == kModelFormat) check_known(needed = parsed("requires"));
  model.spec =
      spec_from_json(format == kModelFormat ? parsed("spec") : older_spec(parsed("shape")));
  if (file.metadata.contains("cluster")) model.cluster = parsed("cluster").get<std::size_t>();
  frame_grid(model.spec.grid, model.cluster);  // complains if it does not fit
  if (file.metadata.contains("problem")) {
    const json problem = parsed("problem");
    model.problem = {problem.at("name").get<std::string>(),
                     problem.at("channels").get<std::vector<std::string>>(),
                     problem.at("dt").get<double>()};
  }
  std::map<std::string, Tensor> tensors;
  for (Tensor& t : file.tensors) {
    std::string name = t.name;
    tensors.emplace(std::move(name), std::move(t));
  }
  model.spec.fixed = take_fixed(model.spec.grid, tensors);
  if (format == kModelFormat ? needed != required(model)
                             : (format == kOlderConserving) == model.spec.conserved.empty())
    throw Error(ErrorKind::data, "what it needs of a reader is not what it says");
  const auto steps = parsed("steps").get<std::vector<std::int64_t>>();
  const std::size_t channels = model.spec.grid.channels;
  for (std::size_t m = 0; m < steps.size(); ++m) {
    const std::string prefix = fmt::format("{}/", m);
    MemberState member;
    member.steps = steps[m];
    member.scaling.mean = take_values(prefix + "mean", {channels}, tensors);
    member.scaling.deviation = take_values(prefix + "deviation", {channels}, tensors);
    member.weights = take(prefix, model.spec, tensors);
    if (tensors.contains(prefix + "adam1/" + member.weights[0].name)) {
      member.moment1 = take(prefix + "adam1/", model.spec, tensors);
      member.moment2 = take(prefix + "adam2/", model.spec, tensors);
    }
    if (tensors.contains(prefix + "average/" + member.weights[0].name))
      member.average = take(prefix + "average/", model.spec, tensors);
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
  add_fixed(model.spec, file);
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
  file.metadata = {{"format", kModelFormat},
                   {"requires", json(required(model)).dump()},
                   {"spec", spec_to_json(model.spec).dump()},
                   {"steps", steps.dump()}};
  if (model.cluster > 1) file.metadata["cluster"] = json(model.cluster).dump();
  if (!model.bars.empty()) file.metadata["bars"] = model.bars;
  if (!model.origin.run.empty()) {
    file.metadata["run"] = model.origin.run;
    file.metadata["round"] = json(model.origin.round).dump();
    file.metadata["data"] = model.origin.data;
    if (model.origin.stage > 0 || !model.origin.held_back.empty()) {
      file.metadata["stage"] = json(model.origin.stage).dump();
      file.metadata["held_back"] = json(model.origin.held_back).dump();
    }
  }
  if (!model.problem.name.empty())
    file.metadata["problem"] = json{
        {"name", model.problem.name},
        {"channels", model.problem.channels},
        {"dt", model.problem.dt}}.dump();
  write_tensors(path, file);
}

Model model_in(TensorFile file, const std::filesystem::path& path) {
  if (const std::string& format = file.metadata["format"];
      format != kOlderFormat && format != kOlderConserving)
    check_format(format, kModelFormat, path);
  try {
    return model_from_tensors(std::move(file));
  } catch (const std::exception& e) {
    throw Error(ErrorKind::data,
                fmt::format("{} is not a usable model file: {}", path.string(), e.what()));
  }
}

Model read_model(const std::filesystem::path& path) {
  return model_in(read_tensors(path), path);
}

}  // namespace stap
