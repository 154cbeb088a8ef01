#include "stap/study/generate.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/config/files.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/core/isa.h"
#include "stap/core/sha256.h"
#include "stap/core/version.h"
#include "stap/data/array_file.h"
#include "stap/data/store.h"
#include "stap/journal/answer_log.h"
#include "stap/study/study.h"
#include "study/make_rows.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr const char* kFolderFormat = "data/1";
// Goes up whenever a solver or sampler is changed so that its numbers change.
constexpr const char* kNumbers = "study/1";

constexpr const char* kConfig = "config.yaml";
constexpr const char* kJournal = "journal.jsonl";
constexpr const char* kAnswers = "answers.bin";

// One of the two files.
struct Product {
  const char* name;
  std::string dataset;
  Grid grid;  // of the file's states
  RowsWanted wanted;

  fs::path file(const fs::path& folder) const { return folder / fmt::format("{}.h5", name); }
  std::vector<std::size_t> shape() const {
    std::vector<std::size_t> sizes{wanted.rows};
    if (wanted.steps > 0) sizes.push_back(wanted.times());
    sizes.push_back(grid.channels);
    sizes.insert(sizes.end(), grid.points.begin(), grid.points.end());
    return sizes;
  }
};

std::vector<Product> products_of(const DataRequest& request, const Grid& grid) {
  std::vector<Product> products;
  const Rng stream(request.data_seed);
  if (request.pool > 0)
    products.push_back({"pool",
                        "states",
                        cluster_grid(grid, request.cluster),
                        {"pool", 0, stream.split("pool"), request.pool, request.cluster, 0}});
  if (request.test > 0)
    products.push_back(
        {"test",
         "trajectory",
         grid,
         {"test set", 1, stream.split("test"), request.test, request.cluster, request.steps}});
  return products;
}

Value folder_document(const DataRequest& request) {
  const Value about = data_document(request);
  Value document;
  document.set("format", kFolderFormat);
  document.set("numerics", *about.find("format"));
  for (const Value::Member& member : *about.map())
    if (member.key != "format") document.set(member.key, member.value);
  return document;
}

// A folder without a configuration may hold what a call that was killed early has left, and nothing
// else: we do not scatter files among a user's own.
void check_ours(const fs::path& folder) {
  if (!fs::exists(folder) || fs::exists(folder / kConfig)) return;
  if (!fs::is_directory(folder))
    throw Error(ErrorKind::config, fmt::format("{} is a file: give a folder", folder.string()));
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name != kJournal && name != kAnswers && !name.starts_with("config.yaml.tmp-") &&
        !name.starts_with("test.h5.tmp-") && !name.starts_with("pool.h5.tmp-"))
      throw Error(ErrorKind::config,
                  fmt::format("{} holds {} and no generated data: give a new or empty folder",
                              folder.string(), name));
  }
}

// Throws unless a configuration that is there is that of this request. False: there is none.
bool claimed(const fs::path& folder, const Value& document) {
  const fs::path path = folder / kConfig;
  if (!fs::exists(path)) return false;
  const Value there = read_document(path);
  const Value* format = there.find("format");
  if (format == nullptr || format->text() == nullptr || *format->text() != kFolderFormat)
    throw Error(ErrorKind::data,
                fmt::format("{} is not of format '{}': it was not made by 'stap generate'",
                            path.string(), kFolderFormat));
  const auto differing = differences(document, there);
  if (!differing.empty())
    throw Error(ErrorKind::config,
                fmt::format("{} holds data of another configuration; choose another folder or the "
                            "old configuration:\n  {}",
                            folder.string(), fmt::join(differing, "\n  ")));
  return true;
}

// Disk space for all of it, asked for before hours are spent: answers stay until files are whole.
void check_room(const std::vector<Product>& products, const fs::path& folder) {
  if (products.empty()) return;
  std::size_t values = 0;
  for (const Product& p : products)
    values += 2 * p.wanted.rows * p.wanted.times() * p.grid.values();
  ArrayWriter(products.back().file(folder)).check_room(values);
}

// Puts a file together from the answers, row by row.
void assemble(const Product& product, const RowMaker& maker, const AnswerLog& log,
              const Value& document, const fs::path& folder) {
  const LoggedAnswers answers = log.recorded(product.wanted.acquisition);
  Sha256 sha256;
  for (std::size_t r = 0; r < product.wanted.rows; ++r) {
    const std::vector<double> row = maker.row(product.wanted, answers, r);
    sha256.add(std::as_bytes(std::span<const double>(row)));
  }
  ArrayWriter writer(product.file(folder));
  for (const Value::Member& member : *document.map())
    writer.add_text_attribute(member.key, member.value.text() != nullptr
                                              ? *member.value.text()
                                              : config::json_text(member.value, 0));
  writer.add_text_attribute("sha256", sha256.hex());
  std::vector<double> row;
  writer.add_pieces(product.dataset, product.shape(),
                    [&, r = std::size_t{0}]() mutable -> std::span<const double> {
                      row = maker.row(product.wanted, answers, r++);
                      return row;
                    });
  writer.commit();
}

Value session(double seconds) {
  Value body;
  body.set("seconds", seconds);
  return body;
}

double seconds_of(const JournalLine& line) {
  const Value* spent = line.type == "session" ? line.body.find("seconds") : nullptr;
  return spent != nullptr ? spent->real().value_or(0.0) : 0.0;
}

// The files are whole: answers are not needed any more, and lines that name them must go first.
void close_journal(const fs::path& folder, double seconds) {
  std::error_code ignored;
  fs::remove(folder / kJournal, ignored);
  fs::remove(folder / kAnswers, ignored);
  Journal journal(folder / kJournal);
  journal.append("session", session(seconds));
  journal.commit();
}

}  // namespace

Value data_document(const DataRequest& request) {
  Value document;
  document.set("format", kNumbers);
  document.set("version", version());
  document.set("instruction_set", to_string(active_isa()));
  document.set("pool", request.pool);
  document.set("test", request.test);
  document.set("steps", request.steps);
  if (request.cluster > 1) document.set("cluster", request.cluster);
  document.set("data_seed", request.data_seed);
  document.set("pde", request.pde);
  document.set("initial", request.initial);
  return document;
}

std::string data_key(const DataRequest& request) {
  const std::string text = config::yaml_text(data_document(request));
  return sha256_hex(std::as_bytes(std::span(text)));
}

Generated generate(const DataRequest& request, const Sampler& sampler,
                   std::shared_ptr<const Solver> solver, const fs::path& folder, Observer& observer,
                   const StopAsked& stop) {
  const Value document = folder_document(request);
  const std::vector<Product> products = products_of(request, solver->grid());
  check_ours(folder);
  make_folder(folder);
  Generated result;
  double before = 0.0;
  const auto started = std::chrono::steady_clock::now();
  const auto unfinished = [&](const Product& p) { return !fs::exists(p.file(folder)); };
  const bool ours = claimed(folder, document);
  if (!ours || std::ranges::any_of(products, unfinished)) {
    AnswerLog log(folder / kJournal, folder / kAnswers,
                  [&](const JournalLine& line, const std::string&) { before += seconds_of(line); });
    remove_leftovers(folder, [](const fs::path& file) {
      return file == kConfig || file == "pool.h5" || file == "test.h5";
    });
    const RowMaker maker(sampler, solver, request.cluster, log);
    if (!ours) {
      check_room(products, folder);
      write_text(folder / kConfig, config::yaml_text(document));
    }
    bool stopped = false;
    try {
      for (const Product& product : products) {
        if (!unfinished(product)) continue;
        maker.make(product.wanted, observer, stop);
        assemble(product, maker, log, document, folder);
      }
    } catch (const Stopped&) {
      stopped = true;
    }
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - started;
    result.seconds = before + spent.count();
    log.note("session", session(spent.count()));
    if (stopped) return result;
    close_journal(folder, result.seconds);
  } else {
    read_journal(folder / kJournal,
                 [&](const JournalLine& line, const std::string&) { before += seconds_of(line); });
    result.seconds = before;
  }
  for (const Product& product : products)
    (product.wanted.steps == 0 ? result.pool_sha256 : result.test_sha256) =
        read_text_attribute(product.file(folder), "/", "sha256");
  result.finished = true;
  return result;
}

fs::path cache_folder() {
  if (const char* own = std::getenv("STAP_CACHE"))
    return std::string_view(own) == "off" ? fs::path() : fs::path(own);
  const auto below = [](const char* variable, const char* folder) {
    const char* root = std::getenv(variable);
    return root && *root ? fs::path(root) / folder : fs::path();
  };
  const fs::path shared = below("XDG_CACHE_HOME", "stap");
  return shared.empty() ? below("HOME", ".cache/stap") : shared;
}

}  // namespace stap
