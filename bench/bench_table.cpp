// Gathers benchmark results: reads one JSON object a line from stdin, writes them behind a header
// object as one JSON array to the file given, and prints a table per kind of benchmark.
//
//   cat lines | bench_table OUT.json

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "stap/core/isa.h"

namespace {

using Json = nlohmann::ordered_json;  // keeps the order of keys: the columns' order

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

Json header() {
  return {{"bench", "header"},         {"date", now_utc()},
          {"cpu", cpu_model()},        {"threads", std::thread::hardware_concurrency()},
          {"compiler", STAP_COMPILER}, {"isa", std::string(stap::to_string(stap::active_isa()))}};
}

std::string cell_text(const Json& row, const std::string& column) {
  const auto found = row.find(column);
  if (found == row.end() || found->is_null()) return "-";
  if (found->is_string()) return found->get<std::string>();
  if (found->is_number_float()) return fmt::format("{:.4g}", found->get<double>());
  return found->dump();
}

/// Rows of one kind; columns are the union of their keys in the order they first appear.
void print_table(const std::string& kind, const std::vector<Json>& rows) {
  std::vector<std::string> columns;
  for (const Json& row : rows)
    for (const auto& item : row.items())
      if (item.key() != "bench" && std::ranges::find(columns, item.key()) == columns.end())
        columns.push_back(item.key());

  std::vector<std::string> lines(rows.size() + 1);
  for (const std::string& column : columns) {
    std::size_t width = column.size();
    bool text = false;
    for (const Json& row : rows) {
      width = std::max(width, cell_text(row, column).size());
      text = text || (row.contains(column) && row[column].is_string());
    }
    const auto append = [&](std::string& line, const std::string& cell) {
      line += text ? fmt::format("  {:<{}}", cell, width) : fmt::format("  {:>{}}", cell, width);
    };
    append(lines[0], column);
    for (std::size_t r = 0; r < rows.size(); ++r) append(lines[r + 1], cell_text(rows[r], column));
  }
  fmt::print("\n{}\n", kind);
  for (const std::string& line : lines) fmt::print("{}\n", line);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "bench_table: give the file to write; results are read from stdin\n");
    return 2;
  }

  Json all = Json::array({header()});
  std::vector<std::string> kinds;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;
    Json row = Json::parse(line, nullptr, false);
    if (!row.is_object() || !row.contains("bench") || !row["bench"].is_string()) {
      fmt::print(stderr, "bench_table: expected a JSON object with the key bench, got: {}\n", line);
      return 3;
    }
    const auto kind = row["bench"].get<std::string>();
    if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
    all.push_back(std::move(row));
  }

  const std::string path = argv[1], aside = path + ".tmp";
  std::ofstream file(aside);
  file << all.dump(1) << '\n';
  file.close();
  if (!file || std::rename(aside.c_str(), path.c_str()) != 0) {
    fmt::print(stderr, "bench_table: cannot write {}\n", path);
    return 6;
  }

  const Json& about = all.front();
  fmt::print("{}, {} threads, {}, {}\n", about["cpu"].get<std::string>(),
             about["threads"].get<int>(), about["isa"].get<std::string>(),
             about["date"].get<std::string>());
  for (const std::string& kind : kinds) {
    std::vector<Json> rows;
    for (const Json& row : all)
      if (row["bench"] == kind) rows.push_back(row);
    print_table(kind, rows);
  }
  return 0;
}
