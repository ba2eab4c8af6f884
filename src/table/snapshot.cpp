#include "table/snapshot.hpp"

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "table/fields.hpp"

namespace softmax_dispatch::table {
namespace {

struct Damaged {};

class Output {
 public:
  static constexpr bool kReads = false;

  void raw(void* data, std::size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  std::size_t count(std::size_t size) {
    raw(&size, sizeof size);
    return size;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Input {
 public:
  static constexpr bool kReads = true;

  explicit Input(std::string_view bytes) : left_(bytes) {}

  void raw(void* data, std::size_t size) {
    if (size > left_.size()) throw Damaged();
    std::memcpy(data, left_.data(), size);
    left_.remove_prefix(size);
  }
  /// Of items, each of which takes a byte at least.
  std::size_t count(std::size_t /*size*/) {
    std::size_t result = 0;
    raw(&result, sizeof result);
    if (result > left_.size()) throw Damaged();
    return result;
  }
  bool at_end() const { return left_.empty(); }

 private:
  std::string_view left_;
};

/// Visits the fields of records, each of which goes to the stream, or comes from it.
template <typename Stream>
class Transfer {
 public:
  explicit Transfer(Stream& stream) : stream_(stream) {}

  template <typename T>
  void operator()(std::string_view /*key*/, T&& value) {
    transfer(value);
  }

  template <typename T>
  void transfer(T& value) {
    if constexpr (std::is_enum_v<T>) {
      auto number = static_cast<int>(value);
      stream_.raw(&number, sizeof number);
      if (number < 0 || number > kLastOfEnum) throw Damaged();
      value = static_cast<T>(number);
    } else if constexpr (std::is_arithmetic_v<T>) {
      stream_.raw(&value, sizeof value);
    } else {
      fields(*this, value);
      if constexpr (requires { value.kernel.index; }) transfer(value.kernel.index);
    }
  }
  void transfer(bool& value) {
    char byte = value ? 1 : 0;
    stream_.raw(&byte, sizeof byte);
    value = byte != 0;
  }
  void transfer(std::string& value) {
    value.resize(stream_.count(value.size()));
    stream_.raw(value.data(), value.size());
  }
  template <typename A, typename B>
  void transfer(std::pair<A, B>& value) {
    transfer(value.first);
    transfer(value.second);
  }
  template <typename T>
  void transfer(std::vector<T>& items) {
    items.resize(stream_.count(items.size()));
    for (T& item : items) transfer(item);
  }
  template <typename T>
  void transfer(std::optional<T>& value) {
    bool present = value.has_value();
    transfer(present);
    if (!present) return;
    if (!value) value.emplace();
    transfer(*value);
  }
  void transfer(Constants& constants) {
    std::vector<std::pair<std::string, std::int64_t>> items(constants.begin(), constants.end());
    transfer(items);
    if constexpr (Stream::kReads) constants = Constants(items.begin(), items.end());
  }
  void transfer(Schema) {}
  void transfer(Hash& hash) { transfer(hash.text); }
  void transfer(Kind& kind) { transfer(kind.simulated); }
  void transfer(Bound& bound) { transfer(bound.value); }
  void transfer(Range& range) {
    transfer(range.from);
    transfer(range.to);
  }
  template <typename T>
  void transfer(MayBeAbsent<T>& list) {
    transfer(list.items);
  }

 private:
  static constexpr int kLastOfEnum = 2;  ///< Of DType and of Alignment.

  Stream& stream_;
};

}  // namespace

std::string to_snapshot(Table table) {
  Output output;
  Transfer<Output>(output).transfer(table);
  return output.take();
}

std::optional<Table> from_snapshot(std::string_view bytes) {
  try {
    Input input(bytes);
    Table table;
    Transfer<Input>(input).transfer(table);
    if (input.at_end()) return table;
  } catch (const Damaged&) {
  }
  return std::nullopt;
}

}  // namespace softmax_dispatch::table
