#pragma once

#include <string_view>
#include <type_traits>
#include <vector>

#include "support/yaml.hpp"
#include "table/fields.hpp"

/// From nodes to the members of records. Every function throws Error(bad_table) at the node.
namespace softmax_dispatch::table {

void read_value(const yaml::Node& node, int& value);
void read_value(const yaml::Node& node, std::int64_t& value);
void read_value(const yaml::Node& node, double& value);
void read_value(const yaml::Node& node, bool& value);
void read_value(const yaml::Node& node, std::string& value);
void read_value(const yaml::Node& node, DType& value);
void read_value(const yaml::Node& node, Alignment& value);
void read_value(const yaml::Node& node, Constants& value);
void read_value(const yaml::Node& node, std::pair<std::int64_t, std::int64_t>& value);
void read_value(const yaml::Node& node, Hash value);
void read_value(const yaml::Node& node, Kind value);
void read_value(const yaml::Node& node, Bound value);
void read_value(const yaml::Node& node, Range value);
void read_value(const yaml::Node& node, Schema);

struct KeyCollector {
  std::vector<std::string_view> keys;

  template <typename T>
  void operator()(std::string_view key, const T&) {
    keys.push_back(key);
  }
};

template <typename T>
void read_record(const yaml::Node& node, T& record);

struct RecordReader {
  const yaml::Node& node;

  template <typename T>
  void operator()(std::string_view key, std::vector<T>& items) const {
    read_list(node.at(key), items);
  }
  template <typename T>
  void operator()(std::string_view key, MayBeAbsent<T> list) const {
    if (const yaml::Node* found = node.find(key)) read_list(*found, list.items);
  }
  template <typename T>
  void operator()(std::string_view key, std::optional<T>& value) const {
    if (const yaml::Node* found = node.find(key)) read_one(*found, value.emplace());
  }
  void operator()(std::string_view key, Quality quality) const {
    if (const yaml::Node* found = node.find(key)) read_record(*found, quality);
  }
  template <typename T>
  void operator()(std::string_view key, T&& value) const {
    read_one(node.at(key), value);
  }

 private:
  template <typename T>
  static void read_list(const yaml::Node& list, std::vector<T>& items) {
    for (const yaml::Node& item : list.items()) read_one(item, items.emplace_back());
  }
  template <typename T>
  static void read_one(const yaml::Node& from, T& value) {
    if constexpr (requires { read_value(from, value); }) {
      read_value(from, value);
    } else {
      read_record(from, value);
    }
  }
};

/// Unknown keys are named before missing ones: a missing key is often a misspelled one.
template <typename T>
void read_record(const yaml::Node& node, T& record) {
  KeyCollector collector;
  fields(collector, record);
  node.only(collector.keys);
  RecordReader reader{node};
  fields(reader, record);
}

}  // namespace softmax_dispatch::table
