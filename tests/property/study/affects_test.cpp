// The law of the list: a key keeps what a run computes exactly where its row says that it does, and
// what tells keys apart agrees. Each key of each table is given another value in a tiny study.
//
// Breaks where a row is wrong, for example: train.epochs as `later` (its networks of round 0
// differ), study.images as `training` (they do not), solver.slots as `problem` (nothing differs,
// and the run is another one); and where a projection is, as when run_id() no longer leaves out
// `rounds`.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "stap/core/sha256.h"
#include "stap/folder/run_folder.h"
#include "stap/folder/run_id.h"
#include "stap/market/generate.h"
#include "stap/market/problem.h"
#include "stap/run/sweep.h"
#include "stap/study/affecting.h"
#include "stap/study/data_request.h"
#include "stap/study/presets.h"
#include "support/environment.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using config::Affects;
using config::Value;
using Texts = std::vector<std::string>;

constexpr const char* kTiny = R"(
pde: {name: burgers, points: 8, dt: 0.1}
initial: {name: sines, warm_up: 0.1}
network: {modes: [2], width: 4, lifting: 4, projection: 4, layers: 1}
train: {epochs: 3, batch: 3}
study: {steps: 4, pool: 8, test: 2, initial: 2, rounds: 1, budget: 7, keep_committees: all}
compute: {device: cpu}
base: {name: sbal}
steps: {name: stap, proposals: 6}
)";
constexpr const char* kIns = "pde={name: ins, points: [8, 8], dt: 0.1, step: 0.02}";
constexpr const char* kCns = "pde={name: cns, points: [4, 4], dt: 0.1}";
constexpr const char* kFhn = "pde={name: fhn, points: [4, 4], dt: 0.1}";
constexpr const char* kOwn =
    "pde={name: external, label: mine, points: [8], dt: 0.1, guard: {min: [-9], max: [9]}}";
constexpr const char* kCopies = "solver={name: command, argv: [/bin/cp, '{input}', '{output}']}";

// What is laid over that for a section, an entry and a key; {files}: the folder of SetUp().
const std::map<std::string, Texts> kBefore{
    {"pde.kdv", {"pde={name: kdv, points: 8, length: 8, dt: 1}", "initial.warm_up=1"}},
    {"pde.kdv.step", {"pde.scheme=etdrk4"}},
    {"pde.ks", {"pde={name: ks, points: 8, dt: 0.5, step: 0.25}", "initial.warm_up=0.5"}},
    {"pde.ins", {kIns, "initial={name: gaussian-field}", "network.modes=[2, 2]"}},
    {"pde.cns", {kCns, "initial={name: gas-waves}", "network.modes=[2, 2]"}},
    {"pde.fhn", {kFhn, "initial={name: white-noise}", "network.modes=[2, 2]"}},
    {"pde.external", {kOwn, kCopies, "initial.warm_up=0"}},
    {"solver",
     {kOwn, kCopies, "initial.warm_up=0", "study.steps=2", "study.test=1", "study.initial=1",
      "study.budget=2"}},
    {"solver.command.nodes", {"solver.ranks=2"}},
    {"initial.burgers-as-coded", {"initial={name: burgers-as-coded, warm_up: 0.1}"}},
    {"initial.burgers-as-coded.window_width", {"initial.window_probability=1"}},
    {"initial.gaussian-field", {kIns, "initial={name: gaussian-field}", "network.modes=[2, 2]"}},
    {"initial.gaussian-field.wave_vectors",
     {"pde={name: burgers, points: 8, dt: 0.1}", "network.modes=[2]"}},
    {"initial.gas-waves", {kCns, "initial={name: gas-waves}", "network.modes=[2, 2]"}},
    {"initial.gas-waves.window_width", {"initial.window_probability=1"}},
    {"initial.white-noise", {kFhn, "initial={name: white-noise}", "network.modes=[2, 2]"}},
    {"network.fno.padding.share", {kFhn, "initial={name: white-noise}", "network.modes=[2, 2]"}},
    {"network.fno.padding.kind", {kFhn, "initial={name: white-noise}", "network.modes=[2, 2]"}},
    {"network.dilated.padding.share",
     {kFhn, "initial={name: white-noise}",
      "network={name: dilated, width: 4, blocks: 1, dilations: [1]}"}},
    {"network.dilated.padding.kind",
     {kFhn, "initial={name: white-noise}",
      "network={name: dilated, width: 4, blocks: 1, dilations: [1]}"}},
    {"initial.file",
     {"initial={name: file, path: '{files}/here/pool.h5'}", "test.name=file",
      "test.path={files}/here/test.h5"}},
    {"initial.program",
     {"initial={name: program, argv: [/usr/bin/env, 'SEED={seed}', /bin/cp, "
      "'{files}/here/state.npy', '{output}']}"}},
    {"network.dilated", {"network={name: dilated, width: 4, blocks: 1, dilations: [1]}"}},
    {"test", {"test.name=file", "test.path={files}/here/test.h5"}},
    {"first", {"first={name: file, path: '{files}/here/transitions.h5'}"}},
    {"network.fno.parameter_input", {"pde.viscosity={between: [0.003, 0.03], draw: log}"}},
    {"study.cluster", {"initial.warm_up=0.4", "study.budget=8"}},
    {"study.stages", {"study.validation=0.3", "study.initial=6"}},
    {"study.validation", {"study.initial=6"}},
    {"study.images", {"train.symmetries=['x -> -x, u -> -u']"}},
    {"study.trust_quantile", {"steps={name: bernoulli, p: 0.5}"}},
};

// The other value, where it is not simply the next.
const std::map<std::string, std::string> kAfter{
    {"pde.kdv.atol", "1e-3"},
    {"pde.kdv.rtol", "1e-3"},
    {"pde.ks.dt", "1"},
    {"pde.ks.step", "0.125"},
    {"pde.fhn.walls", "[periodic, centres]"},
    {"pde.fhn.hole", "[1, 1, 0.6]"},
    {"pde.fhn.step", "0.01"},
    {"network.fno.padding.share", "[0.5]"},
    {"network.fno.padding.kind", "[odd]"},
    {"pde.external.walls", "[centres]"},
    {"pde.external.label", "another"},
    {"pde.external.channels", "[v]"},
    {"pde.external.lengths", "[2]"},
    {"pde.external.parameters", "[nu=1]"},
    {"pde.external.guard.min", "[-8]"},
    {"pde.external.guard.max", "[8]"},
    {"solver.command.argv", "[/usr/bin/env, cp, '{input}', '{output}']"},
    {"solver.command.template", "'{files}/empty'"},
    {"solver.command.launch", "[/usr/bin/env]"},
    {"solver.command.memory", "1G"},
    {"solver.command.env", "[A=b]"},
    {"solver.command.scratch", "'{files}/empty'"},
    {"initial.burgers-as-coded.absolute_probability", "1"},
    {"initial.burgers-as-coded.window_probability", "1"},
    {"initial.gas-waves.window_probability", "1"},
    {"initial.file.path", "'{files}/there/pool.h5'"},
    {"initial.program.argv",
     "[/usr/bin/env, 'SEED={seed}', /bin/cp, '{files}/there/state.npy', '{output}']"},
    {"initial.program.scratch", "'{files}/empty'"},
    {"test.file.path", "'{files}/there/test.h5'"},
    {"first.file.path", "'{files}/there/transitions.h5'"},
    {"network.fno.conserve", "[u]"},
    {"network.fno.parameter_input", "shifts"},
    {"network.dilated.padding.share", "[0.5]"},
    {"network.dilated.padding.kind", "[odd]"},
    {"network.dilated.dilations", "[2]"},
    {"network.dilated.taps", "5"},
    {"network.dilated.conserve", "[u]"},
    {"train.epsilon", "1e-3"},
    {"train.symmetries", "['x -> -x, u -> -u']"},
    {"train.channel_weights", "[2]"},
    {"study.validation", "0.3"},
    {"steps.stap.proposals", "0"},
    {"steps.stap-mf.proposals", "0"},
    {"steps.stap.epsilon", "1"},
    {"steps.stap-mf.epsilon", "1"},
};

// Keys without another value here, and why.
const std::map<std::string, std::string> kFixed{
    {"solver.worker", "the rows of command, and two ways to reach a worker, which this has not"},
    {"pde.external.mask", "what it holds counts: tests/unit/study/fixed_files_test.cpp"},
    {"pde.external.fixed", "likewise"},
    {"network.dilated.parameter_input", "this family takes channels only"},
    {"solver.by-hand", "somebody would have to answer"},
    {"solver.command.hosts", "it is a list of this job's hosts"},
    {"solver.command.steps_at_once", "the program here makes one step a call"},
    {"solver.command.spool", "a server would have to run"},
    {"base.lcmd.sketch", "one kind is left, and earlier runs name it"},
    {"base.core-set.sketch", "one kind is left, and earlier runs name it"},
    {"compute.device", "a GPU has other last bits, and may not be there"},
};

// Keys whose effect a tiny study does not show, and why.
constexpr const char* kFew = "with so few to choose from it chooses the same";
const std::map<std::string, std::string> kHidden{
    {"*.max_abs", "nothing fails here"},
    {"*.max_steps", "nothing fails here"},
    {"*.pressure_floor", "nothing fails here"},
    {"pde.external", "the program here copies its input, whatever it is told"},
    {"network.dilated.time_input",
     "of data only what is behind the last step in a file of first ones"},
    {"network.fno.time_input", "of data only what is behind the last step in a file of first ones"},
    {"steps.stap-one.search", kFew},
    {"study.distances", "in any unit the distances of one channel have the same order"},
    {"study.on_unstable", "nothing fails here"},
    {"study.charge_failed", "nothing fails here"},
};

std::string lookup(const std::map<std::string, std::string>& table, std::string path) {
  for (;;) {
    if (const auto found = table.find(path); found != table.end()) return found->second;
    const std::size_t dot = path.rfind('.');
    if (dot == std::string::npos) return "";
    path.resize(dot);
  }
}

struct Key {
  std::string section, entry, path;  // "pde", "burgers" (or ""), "guard.min"
  Affects affects, around;           // around: what the section does
  const config::FieldInfo* field;
  Value preset;

  // "pde.burgers.points", "train.epochs"
  std::string name() const {
    return fmt::format("{}.{}{}", section, entry.empty() ? "" : entry + ".", path);
  }
};

void add_keys(const Key& of, const config::Table& table, const Value& presets,
              std::vector<Key>& keys) {
  for (const config::FieldInfo& field : table.fields()) {
    Key key = of;
    key.path += field.name;
    key.affects = field.affects.value_or(of.affects);
    key.field = &field;
    const Value* preset = presets.find(field.name);  // none: one that is left out by default
    key.preset = preset != nullptr ? *preset : Value(Value::Map{});
    if (field.section == nullptr) {
      keys.push_back(std::move(key));
      continue;
    }
    key.path += ".";
    add_keys(key, *field.section, key.preset, keys);
  }
}

std::vector<Key> keys_of(const std::string& section) {
  std::vector<Key> keys;
  for (const config::Family& family : study_families())
    if (family.name == section)
      for (const config::Entry& entry : family.entries)
        if (entry.name != "toy")  // other tests of this program may have added it
          add_keys({section,
                    family.named ? entry.name : "",
                    "",
                    family.affects,
                    family.affects,
                    nullptr,
                    {}},
                   *entry.fields, config::to_value(*entry.fields, entry.fields->make().get()),
                   keys);
  return keys;
}

// Another value that is allowed.
std::string next_value(const config::FieldInfo& field, const Value& now) {
  const config::Constraint& allowed = field.allowed;
  const auto fits = [&](double x) {
    return (!allowed.low || (allowed.low_open ? x > *allowed.low : x >= *allowed.low)) &&
           (!allowed.high || (allowed.high_open ? x < *allowed.high : x <= *allowed.high));
  };
  const auto other = [&](const Value& value) {
    if (field.type == config::Type::integer || field.type == config::Type::integers) {
      const auto step = static_cast<std::int64_t>(allowed.multiple);
      const std::int64_t number = value.integer<std::int64_t>().value_or(0);
      return fmt::format("{}",
                         fits(static_cast<double>(number + step)) ? number + step : number - step);
    }
    const double number = value.real().value_or(0.0);
    for (const double next : {number * 1.25, number * 0.5, 0.25, 0.0, 1.0})
      if (next != number && fits(next)) return fmt::format("{}", next);
    return std::string();
  };
  switch (field.type) {
    case config::Type::boolean:
      return now.boolean().value_or(false) ? "false" : "true";
    case config::Type::choice:
    case config::Type::text:
      for (const auto& [word, code] : allowed.choices)
        if (now.text() != nullptr && word != *now.text()) return word;
      return "";
    case config::Type::integer:
    case config::Type::real:
    case config::Type::quantity:
      return other(now);
    case config::Type::integers:
    case config::Type::reals: {
      Texts all;
      if (now.is_list())
        for (const Value& one : *now.list()) all.push_back(other(one));
      return all.empty() ? "" : fmt::format("[{}]", fmt::join(all, ", "));
    }
    default:
      return "";
  }
}

// What a run computes, by what it is about.
enum Kind { kPool, kTestSet, kNetworks0, kErrors0, kNetworks, kErrors, kKinds };
using Observed = std::map<std::pair<Kind, std::size_t>, std::string>;  // of a round

// What may be others when a key of this class is; the first of them must.
std::vector<Kind> changed_by(Affects affects) {
  switch (affects) {
    case Affects::problem:
    case Affects::data:
      return {kTestSet, kPool, kNetworks0, kErrors0, kNetworks, kErrors};
    case Affects::test:
      return {kTestSet, kErrors0, kErrors};
    case Affects::training:
    case Affects::seed:
      return {kNetworks0, kErrors0, kNetworks, kErrors};
    case Affects::method:
    case Affects::later:
      return {kNetworks, kErrors};
    default:
      return {};
  }
}

template <class T>
std::string hash_of(std::span<const T> values) {
  return sha256_hex(std::as_bytes(values));
}

void add_round(const RunFolder& run, std::size_t round, const TransitionSet& set,
               Observed& observed) {
  const std::optional<Model> model = run.read_networks(round);
  if (!model) return;  // not kept
  std::string& text = observed[{round == 0 ? kNetworks0 : kNetworks, round}];
  const std::size_t values = set.grid.values();
  for (std::size_t i = 0; i < set.count(); ++i) {
    if (set.origins[i].acquisition != round) continue;
    text += fmt::format("{} {}", set.origins[i].candidate, set.origins[i].step);
    for (const std::vector<double>* all : {&set.inputs, &set.outputs})
      text += hash_of(std::span<const double>(*all).subspan(i * values, values));
  }
  for (const std::size_t channel : model->spec.conserved) text += fmt::format("{}", channel);
  for (const MemberState& member : model->members)
    for (const Parameters* all : {&member.weights, &member.average})
      for (const Tensor& tensor : *all) text += hash_of(std::span<const float>(tensor.values));
}

std::string npy_of_eight() {
  std::string head = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 8), }";
  head += std::string(117 - head.size(), ' ') + "\n";
  const double state[8] = {0, 1, 2, 3, 4, 3, 2, 1};
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + head +
         std::string(reinterpret_cast<const char*>(state), sizeof state);
}

class AffectsLaw : public testing::TestWithParam<std::string> {
 protected:
  AffectsLaw() : cache_("STAP_CACHE", folder_.path("cache")) {}

  // The same files of data in two folders.
  void SetUp() override {
    observe(document({}), false);
    const Study study = make_study(document({}));
    const std::filesystem::path here = folder_.path("files/here");
    Observer quiet;
    generate(data_request(study), *make_sampler(study, study.grid), make_solver(study, 1), here,
             quiet, {});
    std::filesystem::copy_file(folder_.path("0/transitions.h5"), here / "transitions.h5");
    std::ofstream(here / "state.npy", std::ios::binary) << npy_of_eight();
    std::filesystem::copy(here, folder_.path("files/there"));
    std::filesystem::create_directory(folder_.path("files/empty"));
  }

  Value document(const Texts& settings) const {
    Value all = config::parse_yaml(kTiny, "the study of the test");
    for (std::string setting : settings) {
      for (std::size_t at; (at = setting.find("{files}")) != std::string::npos;)
        setting.replace(at, 7, folder_.path("files"));
      apply_setting(all, setting);
    }
    return all;
  }
  Value before(const Key& key) const {
    Texts settings;
    if (key.section == "base" || key.section == "steps")
      settings.push_back(fmt::format("{}={{name: {}}}", key.section, key.entry));
    for (const std::string& path : {key.section, key.section + "." + key.entry, key.name()})
      if (const auto found = kBefore.find(path); found != kBefore.end())
        settings.insert(settings.end(), found->second.begin(), found->second.end());
    return document(settings);
  }

  // `data`: pool and test set alone.
  const Observed& observe(const Value& config, bool data) {
    const auto [at, fresh] = known_.try_emplace(config::yaml_text(config));
    Observed& observed = at->second;
    if (!fresh) return observed;
    Observer quiet;
    if (data) {
      const Problem problem = make_problem(make_study(config), 1, quiet);
      observed[{kPool, 0}] = problem.identity.pool_sha256;
      observed[{kTestSet, 0}] = problem.identity.test_sha256;
      return observed;
    }
    const RunFolder run(folder_.path(std::to_string(known_.size() - 1)));
    EXPECT_EQ(drive({{"", config}}, run.path(), 1, quiet, {}), LoopEnd::finished);
    const Value identity = run.read_manifest().identity;
    observed[{kPool, 0}] = *identity.find("pool_sha256")->text();
    observed[{kTestSet, 0}] = *identity.find("test_sha256")->text();
    const TransitionSet set = run.read_transitions();
    for (std::size_t round = 0; round < set.acquisitions; ++round)
      add_round(run, round, set, observed);
    for (JsonLine& line : run.read_metrics()) {
      const auto round = *line.value.find("round")->integer<std::uint64_t>();
      for (const char* others : {"run", "images"}) line.value.erase(others);
      observed[{round == 0 ? kErrors0 : kErrors, round}] = config::json_text(line.value, 0);
    }
    return observed;
  }

  // What tells configurations apart, and for which keys it does.
  static void check_projections(const Key& key, const Value& a, const Value& b) {
    const Study one = make_study(a), other = make_study(b);
    const auto in = [&](std::initializer_list<Affects> these) {
      return std::ranges::find(these, key.affects) != these.end();
    };
    using enum Affects;
    const DataRequest drawn = data_request(one);
    if (drawn.pool + drawn.test > 0) {
      EXPECT_EQ(data_key(drawn) != data_key(data_request(other)),
                in({problem, data, test}) && key.section != "network");
    }
    EXPECT_EQ(run_id(one.effective, {}) != run_id(other.effective, {}),
              !in({source, rounds, device, solver, machine}));
    EXPECT_EQ(problem_part(one.effective) != problem_part(other.effective),
              in({problem, data, test, source}));
  }

  test::TemporaryFolder folder_;
  test::ScopedVariable cache_;
  std::map<std::string, Observed> known_;
};

TEST_P(AffectsLaw, HoldsForEveryKey) {
  const std::string section = GetParam();
  const bool data = section == "pde" || section == "initial";
  for (const Key& key : keys_of(section)) {
    SCOPED_TRACE(key.name());
    if (!lookup(kFixed, key.name()).empty()) continue;
    const Value a = before(key);
    const std::string path = section + "." + key.path;
    const Value* given = config::find_path(a, path);
    std::string next = lookup(kAfter, key.name());
    if (next.empty()) next = next_value(*key.field, given != nullptr ? *given : key.preset);
    ASSERT_FALSE(next.empty()) << "give it another value in kAfter, or say in kFixed why not";
    Value b = a;
    for (std::size_t at; (at = next.find("{files}")) != std::string::npos;)
      next.replace(at, 7, folder_.path("files"));
    apply_setting(b, path + "=" + next);
    const Observed was = observe(a, data), is = observe(b, data);

    const std::vector<Kind> may = changed_by(key.affects);
    std::set<Kind> changed;
    for (const auto& [what, text] : was)
      if (const auto there = is.find(what); there != is.end() && there->second != text)
        changed.insert(what.first);
    for (const Kind kind : changed) EXPECT_NE(std::ranges::find(may, kind), may.end()) << kind;
    const bool seen = key.affects == Affects::rounds ? is.size() > was.size()
                      : may.empty()                  ? true
                      : may[0] == kTestSet && may.size() == kKinds
                          ? changed.contains(kTestSet) || changed.contains(kPool)
                          : changed.contains(may[0]);
    EXPECT_TRUE(seen || kHidden.contains("*." + key.path) || !lookup(kHidden, key.name()).empty())
        << next;
    check_projections(key, a, b);
  }
}

Texts sections() {
  Texts names;
  for (const config::Family& family : study_families()) names.push_back(family.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Sections, AffectsLaw, testing::ValuesIn(sections()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace stap
