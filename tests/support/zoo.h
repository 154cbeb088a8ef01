// Studies with the programs of tests/programs/zoo*.c, and what they leave.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "stap/core/hash64.h"
#include "support/process.h"
#include "support/processes.h"
#include "support/temporary_folder.h"

namespace stap::test {

/// `make test-zoo` asks for all; anything else for what takes seconds.
inline bool whole_zoo() {
  return std::getenv("STAP_TEST_ZOO") != nullptr;
}

/// One line of ZOO_LOG: a query that was begun.
struct Begun {
  bool bad = false;
  std::uint64_t hash = 0;  ///< as the journal has it
};

/// A folder with a study, its caches, scratch and runs.
class ZooFolder {
 public:
  ZooFolder() {
    std::filesystem::create_directories(path("notes"));
    std::filesystem::create_directories(path("scratch"));
  }

  std::string path(const std::string& name) const { return folder_.path(name); }

  /// Writes NAME.yaml: 8 points, networks of a few weights. `solver` is what stands in that section
  /// besides name, argv, env, scratch and grace; `study` in that one.
  std::string study(const std::string& name, const std::string& kind, const std::string& argv,
                    const std::string& solver = "", const std::string& more_env = "",
                    const std::string& numbers = "pool: 20, initial: 4, rounds: 1, budget: 6") {
    return folder_.file(name + ".yaml", R"(
pde: {name: external, label: zoo, channels: [u], points: [8], lengths: [1], dt: 0.1}
solver:
  name: )" + kind + R"(
  argv: [)" + argv + R"(]
  env: [)" + mark_ + ", ZOO_NOTES=" + path("notes") +
                                            ", ZOO_LOG=" + log() + more_env + R"(]
  scratch: )" + path("scratch") + R"(
  grace: 0.2
  )" + solver + R"(
initial: {name: sines}
network: {modes: [2], width: 4, lifting: 4, projection: 4, layers: 1}
train: {epochs: 2, batch: 4}
study: {steps: 3, test: 0, )" + numbers +
                                            R"(}
compute: {device: cpu}
method: random
)");
  }

  std::vector<std::string> command(const std::string& study_file, const std::string& run) const {
    return {"run", study_file, "--out", path(run), "--threads", "1", "--quiet"};
  }
  /// In an environment of its own; `prepare` is called in the new process.
  Finished run(const std::string& study_file, const std::string& run = "run",
               const std::function<void()>& prepare = {}) const {
    std::vector<std::string> words = command(study_file, run);
    words.insert(words.begin(), STAP_TEST_PROGRAM);
    return run_process(words, "", [&] {
      set_environment();
      if (prepare) prepare();
    });
  }
  /// For processes that are forked.
  void set_environment() const { setenv("STAP_CACHE", path("cache").c_str(), 1); }

  std::string log() const { return path("log"); }
  /// What the solvers wrote down.
  std::vector<Begun> begun() const {
    std::vector<Begun> list;
    std::istringstream lines(content(log()));
    for (std::string word, hex; lines >> word >> hex;) {
      std::vector<std::byte> bytes;
      for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
      list.push_back({word == "bad", hash64(bytes)});
    }
    return list;
  }

  const std::string& mark() const { return mark_; }
  std::size_t left_in_scratch() const {
    using Iterator = std::filesystem::directory_iterator;
    return static_cast<std::size_t>(std::distance(Iterator(path("scratch")), Iterator()));
  }
  std::size_t bundles(const std::string& run = "run") const {
    using Iterator = std::filesystem::directory_iterator;
    std::error_code none;
    std::size_t count = 0;
    for (Iterator at(path(run + "/failures"), none), end; !none && at != end; ++at) {
      EXPECT_TRUE(std::filesystem::exists(at->path() / "bundle.json")) << at->path();
      EXPECT_TRUE(std::filesystem::exists(at->path() / "input.npy")) << at->path();
      ++count;
    }
    return count;
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  std::string mark_ = unique_mark();
};

/// What a journal says of the answers and ledgers of a run.
struct Books {
  struct Entry {
    std::uint64_t hash = 0;
    std::string status, reason;
    int attempts = 0;
  };
  std::vector<Entry> answers;
  std::size_t budget = 0, bought = 0, failed = 0, charged = 0, refused = 0, unspent = 0;
  std::size_t ledgers = 0;

  std::size_t count(const std::string& status) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(answers, [&](const Entry& e) { return e.status == status; }));
  }
};

inline Books read_books(const std::string& journal) {
  Books books;
  std::istringstream lines(content(journal));
  for (std::string line; std::getline(lines, line);) {
    const auto parsed = nlohmann::json::parse(line, nullptr, false);
    if (parsed.is_discarded()) break;  // cut off by a kill
    const auto& body = parsed.at("body");
    if (parsed.at("type") == "answer") {
      books.answers.push_back({std::stoull(body.at("input_hash").get<std::string>(), nullptr, 16),
                               body.at("status"), body.at("reason"), body.at("attempts")});
    } else if (parsed.at("type") == "ledger") {
      ++books.ledgers;
      books.budget += body.at("budget").get<std::size_t>();
      books.bought += body.at("bought").get<std::size_t>();
      books.failed += body.at("failed").get<std::size_t>();
      books.charged += body.at("charged_failures").get<std::size_t>();
      books.refused += body.at("refused").get<std::size_t>();
      books.unspent += body.at("unspent").get<std::size_t>();
    }
  }
  return books;
}

}  // namespace stap::test
