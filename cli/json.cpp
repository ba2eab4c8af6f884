#include "cli/json.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/console.hpp"
#include "table/fields.hpp"

namespace softmax_dispatch::cli {
namespace {

template <typename T>
Json record_json(T record);

Json value_json(table::Schema) {
  return table::kSchema;
}
Json value_json(const table::Kind& kind) {
  return kind.simulated ? "simulated" : "measured";
}
Json value_json(const table::Bound& bound) {
  return bound_json(bound.value);
}
Json value_json(const table::Range& range) {
  return Json::array({range.from, bound_json(range.to)});
}
Json value_json(const table::Hash& hash) {
  return hash.text;
}
Json value_json(DType dtype) {
  return to_string(dtype);
}
Json value_json(table::Alignment alignment) {
  return to_string(alignment);
}
Json value_json(const Constants& constants) {
  return json_of(constants);
}
template <typename T>
Json value_json(const std::vector<T>& items);
template <typename T>
Json value_json(const T& value) {
  if constexpr (std::is_constructible_v<Json, const T&>) {
    return value;
  } else {
    return record_json(value);
  }
}
template <typename T>
Json value_json(const std::vector<T>& items) {
  Json json = Json::array();
  for (const T& item : items) json.push_back(value_json(item));
  return json;
}

/// Visits the keys of a table's records (table/fields.hpp).
struct RecordWriter {
  Json json = Json::object();

  template <typename T>
  void operator()(const char* key, const T& value) {
    json[key] = value_json(value);
  }
  template <typename T>
  void operator()(const char* key, const std::optional<T>& value) {
    if (value) json[key] = value_json(*value);
  }
  template <typename T>
  void operator()(const char* key, const table::MayBeAbsent<T>& list) {
    json[key] = value_json(list.items);
  }
};

/// The lists of keys serve the table's reader too, and so take a record that can be changed: a copy.
template <typename T>
Json record_json(T record) {
  RecordWriter writer;
  fields(writer, record);
  return std::move(writer.json);
}

}  // namespace

Json json_of(const Constants& constants) {
  Json json = Json::object();
  for (const auto& [name, value] : constants) json[name] = value;
  return json;
}

Json json_of(const Config& config) {
  return {{"variant", config.variant}, {"dtype", to_string(config.dtype)}, {"constants", json_of(config.constants)}};
}

Json json_of(const table::Table& table) {
  return record_json(table);
}

Json bound_json(std::int64_t value) {
  return value == table::kOpen ? Json(nullptr) : Json(value);
}

void add_resources(Json& object, const jit::Resources& resources, std::int64_t shared_bytes, double occupancy) {
  object["registers"] = resources.registers;
  object["stack_bytes"] = resources.stack_bytes;
  object["spill_store_bytes"] = resources.spill_store_bytes;
  object["spill_load_bytes"] = resources.spill_load_bytes;
  object["shared_bytes"] = shared_bytes;
  object["theoretical_occupancy"] = occupancy;
}

void print_json(const Json& json) {
  // A device's or a file's name may hold bytes that are no UTF-8: they must not cost the whole document.
  print(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace softmax_dispatch::cli
