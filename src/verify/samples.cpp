#include "verify/samples.hpp"

#include <list>
#include <mutex>

#include "support/elements.hpp"
#include "verify/inputs.hpp"
#include "verify/reference.hpp"

namespace softmax_dispatch::verify {
namespace {

constexpr std::uint64_t kSeed = 42;

std::size_t bytes_of(const Samples& s) {
  return s.x.size() * sizeof(float) + s.elements.size() + s.ref.size() * sizeof(double) +
         s.right.size() * sizeof(std::uint16_t);
}

std::shared_ptr<const Samples> make(DType dtype, std::int64_t N, std::int64_t rows) {
  auto made = std::make_shared<Samples>();
  made->dtype = dtype;
  made->N = N;
  made->rows = rows;
  std::vector<float> x(static_cast<std::size_t>(rows * N));
  const auto width = static_cast<std::size_t>(N);
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row)
    inputs()[row].fill(std::span(x).subspan(row * width, width), 1, N, kSeed);
  for (float& value : x) value = held_by(dtype, value);
  std::vector<double> ref = reference(x, rows, N);
  if (dtype == DType::f32) {
    made->x = std::move(x);
    made->ref = std::move(ref);
    return made;
  }
  made->elements = to_elements(dtype, x);
  made->right.reserve(ref.size());
  for (const double value : ref) made->right.push_back(round_to(dtype, value));
  return made;
}

struct Store {
  std::mutex mutex;
  std::list<std::shared_ptr<const Samples>> entries;  // the last used first
};

Store& store() {
  static Store instance;
  return instance;
}

}  // namespace

std::span<const std::byte> Samples::row(std::int64_t index) const {
  const std::size_t bytes = static_cast<std::size_t>(N) * size_of(dtype);
  const std::span<const std::byte> all = dtype == DType::f32 ? std::as_bytes(std::span(x)) : std::span(elements);
  return all.subspan(static_cast<std::size_t>(index) * bytes, bytes);
}

std::shared_ptr<const Samples> samples(DType dtype, std::int64_t N, std::int64_t rows) {
  auto& [mutex, entries] = store();
  const std::lock_guard lock(mutex);
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    if ((*entry)->dtype != dtype || (*entry)->N != N || (*entry)->rows != rows) continue;
    entries.splice(entries.begin(), entries, entry);
    return entries.front();
  }
  entries.push_front(make(dtype, N, rows));
  return entries.front();
}

void trim_samples(std::size_t bytes) {
  auto& [mutex, entries] = store();
  const std::lock_guard lock(mutex);
  std::size_t kept = 0;
  for (auto entry = entries.begin(); entry != entries.end();) {
    kept += bytes_of(**entry);
    entry = kept > bytes ? entries.erase(entry) : std::next(entry);
  }
}

}  // namespace softmax_dispatch::verify
