#include "failure.h"

#include <exception>
#include <filesystem>
#include <new>
#include <system_error>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap::app {
namespace {

Failure failure(const std::string& message, ErrorKind kind) {
  return {message, static_cast<int>(kind)};
}

}  // namespace

Failure caught_failure() {
  try {
    throw;
  } catch (const Error& error) {
    return failure(error.what(), error.kind());
  } catch (const std::filesystem::filesystem_error& error) {  // nobody else said what it means
    return failure(fmt::format("cannot use {}: {}", error.path1().string(), error.code().message()),
                   ErrorKind::storage);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again)
      return failure(fmt::format("internal error: {}", error.what()), ErrorKind::internal);
    return failure("no thread can be started: see 'ulimit -u'", ErrorKind::storage);
  } catch (const std::bad_alloc&) {
    return failure(
        "out of memory: choose smaller sizes ('stap check' tells what a study takes), or see "
        "'ulimit -v'",
        ErrorKind::unavailable);
  } catch (const std::exception& error) {
    return failure(fmt::format("internal error: {}", error.what()), ErrorKind::internal);
  }
}

}  // namespace stap::app
