#include "stap/market/generate.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/pending_file.h"
#include "market/data_product.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/seal.h"
#include "stap/core/sha256.h"
#include "stap/data/array_file.h"
#include "stap/data/store.h"
#include "stap/folder/own_folder.h"
#include "stap/journal/answer_log.h"
#include "stap/study/clusters.h"
#include "stap/study/study.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr const char *kConfig = "config.yaml", *kJournal = "journal.jsonl",
                     *kAnswers = "answers.bin";
constexpr const char* kFormerLock = "maker";  // of earlier versions, beside lock.json
constexpr std::string_view kSession = "session";

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

// Every line but answers says whose journal it is; the first one is such a line.
Value session(double seconds, const std::string& key) {
  Value body;
  body.set("data_key", key);
  body.set("seconds", seconds);
  return body;
}

// The folder of one request.
class DataFolder final : public OwnFolder {
 public:
  DataFolder(const DataRequest& request, const Solver& solver, fs::path path)
      : OwnFolder(std::move(path),
                  {.holds = "generated data",
                   .without_config = "holds generated data, but no config.yaml that says which: "
                                     "remove the folder, or put the file back",
                   .line = kSession,
                   .key = "data_key",
                   .restarts = true}),
        document_(data_folder_document(request)),
        key_(data_key(request)),
        products_(products_of(request, solver.grid())),
        info_{solver.name(), solver.grid(), solver.dt()} {}

  Generated generate(const RowMaker& maker, Observer& observer, const StopAsked& stop,
                     const fs::path& have) const {
    const auto started = std::chrono::steady_clock::now();
    Generated result;
    const auto add_seconds = [&](JournalLine&& line, const std::string&) {
      const Value* spent = line.type == kSession ? line.body.find("seconds") : nullptr;
      if (spent != nullptr) result.seconds += spent->real().value_or(0.0);
    };
    if (look() && whole()) {
      for (const Product& product : products_) remove_leftovers_of(product.file(path()));
      if (fs::exists(path() / kJournal)) read(add_seconds);
    } else {
      auto [log, begun] = open(observer, add_seconds);
      if (!begun) begin(log);
      log.hold_reserve(info_.grid.values());
      const bool finished = fill(maker, log, observer, stop, have);
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - started;
      result.seconds += spent.count();
      if (!finished) {
        log.note(kSession, session(spent.count(), key_));
        return result;
      }
      log.restart(kSession, session(result.seconds, key_));
      fs::remove(path() / kAnswers);
    }
    for (const Product& product : products_)
      (product.wanted.steps == 0 ? result.pool_sha256 : result.test_sha256) =
          checked(product, product.file(path()));
    result.finished = true;
    return result;
  }

 private:
  bool made(const Product& product) const { return fs::exists(product.file(path())); }
  // With answers beside the files it was killed when all but tidying up was done.
  bool whole() const {
    return std::ranges::all_of(products_, [&](const Product& p) { return made(p); }) &&
           !fs::exists(path() / kAnswers) && !fs::exists(path() / AnswerLog::kReserve);
  }

  void check_begun() const override {
    const fs::path file = path() / kConfig;
    const Value there = read_yaml(file);
    const auto format = field<std::string>(there, "format", file);
    // Data of an earlier version are not damaged, which in the cache would mean: made anew.
    check_format(format, kDataFormat, file,
                 format.starts_with("data/") ? ErrorKind::unavailable : ErrorKind::data);
    check_seal(file, Sealed::always);
    const auto differing = differences(document_, there, path().string());
    if (!differing.empty())
      throw Error(ErrorKind::config,
                  fmt::format("{} holds data of another configuration; choose another folder or "
                              "the old configuration:\n  {}",
                              path().string(), fmt::join(differing, "\n  ")));
  }
  std::string id() const override { return key_; }
  bool is_written_aside(const fs::path& file) const override {
    return file == kConfig || file == "pool.h5" || file == "test.h5";
  }
  bool is_remnant(const fs::directory_entry& entry) const override {
    return entry.path().filename().string().starts_with(kFormerLock);
  }

  void begin(AnswerLog& log) const {
    check_room(products_, path());
    log.restart(kSession, session(0, key_));
    write_sealed(path() / kConfig, config::yaml_text(document_));
  }

  // Makes what is missing. False: stopped.
  bool fill(const RowMaker& maker, AnswerLog& log, Observer& observer, const StopAsked& stop,
            const fs::path& have) const {
    try {
      for (const Product& product : products_) {
        if (made(product) || taken(product, have, observer)) continue;
        maker.make(product.wanted, log, observer, stop);
        assemble(product, maker, log.recorded(product.wanted.acquisition), info_, document_, key_,
                 path(), stop);
      }
    } catch (const Stopped&) {
      return false;
    }
    return true;
  }

  // The same file from another folder of this request, if it is there and whole.
  bool taken(const Product& product, const fs::path& have, Observer& observer) const {
    const fs::path file = product.file(have);
    if (have.empty() || !fs::exists(file)) return false;
    try {
      checked(product, file);
    } catch (const Error& damage) {
      observer.warning(fmt::format("the {} is made anew: {}", product.wanted.phase, damage.what()));
      return false;
    }
    PendingFile copy(product.file(path()));
    fs::copy_file(file, copy.temporary(), fs::copy_options::overwrite_existing);
    copy.commit();
    observer.note(fmt::format("the {} is that of {}", product.wanted.phase, file.string()));
    return true;
  }

  // The hash that a file says its values have. Throws unless it is one of these data.
  std::string checked(const Product& product, const fs::path& file) const {
    check_seal(file, Sealed::always);
    if (read_text_attribute(file, "/", "data_key") != key_)
      throw Error(ErrorKind::data,
                  fmt::format("{} is of other data than its folder: remove it", file.string()));
    check_content(product, file);
    return read_text_attribute(file, "/", "sha256");
  }

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
                   const StopAsked& stop, const fs::path& have) {
  check(request);
  const RowMaker maker(sampler, solver, request.cluster);
  const DataFolder data(request, *solver, folder);
  return with_storage_errors([&] { return data.generate(maker, observer, stop, have); });
}

bool is_generated(const DataRequest& request, const fs::path& folder) {
  std::error_code error;
  const auto there = [&](const char* name) { return fs::exists(folder / name, error); };
  return there(kConfig) && !there(kAnswers) && !there(AnswerLog::kReserve) &&
         (request.pool == 0 || there("pool.h5")) && (request.test == 0 || there("test.h5"));
}

}  // namespace stap
