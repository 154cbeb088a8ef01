#pragma once

#include <cstddef>
#include <string>

#include "stap/data/transitions.h"
#include "stap/folder/run_folder.h"

namespace stap {

/// What answers.bin should hold, as far as it can be told.
struct RebuiltAnswers {
  std::string bytes;
  std::size_t lost = 0;  ///< states of which nothing is known
};
/// From the file as it is (if it is there), the checksums of the journal, and the training set,
/// which has the states of complete purchases, too; an empty one if it is damaged itself.
RebuiltAnswers rebuilt_answers(const RunFolder& folder, const TransitionSet& set);

}  // namespace stap
