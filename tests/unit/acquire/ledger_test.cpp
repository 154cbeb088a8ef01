#include "stap/acquire/ledger.h"

#include <gtest/gtest.h>

#include "stap/core/error.h"

namespace stap {
namespace {

Ledger some_ledger() {
  Ledger ledger;
  ledger.budget = 9;
  ledger.bought = 4;
  ledger.refused = 3;
  ledger.refused_by_trust = 1;
  ledger.failed = 2;
  ledger.charged_failures = 2;
  ledger.unspent = 3;
  ledger.passes = 1;
  ledger.reasons = {"a", "b", "c", "d", "e"};
  return ledger;
}

TEST(Ledger, EveryNumberIsHeldAgainstTheOthers) {
  EXPECT_NO_THROW(require_balance(some_ledger()));
  EXPECT_NO_THROW(require_balance({}));

  const auto broken = [](const auto& change) {
    Ledger ledger = some_ledger();
    change(ledger);
    EXPECT_THROW(require_balance(ledger), Error);
  };
  broken([](Ledger& l) { ++l.bought; });
  broken([](Ledger& l) { --l.unspent; });
  broken([](Ledger& l) { ++l.budget; });
  broken([](Ledger& l) { --l.charged_failures; });
  broken([](Ledger& l) { l.refused_by_trust = 4; });
  broken([](Ledger& l) { l.reasons.pop_back(); });
  broken([](Ledger& l) {  // adds up, but more were charged than failed
    ++l.charged_failures;
    --l.unspent;
  });
}

TEST(Ledger, APassSpendsWhatWasLeft) {
  Ledger round = some_ledger();
  Ledger pass;
  pass.budget = 3;
  pass.bought = 1;
  pass.refused = pass.refused_by_trust = 1;
  pass.unspent = 2;
  pass.passes = 1;
  pass.pool_exhausted = true;
  pass.reasons = {"f"};

  add_pass(round, pass);

  Ledger want = some_ledger();
  want.bought = 5;
  want.refused = 4;
  want.refused_by_trust = 2;
  want.unspent = 2;
  want.passes = 2;
  want.pool_exhausted = true;
  want.reasons.push_back("f");
  EXPECT_EQ(round, want);
  EXPECT_NO_THROW(require_balance(round));
  EXPECT_THROW(add_pass(round, pass), Error);  // 3 again where 2 are left
}

TEST(Ledger, SaysWhatAUserShouldKnow) {
  Ledger fine;
  fine.budget = fine.bought = 9;
  Ledger one_failed = fine;
  one_failed.bought = 8;
  one_failed.failed = 1;
  Ledger empty_pool = fine;
  empty_pool.bought = 7;
  empty_pool.unspent = 2;
  empty_pool.pool_exhausted = true;

  EXPECT_EQ(trouble_text(fine), "");
  EXPECT_EQ(trouble_text(some_ledger()),
            "3 queries refused (1 by the trust band), 2 failed, 3 of 9 solver steps stay unspent");
  EXPECT_EQ(trouble_text(one_failed), "1 query failed (not charged)");
  EXPECT_EQ(trouble_text(empty_pool),
            "no candidate is left to choose, 2 of 9 solver steps stay unspent");
}

}  // namespace
}  // namespace stap
