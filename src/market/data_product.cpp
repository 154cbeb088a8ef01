#include "market/data_product.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stap/core/error.h"
#include "stap/core/sha256.h"
#include "stap/data/array_file.h"
#include "stap/study/data_files.h"

namespace stap {

namespace fs = std::filesystem;

std::vector<Product> products_of(const DataRequest& request, const Grid& grid) {
  std::vector<Product> products;
  const Rng stream(request.data_seed);
  if (request.pool > 0)
    products.push_back(
        {"pool",
         "states",
         grid,
         {"pool", 0, stream.split("pool"), request.pool, request.cluster, 0, request.parameters}});
  if (request.test > 0)
    products.push_back({"test",
                        "trajectory",
                        grid,
                        {"test set", 1, stream.split("test"), request.test, request.cluster,
                         request.steps, request.parameters}});
  return products;
}

void assemble(const Product& product, const RowMaker& maker, const LoggedAnswers& answers,
              const StateInfo& info, const config::Value& document, const std::string& key,
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
  const RowParameters parameters = maker.parameters(product.wanted, answers);
  sha256.add(std::as_bytes(std::span(parameters.values)));
  ArrayWriter writer(product.file(folder));
  writer.describe(info);
  for (const config::Value::Member& member : *document.map())
    writer.add_text_attribute(member.key, member.value.text() != nullptr
                                              ? *member.value.text()
                                              : config::json_text(member.value, 0));
  writer.add_text_attribute("data_key", key);
  writer.add_text_attribute("sha256", sha256.hex());
  if (!parameters.names.empty()) {
    writer.add_text_attribute(kParameterNames, fmt::format("{}", fmt::join(parameters.names, ",")));
    writer.add(kParameters, {product.wanted.rows, parameters.names.size()}, parameters.values);
  }
  std::vector<double> row;
  writer.add_pieces(product.dataset, product.shape(),
                    [&, r = std::size_t{0}]() mutable -> std::span<const double> {
                      row = row_of(r++);
                      return row;
                    });
  writer.commit();
}

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

}  // namespace stap
