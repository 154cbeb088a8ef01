// What users read: help that fits, and words that they know (tests/unwanted-words).
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "support/environment.h"
#include "support/process.h"

namespace stap::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

// "stap export-model", of a page whose synopsis begins "stap export\-model RUN".
std::string command_of(const std::string& page) {
  const std::string title = ".SH \"SYNOPSIS\"\n";
  std::string name;
  std::istringstream synopsis(page.substr(page.find(title) + title.size()));
  for (std::string word; synopsis >> word && word[0] >= 'a' && word[0] <= 'z';) {
    std::erase(word, '\\');
    name += (name.empty() ? "" : " ") + word;
  }
  return name;
}

// The manual page of every command, by the command: "stap solver check".
std::map<std::string, std::string> manual_pages() {
  const TemporaryFolder folder;
  EXPECT_EQ(run_stap({"man", folder.path("man1")}).exit_code, 0);
  std::map<std::string, std::string> pages;
  for (const auto& entry : fs::directory_iterator(folder.path("man1"))) {
    const std::string page = content(entry.path().string());
    pages[command_of(page)] = page;
  }
  EXPECT_GT(pages.size(), 30u);
  return pages;
}

Finished run_words(const std::string& words) {
  std::vector<std::string> command;
  std::istringstream all(words);
  for (std::string word; all >> word;) command.push_back(word);
  command[0] = STAP_TEST_PROGRAM;
  return run_process(command);
}

std::size_t width(const std::string& line) {
  return static_cast<std::size_t>(
      std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }));
}

TEST(Texts, EveryHelpFitsIntoTheTerminalAndHasAnExample) {
  for (const char* columns : {"50", "80", "120"}) {
    const ScopedVariable wide("COLUMNS", columns);
    for (const auto& [name, page] : manual_pages()) {
      SCOPED_TRACE(name + ", columns " + columns);
      const std::string help = run_words(name + " --help").out;
      const std::size_t example = help.find("\nExample:\n  stap ");

      ASSERT_NE(example, std::string::npos) << help;
      EXPECT_TRUE(contains(help, "Usage: " + name));
      for (const std::string& line : lines_of(help.substr(0, example)))
        EXPECT_LE(width(line), std::stoul(columns)) << line;
    }
  }
}

TEST(Texts, EveryOptionHasAHelpText) {
  for (const auto& [name, page] : manual_pages()) {
    const std::vector<std::string> lines = lines_of(page);
    for (std::size_t i = 0; i + 2 < lines.size(); ++i) {
      if (lines[i] != ".TP") continue;
      const std::string& text = lines[i + 2];
      EXPECT_GE(text.size(), 4u) << name << ": " << lines[i + 1];
      EXPECT_FALSE(text.starts_with(".")) << name << ": " << lines[i + 1];
      EXPECT_FALSE(text.ends_with(".")) << name << ": " << text;
    }
  }
}

TEST(Texts, DescriptionsFitIntoTheTerminal) {
  const ScopedVariable wide("COLUMNS", "60");
  const json families = json::parse(run_stap({"list", "--json"}).out);
  for (const json& family : families) {
    const Finished described = run_stap({"describe", family["family"]});
    EXPECT_EQ(described.exit_code, 0);
    for (const std::string& line : lines_of(described.out)) EXPECT_LE(width(line), 60u) << line;
  }
  for (const std::string& line : lines_of(run_stap({"list"}).out)) EXPECT_LE(width(line), 60u);
}

TEST(Texts, ManualPagesAreRight) {
  if (!fs::exists("/usr/bin/man")) GTEST_SKIP() << "no man";
  const TemporaryFolder folder;
  ASSERT_EQ(run_stap({"man", folder.path("man1")}).exit_code, 0);
  for (const auto& entry : fs::directory_iterator(folder.path("man1"))) {
    const Finished shown = run_process(
        {"/usr/bin/man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", entry.path().string()});
    EXPECT_EQ(shown.exit_code, 0);
    EXPECT_EQ(shown.err, "") << entry.path();
    EXPECT_GT(lines_of(shown.out).size(), 20u) << entry.path();
  }
}

// --- words -------------------------------------------------------------------------------------

// `left # right` of every line that is no comment.
std::vector<std::pair<std::string, std::string>> pairs_in(const std::string& file) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& line : lines_of(content(STAP_TEST_SOURCE_DIR "/tests/" + file))) {
    if (line.empty() || line.starts_with("#")) continue;
    const std::size_t mark = line.find(" # ");
    EXPECT_NE(mark, std::string::npos) << file << ": '" << line << "' gives no reason";
    pairs.emplace_back(line.substr(0, mark), line.substr(std::min(mark + 3, line.size())));
  }
  return pairs;
}

bool has_phrase(const std::string& text, const std::string& phrase) {
  const auto is_letter = [&](std::size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  for (std::size_t at = text.find(phrase); at != std::string::npos; at = text.find(phrase, at + 1))
    if (!is_letter(at - 1) && !is_letter(at + phrase.size())) return true;  // 0 - 1: no place
  return false;
}

std::string in_small_letters(std::string text) {
  for (char& c : text)
    c = c == '\n' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// All string literals of a source; neighbours joined, as the compiler joins them.
std::string literals_of(const std::string& code) {
  std::string all;
  bool joined = false;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const char c = code[i];
    if (code.compare(i, 2, "//") == 0) {
      i = std::min(code.find('\n', i), code.size());
    } else if (code.compare(i, 2, "/*") == 0) {
      i = std::min(code.find("*/", i), code.size()) + 1;
    } else if (code.compare(i, 2, "R\"") == 0) {
      const std::size_t open = code.find('(', i);
      const std::string close = ")" + code.substr(i + 2, open - i - 2) + "\"";
      const std::size_t end = code.find(close, open);
      all += '\n' + code.substr(open + 1, end - open - 1) + '\n';
      i = end + close.size() - 1;
    } else if (c == '"') {
      if (!joined) all += '\n';
      for (++i; i < code.size() && code[i] != '"'; ++i)
        if (code[i] != '\\')
          all += code[i];
        else
          all += code[++i] == 'n' ? ' ' : code[i];
      joined = true;
    } else if (c == '\'' &&
               (i == 0 || std::isalnum(static_cast<unsigned char>(code[i - 1])) == 0)) {
      for (++i; i < code.size() && code[i] != '\''; ++i) i += code[i] == '\\' ? 1 : 0;
      joined = false;
    } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      joined = false;
    }
  }
  return all;
}

// All that users may read, by its place.
std::map<std::string, std::string> visible_texts() {
  std::map<std::string, std::string> texts = manual_pages();
  texts["schema"] = run_stap({"schema"}).out;
  texts["list"] = run_stap({"list"}).out;
  for (const json& family : json::parse(run_stap({"list", "--json"}).out)) {
    const std::string name = family["family"];
    texts["describe " + name] = run_stap({"describe", name, "--json"}).out;
  }
  const fs::path root = STAP_TEST_SOURCE_DIR;
  for (const char* folder : {"tutorials", "how-to", "reference", "explanation"})
    for (const auto& entry : fs::directory_iterator(root / "docs" / folder))
      texts[entry.path().lexically_relative(root).string()] = content(entry.path().string());
  for (const char* page : {"README.md", "docs/index.md"})
    texts[page] = content((root / page).string());
  for (const auto& entry : fs::recursive_directory_iterator(root / "templates"))
    if (entry.is_regular_file())
      texts[entry.path().lexically_relative(root).string()] = content(entry.path().string());
  for (const char* folder : {"app", "src", "include"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (const auto kind = entry.path().extension(); kind == ".cpp" || kind == ".h")
        texts[entry.path().lexically_relative(root).string()] =
            literals_of(content(entry.path().string()));
  return texts;
}

TEST(Texts, UsersReadNoUnwantedWords) {
  const auto allowed = pairs_in("unwanted-words-allowed");
  std::set<std::string> used;
  for (const auto& [place, text] : visible_texts()) {
    std::string lines;
    for (const std::string& line : lines_of(text)) lines += in_small_letters(line) + '\n';
    for (const auto& [phrase, better] : pairs_in("unwanted-words")) {
      if (!has_phrase(lines, phrase)) continue;
      const std::string here = place + ": " + phrase;
      const bool fine =
          std::ranges::any_of(allowed, [&](const auto& p) { return p.first == here; });
      used.insert(here);
      EXPECT_TRUE(fine) << here << "; write: " << better;
    }
  }
  for (const auto& [here, reason] : allowed)
    EXPECT_TRUE(used.contains(here)) << "tests/unwanted-words-allowed: not needed: " << here;
}

TEST(Texts, PhrasesAreFoundAsWholeWordsInLiterals) {
  const std::string code =
      "// no \"comment goes on\"\nf(1'000, '\"', \"it goes \"\n  \"on here\"); g(\"dearest\", "
      "R\"(a dear)\");";

  EXPECT_EQ(literals_of(code), "\nit goes on here\ndearest\na dear\n");
  EXPECT_TRUE(has_phrase("it goes on here", "goes on"));
  EXPECT_TRUE(has_phrase("dear", "dear"));
  EXPECT_FALSE(has_phrase("dearest", "dear"));
}

}  // namespace
}  // namespace stap::test
