#pragma once

#include <stdexcept>

namespace zerogames {

/// A mistake of the caller that a person can mend: a bad position, move, option or file.
/// Python sees it as `zerogames.UserError`; the text is one line without a full stop.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace zerogames
