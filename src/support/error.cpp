#include "support/error.hpp"

#include <exception>
#include <filesystem>
#include <new>

namespace softmax_dispatch {

Status status_of_current_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return {error.code(), error.what()};
  } catch (const std::filesystem::filesystem_error& error) {
    return {StatusCode::io, error.what()};
  } catch (const std::bad_alloc&) {
    return {StatusCode::internal, "out of host memory"};
  } catch (const std::exception& error) {
    return {StatusCode::internal, error.what()};
  } catch (...) {
    return {StatusCode::internal, "an exception of unknown type"};
  }
}

}  // namespace softmax_dispatch
