#include "couple/placeholders.h"

#include <algorithm>

#include <fmt/format.h>

#include "stap/config/complaints.h"
#include "stap/core/error.h"

namespace stap {
namespace {

const std::string& value_of(const std::string& name,
                            const std::map<std::string, std::string>& known, const char* called) {
  if (const auto found = known.find(name); found != known.end()) return found->second;
  std::vector<std::string> names{"here"};
  for (const auto& entry : known) names.push_back(entry.first);
  throw Error(ErrorKind::config,
              fmt::format("{} has {{{}}} in it, which is no placeholder{}; write '{{{{' for a "
                          "brace",
                          called, name, config::hint(name, names, "placeholders")));
}

}  // namespace

std::vector<std::string> filled_in(const std::vector<std::string>& argv,
                                   const std::map<std::string, std::string>& known,
                                   const char* called) {
  std::vector<std::string> words;
  for (const std::string& word : argv) {
    std::string& filled = words.emplace_back();
    for (std::size_t i = 0; i < word.size(); ++i) {
      const bool brace = word[i] == '{';
      const std::size_t close = brace ? word.find('}', i) : std::string::npos;
      if (brace && i + 1 < word.size() && word[i + 1] == '{') {
        filled += '{';
        ++i;
      } else if (close != std::string::npos) {
        filled += value_of(word.substr(i + 1, close - i - 1), known, called);
        i = close;
      } else if (brace) {
        throw Error(ErrorKind::config,
                    fmt::format("{} has '{}' in it, where a brace is not closed; write '{{{{' "
                                "for a brace",
                                called, word));
      } else {
        filled += word[i];
      }
    }
  }
  return words;
}

bool mentions(const std::vector<std::string>& argv, const std::string& text) {
  return std::ranges::any_of(
      argv, [&](const std::string& word) { return word.find(text) != std::string::npos; });
}

}  // namespace stap
