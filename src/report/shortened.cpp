#include "report/shortened.h"

#include <vector>

namespace stap {

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::vector<std::size_t> starts;  // of characters
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U) starts.push_back(i);
  if (starts.size() <= most) return std::string(text);
  const std::size_t behind = (most - 1) / 2, before = most - 1 - behind;
  return std::string(text.substr(0, starts[before])) + "…" +
         std::string(text.substr(starts[starts.size() - behind]));
}

}  // namespace stap
