#include "stap/market/generate.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "market/rows.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/lock_holder.h"
#include "stap/core/seal.h"
#include "stap/core/sha256.h"
#include "stap/data/array_file.h"
#include "stap/data/store.h"
#include "stap/journal/answer_log.h"
#include "stap/study/clusters.h"
#include "stap/study/study.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr std::string_view kFolderFormat = "data/2";

constexpr const char* kConfig = "config.yaml";
constexpr const char* kJournal = "journal.jsonl";
constexpr const char* kAnswers = "answers.bin";
constexpr const char* kFormerLock = "maker";  // of earlier versions, beside lock.json

// One of the two files.
struct Product {
  const char* name;
  std::string dataset;
  Grid single;  // of one state
  RowsWanted wanted;

  fs::path file(const fs::path& folder) const { return folder / fmt::format("{}.h5", name); }
  std::vector<std::size_t> shape() const {
    std::vector<std::size_t> sizes{wanted.rows, single.channels};
    if (wanted.steps > 0)
      sizes.insert(sizes.begin() + 1, wanted.times());
    else
      sizes.back() *= wanted.lead;
    sizes.insert(sizes.end(), single.points.begin(), single.points.end());
    return sizes;
  }
};

std::vector<Product> products_of(const DataRequest& request, const Grid& grid) {
  std::vector<Product> products;
  const Rng stream(request.data_seed);
  if (request.pool > 0)
    products.push_back({"pool",
                        "states",
                        grid,
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
    if (!is_lock_file(name) && !name.starts_with(kFormerLock) && name != kJournal &&
        name != kAnswers && name != AnswerLog::kReserve && !name.starts_with("config.yaml.tmp-") &&
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
  const Value there = read_yaml(path);
  const auto format = field<std::string>(there, "format", path);
  // Data of an earlier version are not damaged, which in the cache would mean: made anew.
  check_format(format, kFolderFormat, path,
               format.starts_with("data/") ? ErrorKind::unavailable : ErrorKind::data);
  check_seal(path, Sealed::always);
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
  constexpr double kLine = 48,
                   kMostValues = 1e18;  // a line of the journal, in values; a double counts
  double values = 0;
  for (const Product& p : products) {
    double states = 1;
    for (std::size_t size : {p.wanted.rows, p.wanted.times()}) states *= static_cast<double>(size);
    values += states * (kLine + 2.0 * static_cast<double>(p.single.values()));
  }
  if (products.empty()) return;
  ArrayWriter(products.back().file(folder))
      .check_room(values < kMostValues ? static_cast<std::size_t>(values)
                                       : std::numeric_limits<std::size_t>::max());
}

// Puts a file together from the answers, row by row.
void assemble(const Product& product, const RowMaker& maker, const LoggedAnswers& answers,
              const StateInfo& info, const Value& document, const std::string& key,
              const fs::path& folder, const StopAsked& stop) {
  const auto row_of = [&](std::size_t index) {
    if (stop && stop()) throw Stopped();
    return maker.row(product.wanted, answers, index);
  };
  Sha256 sha256;
  for (std::size_t r = 0; r < product.wanted.rows; ++r) {
    const std::vector<double> row = row_of(r);
    sha256.add(std::as_bytes(std::span<const double>(row)));
  }
  ArrayWriter writer(product.file(folder));
  writer.describe(info);
  for (const Value::Member& member : *document.map())
    writer.add_text_attribute(member.key, member.value.text() != nullptr
                                              ? *member.value.text()
                                              : config::json_text(member.value, 0));
  writer.add_text_attribute("data_key", key);
  writer.add_text_attribute("sha256", sha256.hex());
  std::vector<double> row;
  writer.add_pieces(product.dataset, product.shape(),
                    [&, r = std::size_t{0}]() mutable -> std::span<const double> {
                      row = row_of(r++);
                      return row;
                    });
  writer.commit();
}

// Pool and test set have the same key, so it takes more to tell one from the other.
void check_content(const Product& product, const fs::path& file) {
  const auto datasets = list_datasets(file);
  const bool there = std::ranges::find(datasets, product.dataset) != datasets.end();
  if (there && read_shape(file, product.dataset) == product.shape()) return;
  throw Error(
      ErrorKind::data,
      fmt::format("{} is not the {} of its folder, which has '{}' of {}: remove it, and the same "
                  "command makes it anew",
                  file.string(), product.wanted.phase, product.dataset,
                  shape_text(product.shape())));
}

// Every line but answers says whose journal it is; the first one is such a line.
Value session(double seconds, const std::string& key) {
  Value body;
  body.set("data_key", key);
  body.set("seconds", seconds);
  return body;
}

double seconds_of(const JournalLine& line) {
  const Value* spent = line.type == "session" ? line.body.find("seconds") : nullptr;
  return spent != nullptr ? spent->real().value_or(0.0) : 0.0;
}

// The folder of one request.
class DataFolder {
 public:
  DataFolder(const DataRequest& request, const Solver& solver, fs::path path)
      : path_(std::move(path)),
        document_(folder_document(request)),
        key_(data_key(request)),
        products_(products_of(request, solver.grid())),
        info_{solver.name(), solver.grid(), solver.dt()} {}

  Generated generate(const RowMaker& maker, Observer& observer, const StopAsked& stop) const {
    check_ours(path_);
    make_folder(path_);
    const auto started = std::chrono::steady_clock::now();
    Generated result;
    const auto add_seconds = [&](const JournalLine& line, const std::string& where) {
      const Value* key = line.body.find("data_key");
      if (key != nullptr && (key->text() == nullptr || *key->text() != key_))
        throw Error(ErrorKind::data, fmt::format("{} is of other data than its folder: it was put "
                                                 "in the place of another",
                                                 where));
      result.seconds += seconds_of(line);
    };
    if (claimed(path_, document_) && whole()) {
      if (fs::exists(path_ / kJournal)) read_journal(path_ / kJournal, add_seconds);
    } else {
      AnswerLog log(path_ / kJournal, path_ / kAnswers, add_seconds);
      if (const std::string before = log.left_by(); !before.empty())
        observer.note(
            fmt::format("{} was left by {}, which is gone: going on", path_.string(), before));
      log.hold_reserve(info_.grid.values());
      const bool finished = fill(maker, log, observer, stop);
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - started;
      result.seconds += spent.count();
      if (!finished) {
        log.note("session", session(spent.count(), key_));
        return result;
      }
      log.restart("session", session(result.seconds, key_));
      fs::remove(path_ / kAnswers);
    }
    for (const Product& product : products_) {
      const fs::path file = product.file(path_);
      check_seal(file, Sealed::always);
      if (read_text_attribute(file, "/", "data_key") != key_)
        throw Error(ErrorKind::data,
                    fmt::format("{} is of other data than its folder: remove it", file.string()));
      check_content(product, file);
      (product.wanted.steps == 0 ? result.pool_sha256 : result.test_sha256) =
          read_text_attribute(file, "/", "sha256");
    }
    result.finished = true;
    return result;
  }

 private:
  bool made(const Product& product) const { return fs::exists(product.file(path_)); }
  // With answers beside the files it was killed when all but tidying up was done.
  bool whole() const {
    return std::ranges::all_of(products_, [&](const Product& p) { return made(p); }) &&
           !fs::exists(path_ / kAnswers) && !fs::exists(path_ / AnswerLog::kReserve);
  }

  // Makes what is missing, the folder being locked. False: stopped.
  bool fill(const RowMaker& maker, AnswerLog& log, Observer& observer,
            const StopAsked& stop) const {
    remove_leftovers(path_, [](const fs::path& file) {
      return file == kConfig || file == "pool.h5" || file == "test.h5" || file == "lock.json";
    });
    if (!claimed(path_, document_)) claim(log);
    try {
      for (const Product& product : products_) {
        if (made(product)) continue;
        maker.make(product.wanted, log, observer, stop);
        assemble(product, maker, log.recorded(product.wanted.acquisition), info_, document_, key_,
                 path_, stop);
      }
    } catch (const Stopped&) {
      return false;
    }
    return true;
  }

  void claim(AnswerLog& log) const {
    for (const Product& product : products_)
      if (log.recorded(product.wanted.acquisition).count() > 0)
        throw Error(ErrorKind::data,
                    fmt::format("{} holds answers of a solver, but no {} that says to what: remove "
                                "the folder, or put the file back",
                                path_.string(), kConfig));
    check_room(products_, path_);
    log.restart("session", session(0, key_));
    write_sealed(path_ / kConfig, config::yaml_text(document_));
  }

  fs::path path_;
  Value document_;
  std::string key_;
  std::vector<Product> products_;
  StateInfo info_;
};

void check(const DataRequest& request) {
  config::Complaints complaints;
  if (request.cluster == 0) complaints.add("cluster", "is 0, expected at least 1");
  if (request.test > 0 && request.steps == 0)
    complaints.add("steps", "is 0, expected at least 1 for a test set");
  if (request.test > 0) check_steps_clusters("steps", request.steps, request.cluster, complaints);
  complaints.throw_if_any();
}

}  // namespace

Generated generate(const DataRequest& request, const Sampler& sampler,
                   std::shared_ptr<const Solver> solver, const fs::path& folder, Observer& observer,
                   const StopAsked& stop) {
  check(request);
  const RowMaker maker(sampler, solver, request.cluster);
  const DataFolder data(request, *solver, folder);
  try {
    return data.generate(maker, observer, stop);
  } catch (const fs::filesystem_error& problem) {  // a folder that cannot be looked into
    throw Error(ErrorKind::storage,
                fmt::format("{}: {}", problem.path1().string(), problem.code().message()));
  }
}

bool is_generated(const DataRequest& request, const fs::path& folder) {
  std::error_code error;
  const auto there = [&](const char* name) { return fs::exists(folder / name, error); };
  return there(kConfig) && !there(kAnswers) && !there(AnswerLog::kReserve) &&
         (request.pool == 0 || there("pool.h5")) && (request.test == 0 || there("test.h5"));
}

}  // namespace stap
