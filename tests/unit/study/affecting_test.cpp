// What the lists of keys decide about files: names as version 0.1.0 had them at commit 98ee7af,
// before the lists were projections of the field tables. Cached data and begun runs bear them.
#include "stap/study/affecting.h"

#include <gtest/gtest.h>

#include "stap/core/sha256.h"
#include "stap/folder/run_id.h"
#include "stap/study/data_request.h"
#include "stap/study/kept_of_solver.h"
#include "support/environment.h"
#include "support/temporary_folder.h"

namespace stap {
namespace {

using config::Affects;
using config::Value;

Study study_of(const char* text) {
  return make_study(config::parse_yaml(text, "the study of the test"), Purpose::generate);
}

// The key of data as they are on any machine, made by any version.
std::string lasting_key(const char* text) {
  Value document = data_document(data_request(study_of(text)));
  for (const char* key : {"version", "instruction_set"}) document.erase(key);
  const std::string all = config::yaml_text(document);
  return sha256_hex(std::as_bytes(std::span(all)));
}

constexpr const char* kOwn = R"(
pde: {name: external, label: mine, points: [8], dt: 0.25, parameters: ["nu=0.1"]}
solver: {name: command, argv: [/bin/cp, "{input}", "{output}"], slots: 2}
initial: {name: sines, warm_up: 0}
study: {steps: 2, pool: 3, test: 1}
)";

TEST(NamesInTheCache, OfDataStay) {
  EXPECT_EQ(lasting_key(R"(
pde: {name: burgers, points: 8, dt: 0.25}
initial: {name: sines}
study: {steps: 2, pool: 3, test: 2, data_seed: 5}
)"),
            "8e77b772f4e845fd4aa5d28b73b8e8af7b1d63720277a07941626bb8fc705782");
  EXPECT_EQ(lasting_key(R"(
pde: {name: kdv, points: 16, dt: 0.1, scheme: etdrk4, step: 0.05}
initial: {name: sines, warm_up: 0.2}
study: {steps: 4, cluster: 2, pool: 2, test: 1}
)"),
            "f6ba172cb616d42b5d91eb2912cc4bacb98122a6973e27dee2b013f9abf4749b");
  EXPECT_EQ(data_key(data_request(study_of(kOwn))),
            "8a36ac51d2bce705c76bbf39f5aad9f69e3d8f940541341e75b156d6d165314d");
  // The same program wherever it and its files lie, and however long it may take.
  EXPECT_EQ(data_key(data_request(study_of(R"(
pde: {name: external, label: mine, points: [8], dt: 0.25}
solver: {name: command, argv: [/bin/cp, "{input}", "{output}"]}
initial: {name: program, argv: [/usr/bin/env, "SEED={seed}", /bin/cp, "{here}/state.npy", "{output}"], seconds: 5, warm_up: 0.5}
study: {steps: 2, pool: 3, test: 1}
)"))),
            "e8bc476a62f4605a1a369f0e9414a079078a6e4bc231f16b92fdc6bbc9061c7f");
}

TEST(NamesInTheCache, OfWhatIsKnownOfASolverStay) {
  const test::ScopedVariable cache("STAP_CACHE", "/cache");

  EXPECT_EQ(kept_of_solver(study_of(kOwn), "step-seconds"),
            "/cache/step-seconds/a5c993cb1c3bbf5268a97f0092f8e7e91973a2e08242a80ad8eacb5cde1547f6"
            ".json");
}

// The whole document, since later versions know more keys. A section of a planner that no table
// knows any more stays.
TEST(RunIds, StayThoseOfEarlierVersions) {
  const Value document = config::parse_yaml(R"(
pde: {name: external, label: mine, channels: [u], points: [8], lengths: [], dt: 0.25,
      guard: {min: [], max: []}, parameters: []}
solver: {name: command, argv: [/bin/cp, "{input}", "{output}"], format: npy, slots: 2,
         retries: 3, limits: {seconds: 0.0}, unheard_of: 1}
initial: {name: program, argv: [/usr/bin/env, /state.npy], warm_up: 0.5, seconds: 5.0, scratch: ""}
network: {modes: [2], width: 4, lifting: 4, projection: 4, layers: 1, target: delta,
          time_input: false, position_input: false, conserve: []}
train: {epochs: 2, steps: 0, batch: 4, learning_rate: 0.001, schedule: cosine, beta1: 0.9,
        beta2: 0.999, epsilon: 1e-08, average: 0.0, noise: 0.0, symmetries: []}
study: {steps: 2, cluster: 1, pool: 3, test: 1, initial: 1, rounds: 1, budget: 2, members: 2,
        data_seed: 0, seed: 0, checkpoint_epochs: 10, keep_committees: last, warm_start: false,
        on_unstable: drop, charge_failed: true, charge_warm_up: false, trust_quantile: 0.0,
        validation: 0.0, stages: 1, images: false}
base: {name: sbal, exponent: 1.0}
steps: {name: stap, proposals: 6, epsilon: 0.1}
compute: {device: cpu, precision: tf32, unheard_of: 1}
)",
                                            "config.yaml");
  const Value identity = config::parse_yaml(R"(
name: mine
channels: [u]
points: [8]
lengths: [1.0]
dt: 0.25
steps: 2
cluster: 1
parameters: []
pool_sha256: cccbad33ffedfb1c0aa8b082c8ebb2f8f47db2d2dad1787dc76b4662d7fed650
test_sha256: cccbad33ffedfb1c0aa8b082c8ebb2f8f47db2d2dad1787dc76b4662d7fed650
test_trajectories: 1
data_key: e8bc476a62f4605a1a369f0e9414a079078a6e4bc231f16b92fdc6bbc9061c7f
)",
                                            "manifest.json");

  EXPECT_EQ(run_id(document, identity), "9c76dbd430fb4290");
}

TEST(Affecting, WhatNoTableKnowsCountsAsItsSectionDoes) {
  const Value document = config::parse_yaml(R"(
planner: {name: gone, width: 3}
train: {epochs: 2, unheard_of: 1}
compute: {device: cpu, unheard_of: 1}
elsewhere: {key: 1}
)",
                                            "a document");

  const Value training = affecting(document, {Affects::training});
  EXPECT_EQ(config::json_text(training, 0), R"({"train":{"epochs":2,"unheard_of":1}})");
  const Value rest = not_affecting(document, {Affects::training, Affects::method});
  EXPECT_EQ(config::json_text(rest, 0),
            R"({"compute":{"device":"cpu","unheard_of":1},"elsewhere":{"key":1}})");
}

}  // namespace
}  // namespace stap
