#include "device/sim/exec/workspace_check.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace softmax_dispatch::sim {
namespace {

constexpr std::uint64_t kWordBytes = 4;

}  // namespace

WorkspaceCheck::WorkspaceCheck(DevicePtr base, std::int64_t bytes, std::uint64_t blocks)
    : base_(base),
      bytes_(static_cast<std::uint64_t>(bytes)),
      blocks_(blocks),
      words_((bytes_ + kWordBytes - 1) / kWordBytes),
      clocks_(blocks) {}

WorkspaceCheck::Clock& WorkspaceCheck::clock(std::uint64_t block) {
  Clock& one = clocks_[block];
  if (one.empty()) {
    one.resize(blocks_);
    one[block] = 1;
  }
  return one;
}

WorkspaceCheck::Moment WorkspaceCheck::now(std::uint64_t block) {
  return {static_cast<std::uint32_t>(block), clock(block)[block]};
}

/// Whether the block knows of it.
bool WorkspaceCheck::before(const Moment& moment, std::uint64_t block) {
  return moment.at == 0 || moment.block == block || clock(block)[moment.block] >= moment.at;
}

void WorkspaceCheck::join(Clock& into, const Clock& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

void WorkspaceCheck::publish(std::uint64_t block, std::uint64_t word) {
  join(publications_[word], clock(block));
  ++clock(block)[block];
}

void WorkspaceCheck::take_over(std::uint64_t block, std::uint64_t word) {
  const auto found = publications_.find(word);
  if (found != publications_.end()) join(clock(block), found->second);
}

std::string WorkspaceCheck::load(std::uint64_t block, std::uint64_t address, unsigned bytes, bool strong) {
  const std::uint64_t first = (address - base_) / kWordBytes, last = (address - base_ + bytes - 1) / kWordBytes;
  for (std::uint64_t i = first; i <= last && i < words_.size(); ++i) {
    Word& word = words_[i];
    if (strong) take_over(block, i);
    if (!before(word.written, block) && !(strong && word.strong))
      return fmt::format("a write of block {}", word.written.block);
    if (strong) continue;
    const auto mine =
        std::find_if(word.reads.begin(), word.reads.end(), [&](const Moment& one) { return one.block == block; });
    if (mine == word.reads.end()) {
      word.reads.push_back(now(block));
    } else {
      *mine = now(block);
    }
  }
  return {};
}

std::string WorkspaceCheck::store(std::uint64_t block, std::uint64_t address, unsigned bytes, bool strong) {
  const std::uint64_t first = (address - base_) / kWordBytes, last = (address - base_ + bytes - 1) / kWordBytes;
  for (std::uint64_t i = first; i <= last && i < words_.size(); ++i) {
    Word& word = words_[i];
    if (!before(word.written, block) && !(strong && word.strong))
      return fmt::format("a write of block {}", word.written.block);
    for (const Moment& read : word.reads) {
      if (!before(read, block)) return fmt::format("a read of block {}", read.block);
    }
    word.written = now(block);
    word.strong = strong;
    word.reads.clear();
  }
  if (strong) {
    for (std::uint64_t i = first; i <= last && i < words_.size(); ++i) publish(block, i);
  }
  return {};
}

void WorkspaceCheck::atomic(std::uint64_t block, std::uint64_t address) {
  const std::uint64_t word = (address - base_) / kWordBytes;
  take_over(block, word);
  publish(block, word);
}

}  // namespace softmax_dispatch::sim
