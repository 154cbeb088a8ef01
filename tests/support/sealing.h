#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "stap/core/seal.h"
#include "support/temporary_folder.h"

namespace stap::test {

/// Puts other text into a sealed file, as a program would that knows of seals: what is behind them
/// is to be tested. Lines of a .jsonl file have one each.
inline void change_sealed(const std::filesystem::path& file, const std::string& from,
                          const std::string& to) {
  std::string text = content(file);
  std::size_t begin = 0, end = text.size();
  ASSERT_NE(text.find(from), std::string::npos) << from << " is not in " << text;
  if (file.extension() == ".jsonl") {
    const std::size_t at = text.find(from);
    begin = text.rfind('\n', at) + 1;  // npos + 1 is 0
    end = text.find('\n', at);
  }
  std::string part = text.substr(begin, end - begin);
  const bool yaml = file.extension() == ".yaml";
  yaml ? take_seal(part, file.string(), Sealed::always)
       : take_json_seal(part, file.string(), Sealed::always);
  part.replace(part.find(from), from.size(), to);
  part = yaml ? part + seal_line(part) : seal_json(part);
  std::ofstream(file, std::ios::binary) << text.replace(begin, end - begin, part);
}

/// The lines of a file whose lines name their round, without the seals and the names of runs before
/// that: those of runs of different configurations can be compared.
inline std::string unnamed_lines(const std::filesystem::path& file) {
  std::istringstream text(content(file));
  std::string lines;
  for (std::string line; std::getline(text, line);)
    lines += line.substr(line.find("\"round\"")) + "\n";
  return lines;
}

}  // namespace stap::test
