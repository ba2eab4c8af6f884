#pragma once

#include <nlohmann/json_fwd.hpp>

#include "jit/resources.hpp"
#include "support/config.hpp"
#include "table/table.hpp"

/// The JSON of --json. Keys keep the order in which they are set; docs/cli.md describes each document.
namespace softmax_dispatch::cli {

using Json = nlohmann::ordered_json;

Json json_of(const Constants& constants);  ///< {"THREADS": 256}
Json json_of(const Config& config);        ///< {"variant": "v7", "constants": {...}}
Json json_of(const table::Table& table);   ///< The whole table, with the keys of its YAML.
Json bound_json(std::int64_t value);       ///< null for table::kOpen.

/// Adds registers, stack_bytes, spill_store_bytes, spill_load_bytes, shared_bytes and theoretical_occupancy.
/// `shared_bytes` is static and dynamic shared memory together.
void add_resources(Json& object, const jit::Resources& resources, std::int64_t shared_bytes, double occupancy);

/// On stdout.
void print_json(const Json& json);

}  // namespace softmax_dispatch::cli
