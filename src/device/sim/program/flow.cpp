#include "device/sim/program/flow.hpp"

#include <algorithm>

namespace softmax_dispatch::sim {
namespace {

/// Post-dominators by the method of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm", 2001) on the
/// reversed graph, whose root is a node for the end of the kernel.
class PostDominators {
 public:
  explicit PostDominators(const Program& program) : end_(static_cast<std::uint32_t>(program.segments.size())) {
    after_.resize(end_ + 1);
    before_.resize(end_ + 1);
    for (std::uint32_t i = 0; i < end_; ++i) {
      std::vector<std::uint32_t> to = successors(program.segments[i]);
      if (to.empty()) to.push_back(end_);
      for (const std::uint32_t one : to) {
        after_[i].push_back(one);
        before_[one].push_back(i);
      }
    }
    number();
    solve();
  }

  /// kNoSegment where only the end post-dominates the segment, or where it never ends.
  std::uint32_t of(std::uint32_t segment) const {
    const std::uint32_t found = dominator_[segment];
    return found == end_ ? kNoSegment : found;
  }

 private:
  /// Postorder from the end, walking backwards, without recursion.
  void number() {
    order_of_.assign(end_ + 1, 0);
    std::vector<bool> seen(end_ + 1);
    std::vector<std::pair<std::uint32_t, std::size_t>> stack{{end_, 0}};
    seen[end_] = true;
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next < before_[node].size()) {
        const std::uint32_t child = before_[node][next++];
        if (!seen[child]) {
          seen[child] = true;
          stack.emplace_back(child, 0);
        }
      } else {
        order_of_[node] = static_cast<std::uint32_t>(postorder_.size());
        postorder_.push_back(node);
        stack.pop_back();
      }
    }
  }

  void solve() {
    dominator_.assign(end_ + 1, kNoSegment);
    dominator_[end_] = end_;
    for (bool changed = true; changed;) {
      changed = false;
      for (auto node = postorder_.rbegin() + 1; node != postorder_.rend(); ++node) {
        std::uint32_t found = kNoSegment;
        for (const std::uint32_t next : after_[*node]) {
          if (dominator_[next] == kNoSegment) continue;
          found = found == kNoSegment ? next : intersect(found, next);
        }
        if (found != dominator_[*node]) {
          dominator_[*node] = found;
          changed = true;
        }
      }
    }
  }

  std::uint32_t intersect(std::uint32_t a, std::uint32_t b) const {
    while (a != b) {
      while (order_of_[a] < order_of_[b]) a = dominator_[a];
      while (order_of_[b] < order_of_[a]) b = dominator_[b];
    }
    return a;
  }

  std::uint32_t end_;
  std::vector<std::vector<std::uint32_t>> after_, before_;
  std::vector<std::uint32_t> postorder_, order_of_, dominator_;
};

}  // namespace

std::vector<std::uint32_t> successors(const Segment& segment) {
  switch (segment.end.kind) {
    case TerminatorKind::next:
    case TerminatorKind::sync:
      return {segment.end.next};
    case TerminatorKind::branch:
      return {segment.end.target};
    case TerminatorKind::conditional:
      return {segment.end.target, segment.end.next};
    case TerminatorKind::finish:
    case TerminatorKind::trap:
      break;
  }
  return {};
}

void find_reconvergence(Program& program) {
  const PostDominators dominators(program);
  for (std::uint32_t i = 0; i < program.segments.size(); ++i) {
    Segment& segment = program.segments[i];
    if (segment.end.kind == TerminatorKind::conditional) segment.reconverge = dominators.of(i);
  }
}

}  // namespace softmax_dispatch::sim
