#include "stap/run/generate.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "run/files.h"
#include "run/make_data.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/core/sha256.h"
#include "stap/data/array_file.h"
#include "stap/data/store.h"
#include "stap/journal/journal.h"
#include "stap/run/study.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr const char* kFormat = "data/1";

// One of the two files.
struct Product {
  std::string name, phase, unit, dataset;
  std::size_t rows = 0;            // in all
  std::vector<std::size_t> shape;  // of the whole dataset; its first size is `rows`
  std::function<States<double>(std::size_t first, std::size_t n)> make;

  std::size_t row_values() const {
    std::size_t values = 1;
    for (std::size_t i = 1; i < shape.size(); ++i) values *= shape[i];
    return values;
  }
};

// A finished block on disk.
struct Part {
  std::size_t rows = 0;
  fs::path path;
};
using Parts = std::map<std::size_t, Part>;  // by first row

Value folder_document(const DataRequest& request) {
  const Value about = request_document(request, check_sections(request));
  Value document;
  document.set("format", kFormat);
  document.set("numerics", *about.find("format"));
  for (const Value::Member& member : *about.map())
    if (member.key != "format") document.set(member.key, member.value);
  return document;
}

// A folder without a configuration may hold what a call that was killed early has left, and nothing
// else: we do not scatter files among a user's own.
void check_ours(const fs::path& folder) {
  if (!fs::exists(folder) || fs::exists(folder / "config.yaml")) return;
  if (!fs::is_directory(folder))
    throw Error(ErrorKind::config, fmt::format("{} is a file: give a folder", folder.string()));
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name != "journal.jsonl" && !name.starts_with("config.yaml.tmp-") &&
        !name.starts_with("test.h5.tmp-"))
      throw Error(ErrorKind::config,
                  fmt::format("{} holds {} and no generated data: give a new or empty folder",
                              folder.string(), name));
  }
}

// True if the folder is new.
bool claim_folder(const fs::path& folder, const Value& document) {
  const fs::path path = folder / "config.yaml";
  if (!fs::exists(path)) return true;
  const Value there = read_document(path);
  const Value* format = there.find("format");
  if (format == nullptr || format->text() == nullptr || *format->text() != kFormat)
    throw Error(ErrorKind::data,
                fmt::format("{} is not of format '{}': it was not made by 'stap generate'",
                            path.string(), kFormat));
  const auto differing = differences(document, there);
  if (!differing.empty())
    throw Error(ErrorKind::config,
                fmt::format("{} holds data of another configuration; choose another folder or the "
                            "old configuration:\n  {}",
                            folder.string(), fmt::join(differing, "\n  ")));
  return false;
}

class Workshop {
 public:
  Workshop(const fs::path& folder, const Value& document, int threads, Observer& observer,
           const std::function<bool()>& stop)
      : folder_(folder),
        document_(document),
        threads_(threads),
        observer_(observer),
        stop_(stop),
        journal_(folder / "journal.jsonl") {
    remove_leftovers(folder_);
  }

  // The SHA-256 of the product's values once its file is there; empty if it was stopped before.
  std::optional<std::string> finish(const Product& product) {
    const fs::path file = file_of(product);
    if (!fs::exists(file)) {
      make_folder(parts_folder());
      for (bool whole = false; !whole;) {
        Parts parts = find_parts(product);
        if (!fill_gaps(product, parts)) return std::nullopt;
        whole = assemble(product, parts);
      }
    }
    std::string sha256 = read_text_attribute(file, "/", "sha256");
    clear_parts(product);
    return sha256;
  }

  // Disk space for all of it, asked for before hours are spent.
  void check_room(const Product& pool, const Product& test) const {
    const std::size_t pool_values = pool.rows * pool.row_values();
    const std::size_t test_values = test.rows * test.row_values();
    // Blocks stay until their file is whole.
    ArrayWriter(file_of(test)).check_room(std::max(2 * pool_values, pool_values + 2 * test_values));
  }

  double seconds() const {
    double sum = 0;
    for (const JournalLine& line : journal_.lines())
      if (const Value* seconds = line.body.find("seconds")) sum += seconds->real().value_or(0.0);
    return sum;
  }

 private:
  fs::path file_of(const Product& product) const { return folder_ / (product.name + ".h5"); }
  fs::path parts_folder() const { return folder_ / "parts"; }
  fs::path part_path(const Product& product, std::size_t first, std::size_t rows) const {
    return parts_folder() / fmt::format("{}-{:09}-{}.h5", product.name, first, rows);
  }

  // What is there, by name; whether its values are right is looked at when they are used.
  Parts find_parts(const Product& product) const {
    Parts parts;
    for (const auto& entry : fs::directory_iterator(parts_folder())) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(product.name + "-")) continue;
      std::size_t first = 0, rows = 0;
      const char* const end = name.data() + name.size();
      const auto head = std::from_chars(name.data() + product.name.size() + 1, end, first);
      if (head.ec == std::errc() && head.ptr != end) std::from_chars(head.ptr + 1, end, rows);
      if (rows > 0 && entry.path() == part_path(product, first, rows))
        parts[first] = {rows, entry.path()};
    }
    return parts;
  }

  // Makes the blocks that are missing. False if stopped.
  bool fill_gaps(const Product& product, Parts& parts) {
    BlockSize size(product.row_values() * sizeof(double), threads_);
    std::size_t done = 0;
    for (const auto& [first, part] : parts) done += part.rows;
    const auto say = [&] {
      observer_.progress(
          {.phase = product.phase, .done = done, .total = product.rows, .unit = product.unit});
    };
    say();
    for (std::size_t first = 0; first < product.rows;) {
      const auto next = parts.lower_bound(first);
      if (next != parts.end() && next->first == first) {
        first += next->second.rows;
        continue;
      }
      const std::size_t end = next == parts.end() ? product.rows : next->first;
      const std::size_t rows = std::min(size.rows(), end - first);
      const auto start = std::chrono::steady_clock::now();
      const States<double> block = product.make(first, rows);
      parts[first] = {rows, write_part(product, first, rows, block.values())};
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      note(product, first, rows, seconds.count());
      size.took(rows, seconds.count());
      first += rows;
      done += rows;
      say();
      if (stop_()) return false;
    }
    return true;
  }

  fs::path write_part(const Product& product, std::size_t first, std::size_t rows,
                      std::span<const double> values) const {
    fs::path path = part_path(product, first, rows);
    ArrayWriter writer(path);
    writer.add_text_attribute("sha256", sha256_hex(std::as_bytes(values)));
    writer.add("values", {rows, product.row_values()}, values);
    writer.commit();
    return path;
  }

  void note(const Product& product, std::size_t first, std::size_t rows, double seconds) {
    Value body;
    body.set("file", product.name);
    body.set("first", first);
    body.set("rows", rows);
    body.set("seconds", seconds);
    journal_.append("block", std::move(body));
  }

  // Throws Error(data) if the block is damaged.
  std::vector<double> read_part(const Product& product, const Part& part) const {
    Array<double> values = read_array(part.path, "values");
    if (values.shape != std::vector<std::size_t>{part.rows, product.row_values()} ||
        sha256_hex(std::as_bytes(std::span<const double>(values.values))) !=
            read_text_attribute(part.path, "/", "sha256"))
      throw Error(ErrorKind::data, fmt::format("{} is damaged", part.path.string()));
    return std::move(values.values);
  }

  // Puts the file together. False, with a warning, if a block is damaged: it is removed then.
  bool assemble(const Product& product, const Parts& parts) {
    Sha256 sha256;
    bool whole = true;
    for (const auto& [first, part] : parts) {
      try {
        const std::vector<double> values = read_part(product, part);
        sha256.add(std::as_bytes(std::span<const double>(values)));
      } catch (const Error& problem) {
        if (problem.kind() != ErrorKind::data) throw;
        observer_.warning(fmt::format("a block is made anew: {}", problem.what()));
        fs::remove(part.path);
        whole = false;
      }
    }
    if (!whole) return false;

    auto part = parts.begin();
    std::vector<double> piece;
    ArrayWriter writer(file_of(product));
    for (const Value::Member& member : *document_.map())
      writer.add_text_attribute(member.key, member.value.text() != nullptr
                                                ? *member.value.text()
                                                : config::json_text(member.value, 0));
    writer.add_text_attribute("sha256", sha256.hex());
    writer.add_pieces(product.dataset, product.shape, [&]() -> std::span<const double> {
      piece = read_part(product, part->second);
      ++part;
      return piece;
    });
    writer.commit();
    return true;
  }

  void clear_parts(const Product& product) const {
    if (!fs::exists(parts_folder())) return;
    for (const auto& [first, part] : find_parts(product)) fs::remove(part.path);
    std::error_code ignored;  // the other product's blocks may be there
    fs::remove(parts_folder(), ignored);
  }

  const fs::path& folder_;
  const Value& document_;
  int threads_;
  Observer& observer_;
  const std::function<bool()>& stop_;
  Journal journal_;
};

}  // namespace

Generated generate(const DataRequest& request, const Solver& solver, const fs::path& folder,
                   int threads, Observer& observer, const std::function<bool()>& stop) {
  const Value document = folder_document(request);
  const DataMaker maker(request, check_sections(request), solver, threads);
  const auto shape = [](std::vector<std::size_t> sizes, const Grid& grid) {
    sizes.push_back(grid.channels);
    sizes.insert(sizes.end(), grid.points.begin(), grid.points.end());
    return sizes;
  };
  const Product pool{"pool",
                     "pool",
                     "candidates",
                     "states",
                     request.pool,
                     shape({request.pool}, cluster_grid(solver.grid(), request.cluster)),
                     [&](std::size_t first, std::size_t n) { return maker.pool(first, n); }};
  const Product test{"test",
                     "test set",
                     "trajectories",
                     "trajectory",
                     request.test,
                     shape({request.test, request.cluster + request.steps}, solver.grid()),
                     [&](std::size_t first, std::size_t n) { return maker.test(first, n); }};

  check_ours(folder);
  make_folder(folder);
  Workshop workshop(folder, document, threads, observer, stop);
  if (claim_folder(folder, document)) {
    workshop.check_room(pool, test);
    write_text(folder / "config.yaml", config::yaml_text(document));
  }
  Generated result;
  for (const Product* product : {&pool, &test}) {
    const std::optional<std::string> sha256 = workshop.finish(*product);
    if (!sha256) break;
    (product == &pool ? result.pool_sha256 : result.test_sha256) = *sha256;
  }
  result.finished = !result.test_sha256.empty();
  result.seconds = workshop.seconds();
  return result;
}

}  // namespace stap
