#include "core/same_files.h"

#include <algorithm>
#include <fstream>
#include <vector>

namespace stap {

namespace fs = std::filesystem;

bool same_content(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (!fs::is_regular_file(a, error) || !fs::is_regular_file(b, error)) return false;
  std::ifstream first(a, std::ios::binary), second(b, std::ios::binary);
  std::vector<char> here(1 << 16), there(here.size());
  const auto fill = [](std::ifstream& from, std::vector<char>& to) {
    from.read(to.data(), static_cast<std::streamsize>(to.size()));
    return from.gcount();
  };
  while (first && second) {
    const auto n = fill(first, here);
    if (fill(second, there) != n || !std::equal(here.begin(), here.begin() + n, there.begin()))
      return false;
  }
  return first.eof() && second.eof();
}

}  // namespace stap
