// The files of a data request: pool.h5 and test.h5.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "market/rows.h"
#include "stap/config/value.h"
#include "stap/data/store.h"
#include "stap/study/data_request.h"

namespace stap {

/// One of the two files that are made.
struct Product {
  const char* name;
  std::string dataset;
  Grid single;  // of one state
  RowsWanted wanted;

  std::filesystem::path file(const std::filesystem::path& folder) const {
    return folder / (std::string(name) + ".h5");
  }
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

std::vector<Product> products_of(const DataRequest& request, const Grid& grid);

/// Puts a file together from the answers, row by row.
void assemble(const Product& product, const RowMaker& maker, const LoggedAnswers& answers,
              const StateInfo& info, const config::Value& document, const std::string& key,
              const std::filesystem::path& folder, const StopAsked& stop);

/// Throws Error(data) if a file holds other data: pool and test set have the same key, so it takes
/// more to tell one from the other.
void check_content(const Product& product, const std::filesystem::path& file);

}  // namespace stap
