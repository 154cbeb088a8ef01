// Answers of a run of which lines of the journal or states are damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stap/data/transitions.h"
#include "stap/folder/run_folder.h"

namespace stap {

/// What answers.bin should hold, as far as it can be told.
struct RebuiltAnswers {
  std::string bytes;
  std::set<std::uint64_t> lost{};  ///< where states begin of which nothing is known,
  bool of_complete = false;        ///< some of them of purchases that are complete
};
/// From the file as it is (if it is there), and the training set, which has the states of complete
/// purchases, too; an empty one if it is damaged itself. `complete`: how many purchases are.
RebuiltAnswers rebuilt_answers(const RunFolder& folder, const TransitionSet& set,
                               std::size_t complete);

/// Type of lines that stand in the place of lost ones.
inline constexpr std::string_view kDroppedLine = "dropped";

/// A line that is dropped, or that says whose the journal is and is written anew.
struct DroppedLine {
  std::uint64_t sequence = 0;
  std::string type{};  ///< as far as it can be read; empty: it cannot
  /// Of an answer, as far as it can be read.
  std::optional<std::size_t> acquisition{}, candidate{}, step{};

  bool perhaps_breaker() const { return type.empty() || type == "breaker"; }
};
/// Drops the lines of a journal that are damaged, and answers whose states begin at these places.
/// The one that says whose the journal is is written anew, from config.yaml and manifest.json;
/// ledgers behind one that is lost go with it, and follow from the answers. Nothing is done if that
/// line is lost and these files are damaged. Throws as rewrite_journal().
std::vector<DroppedLine> drop_lines(const RunFolder& folder,
                                    const std::set<std::uint64_t>& lost_states);
/// To be called when these lines are dropped: of the purchase under way it revokes answers that
/// followed from them, since the solver may give others now, and failures if one of the lines may
/// have said that they do not count. What was done, and which answers are asked again, in words.
std::string revoke_followers(const RunFolder& folder, const std::vector<DroppedLine>& dropped);

}  // namespace stap
