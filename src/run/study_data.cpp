#include "stap/run/study_data.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "run/make_data.h"
#include "stap/core/cluster.h"
#include "stap/core/error.h"
#include "stap/core/sha256.h"
#include "stap/data/array_file.h"
#include "stap/data/store.h"
#include "stap/run/study.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
static_assert(std::endian::native == std::endian::little, "hashes are of little-endian values");

constexpr std::chrono::hours kStale{24};

std::string hash(std::span<const double> values) {
  return sha256_hex(std::as_bytes(values));
}

// The block [first, first + n) is made by make(first, n) and copied to where it belongs.
template <class Make>
States<double> in_blocks(const Grid& grid, std::size_t count, std::size_t states_per_row,
                         int threads, const Make& make) {
  States<double> all(grid, count * states_per_row);
  BlockSize size(states_per_row * grid.values() * sizeof(double), threads);
  for (std::size_t first = 0; first < count;) {
    const std::size_t n = std::min(size.rows(), count - first);
    const auto start = std::chrono::steady_clock::now();
    const States<double> block = make(first, n);
    std::copy(block.values().begin(), block.values().end(),
              all.row(first * states_per_row).begin());
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    size.took(n, seconds.count());
    first += n;
  }
  return all;
}

StudyData make_all(const DataRequest& request, const DataMaker& maker, const Grid& grid,
                   int threads, Observer& observer) {
  StudyData data;
  data.test_times = request.cluster + request.steps;
  observer.progress({.phase = "pool", .done = 0, .total = request.pool, .unit = "candidates"});
  const Grid clusters = cluster_grid(grid, request.cluster);
  data.pool = in_blocks(clusters, request.pool, 1, threads, [&](std::size_t first, std::size_t n) {
    States<double> block = maker.pool(first, n);
    observer.progress(
        {.phase = "pool", .done = first + n, .total = request.pool, .unit = "candidates"});
    return block;
  });
  observer.progress({.phase = "test set",
                     .done = 0,
                     .total = request.test * request.steps,
                     .unit = "solver steps"});
  data.test = in_blocks(grid, request.test, data.test_times, threads,
                        [&](std::size_t first, std::size_t n) {
                          return maker.test(first, n, [&](std::size_t steps) {
                            observer.progress({.phase = "test set",
                                               .done = first * request.steps + n * steps,
                                               .total = request.test * request.steps,
                                               .unit = "solver steps"});
                          });
                        });
  data.pool_sha256 = hash(data.pool.values());
  data.test_sha256 = hash(data.test.values());
  return data;
}

// Throws Error(data) if the file is not what it should be.
StudyData read_cached(const fs::path& path, const DataRequest& request, const std::string& text,
                      const Grid& grid) {
  const auto expect = [&](bool fits, const char* what) {
    if (!fits)
      throw Error(ErrorKind::data, fmt::format("{}: {} does not fit", path.string(), what));
  };
  expect(read_text_attribute(path, "/", "format") == kDataFormat, "its format");
  expect(read_text_attribute(path, "/", "request") == text, "what it was made for");
  Trajectories test = read_trajectories(path, grid);
  StudyData data{.pool = read_states(path, cluster_grid(grid, request.cluster)),
                 .test = std::move(test.states),
                 .test_times = test.times,
                 .pool_sha256 = read_text_attribute(path, "/", "pool_sha256"),
                 .test_sha256 = read_text_attribute(path, "/", "test_sha256")};
  expect(data.pool.count() == request.pool, "the size of the pool");
  expect(data.test_times == request.cluster + request.steps, "the number of steps");
  expect(data.test.count() == request.test * data.test_times, "the size of the test set");
  expect(hash(data.pool.values()) == data.pool_sha256, "the hash of the pool");
  expect(hash(data.test.values()) == data.test_sha256, "the hash of the test set");
  return data;
}

void write_cached(const fs::path& path, const DataRequest& request, const std::string& text,
                  const StudyData& data) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);  // the writer says why it failed
  const auto shape = [](std::vector<std::size_t> sizes, const Grid& grid) {
    sizes.push_back(grid.channels);
    sizes.insert(sizes.end(), grid.points.begin(), grid.points.end());
    return sizes;
  };
  ArrayWriter writer(path);
  writer.add_text_attribute("format", kDataFormat);
  writer.add_text_attribute("request", text);
  writer.add_text_attribute("pool_sha256", data.pool_sha256);
  writer.add_text_attribute("test_sha256", data.test_sha256);
  writer.add("states", shape({request.pool}, data.pool.grid()), data.pool.values());
  writer.add("trajectory", shape({request.test, data.test_times}, data.test.grid()),
             data.test.values());
  writer.commit();
}

// What killed processes have left behind. Nothing of this may fail.
void remove_stale(const fs::path& folder) {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().filename().string().find(".h5.tmp-") != std::string::npos &&
        now - fs::last_write_time(entry->path(), ignored) > kStale && !ignored)
      fs::remove(entry->path(), ignored);
  }
}

}  // namespace

DataRequest data_request(const config::Value& effective) {
  const auto options = config::read(study_fields(), *effective.find("study"), "study");
  DataRequest request;
  request.pde = *effective.find("pde");
  request.initial = *effective.find("initial");
  request.pool = options.pool;
  request.test = options.test;
  request.steps = options.steps;
  request.cluster = options.cluster;
  request.data_seed = options.data_seed;
  return request;
}

std::string study_key(const DataRequest& request) {
  const std::string text = config::yaml_text(request_document(request, check_sections(request)));
  return sha256_hex(std::as_bytes(std::span(text)));
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

StudyData make_study_data(const DataRequest& request, const Solver& solver, int threads,
                          Observer& observer) {
  const DataSections sections = check_sections(request);
  const std::string text = config::yaml_text(request_document(request, sections));
  const fs::path folder = cache_folder();
  const fs::path path = folder / (study_key(request) + ".h5");
  std::error_code error;
  if (!folder.empty()) remove_stale(folder);
  if (!folder.empty() && fs::exists(path, error)) {
    try {
      return read_cached(path, request, text, solver.grid());
    } catch (const Error& problem) {
      if (problem.kind() != ErrorKind::data) throw;
      observer.warning(fmt::format("cached data are made anew: {}", problem.what()));
    }
  }

  const DataMaker maker(request, sections, solver, threads);
  StudyData data = make_all(request, maker, solver.grid(), threads, observer);
  if (!folder.empty()) {
    try {
      write_cached(path, request, text, data);
    } catch (const Error& problem) {
      if (problem.kind() != ErrorKind::storage) throw;
      observer.warning(fmt::format(
          "data are not cached: {}; set STAP_CACHE to a folder, or to 'off'", problem.what()));
    }
  }
  return data;
}

}  // namespace stap
