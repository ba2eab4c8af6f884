#include "device/sim/model/physical_model.hpp"

#include <algorithm>
#include <cmath>

namespace softmax_dispatch::sim {
namespace {

constexpr double kSchedulers = 4;  ///< Of an SM.
constexpr double kLanes = 32, kSectorBytes = 32, kSectorsOfLine = 4;
/// How sharply a cache stops to hold what is used again: the share that it holds is 1 / (1 + (used / capacity)^4).
constexpr double kCacheSharpness = 4;

double missed(double used_bytes, double capacity_bytes) {
  return 1 / (1 + std::pow(capacity_bytes / std::max(used_bytes, 1.0), kCacheSharpness));
}

double norm(std::initializer_list<double> times, double sharpness) {
  const double most = *std::max_element(times.begin(), times.end());
  if (most <= 0) return 0;
  double sum = 0;
  for (const double one : times) sum += std::pow(one / most, sharpness);
  return most * std::pow(sum, 1 / sharpness);
}

/// A launch in figures of one SM: of the one with the most blocks.
class Evaluation {
 public:
  Evaluation(const ModelConstants& constants, const TimedLaunch& launch)
      : c_(constants), launch_(launch), counts_(launch.counts) {
    const DeviceInfo& device = launch.device;
    cycles_per_us_ = device.sm_clock_khz * 1e-3;
    grid_ = static_cast<double>(launch.geometry.grid);
    warps_of_block_ = std::ceil(launch.geometry.block / kLanes);
    sms_ = std::max(1, device.sm_count);
    resident_ = std::max(
        1, blocks_per_sm(device.limits, launch.geometry.block, launch.resources.registers, launch.shared_bytes));
    blocks_ = std::ceil(grid_ / sms_);
    share_ = blocks_ / grid_;
    input_bytes_ = launch.element_bytes * static_cast<double>(launch.M) * static_cast<double>(launch.N);
    find_residency();
  }

  ModelledTime time() const {
    const double start = us(c_.block_start_cycles * blocks_), issue = issue_us(), fp32 = fp32_us();
    const double special = pipe_us(kLanes / c_.special_function_lanes, OpClass::special_function);
    const double load_store = load_store_us(),
                 code = us(c_.code_warp_cycles * extra_code() * warps_of_block_ * blocks_);
    const double chain = chain_us(), barrier = us(c_.barrier_cycles * barriers_per_warp()) * waves();
    const double tail = (chain + barrier) * (std::ceil(waves()) / waves() - 1);
    const double fetch = us(c_.code_cycles * extra_code());
    const double dram = dram_bytes() / c_.dram_gb_per_s * 1e-3, l2 = l2_bytes() / c_.l2_gb_per_s * 1e-3;
    const double port = us(l2_bytes() * share_ / c_.sm_bytes_per_cycle);

    const double sm =
        norm({chain + barrier + tail + fetch, issue, fp32, special, load_store, code, start}, c_.sm_sharpness);
    const double memory = norm({dram, l2, port}, c_.sm_sharpness);
    ModelledTime made;
    made.terms = {{"dram", dram},          {"l2", l2},
                  {"l2_port", port},       {"issue", issue},
                  {"fp32", fp32},          {"special_function", special},
                  {"chain", chain},        {"barrier", barrier},
                  {"tail", tail},          {"load_store", load_store},
                  {"code", code + fetch},  {"block_start", start},
                  {"launch", c_.launch_us}};
    made.time_us = c_.launch_us + overlapped(sm, memory);
    made.bound = std::max_element(made.terms.begin(), made.terms.end(), [](const TimeTerm& a, const TimeTerm& b) {
                   return a.time_us < b.time_us;
                 })->name;
    return made;
  }

 private:
  double us(double cycles) const { return cycles / cycles_per_us_; }
  double count(OpClass op_class) const { return static_cast<double>(counts_.of(op_class)); }
  double waves() const { return std::max(1.0, grid_ / (sms_ * resident_)); }
  /// Schedulers that have a warp: a small block leaves some without.
  double schedulers() const { return std::min(kSchedulers, warps_of_block_ * std::min(resident_, blocks_)); }
  double barriers_per_warp() const { return count(OpClass::barrier) / (grid_ * warps_of_block_); }
  double extra_code() const { return std::max(0.0, counts_.code_slots - c_.code_slots); }

  /// Where data lies when it is read: for the first time by this launch, and again by the same block.
  void find_residency() {
    const double l2 = c_.l2_share * static_cast<double>(launch_.device.l2_bytes);
    first_in_dram_ = missed(static_cast<double>(launch_.bytes_between_uses), l2);
    const double rows_of_sm = std::min(resident_, blocks_) * counts_.live_bytes;
    rows_live_ = rows_of_sm * std::min(sms_, grid_);
    again_past_l1_ = missed(rows_of_sm, c_.l1_bytes);
    // What is written passes through L2 as well.
    again_in_dram_ = missed(2 * rows_live_, l2);
    again_bytes_ = std::max(0.0, static_cast<double>(counts_.bytes_load) - input_bytes_);
  }

  double issue_us() const {
    const double slots = counts_.issue_slots + c_.barrier_slots * count(OpClass::barrier);
    return us(slots * share_ / schedulers());
  }
  /// `rounds` of a pipe of the SM for each instruction of the class.
  double pipe_us(double rounds, OpClass op_class) const {
    return us(rounds * kSchedulers * count(op_class) * share_ / schedulers());
  }
  double fp32_us() const { return pipe_us(kLanes / c_.fp32_lanes, OpClass::fp32); }

  double load_store_us() const {
    const double lines = static_cast<double>(counts_.sectors_load + counts_.sectors_store) / kSectorsOfLine;
    const double exchanges = count(OpClass::shuffle) + count(OpClass::shared_load) + count(OpClass::shared_store);
    return us((c_.line_cycles * lines + c_.exchange_cycles * exchanges) * share_);
  }

  double chain_us() const {
    const double first = c_.l2_latency_cycles + first_in_dram_ * (c_.dram_latency_cycles - c_.l2_latency_cycles);
    const double past_l1 = c_.l2_latency_cycles + again_in_dram_ * (c_.dram_latency_cycles - c_.l2_latency_cycles);
    const double again = c_.l1_latency_cycles + again_past_l1_ * (past_l1 - c_.l1_latency_cycles);
    // A single wave ends with its slowest block.
    const BlockPath& path = waves() > 1 ? counts_.path : counts_.longest_path;
    return us(c_.path_share * path.cycles + path.first_trips * first + path.again_trips * again) * waves();
  }

  /// A store sends its bytes and occupies its sectors: where it writes sectors in part, the mean of both.
  double l2_bytes() const {
    const double stored =
        (static_cast<double>(counts_.bytes_store) + kSectorBytes * static_cast<double>(counts_.sectors_store)) / 2;
    return input_bytes_ + again_past_l1_ * again_bytes_ + stored;
  }
  double dram_bytes() const {
    return 2 * input_bytes_ * first_in_dram_ + again_past_l1_ * again_in_dram_ * again_bytes_;
  }

  /// While one block waits for memory another computes. The first block of an SM has none before it, and the last none
  /// after it; a block that is alone on its SM never has one.
  double overlapped(double sm, double memory) const {
    const double generations = std::max(1.0, input_bytes_ / std::max(rows_live_, 1.0));
    const double alone = 1 / resident_ + (1 - 1 / resident_) / generations;
    const double less = std::min(sm, memory), more = std::max(sm, memory);
    return norm({more, (1 - alone) * less}, c_.memory_sharpness) + c_.alone_share * alone * less;
  }

  const ModelConstants& c_;
  const TimedLaunch& launch_;
  const LaunchCounts& counts_;
  double cycles_per_us_ = 0, grid_ = 0, warps_of_block_ = 0, sms_ = 0, resident_ = 0;
  double blocks_ = 0;  ///< Of the SM.
  double share_ = 0;   ///< Of the launch that the SM does.
  double input_bytes_ = 0, again_bytes_ = 0, rows_live_ = 0;
  double first_in_dram_ = 0, again_past_l1_ = 0, again_in_dram_ = 0;  ///< 0 .. 1
};

}  // namespace

PhysicalModel::PhysicalModel(const ModelConstants& constants) : constants_(constants) {
  costs_.memory = {constants.l1_latency_cycles, constants.l2_latency_cycles, constants.dram_latency_cycles};
}

ModelledTime PhysicalModel::launch(const TimedLaunch& launch) const {
  return Evaluation(constants_, launch).time();
}

double PhysicalModel::copy_us(const DeviceInfo& device, std::size_t bytes, std::int64_t bytes_between_uses) const {
  const ModelConstants& c = constants_;
  const double moved = 2 * static_cast<double>(bytes);
  const double in_dram =
      missed(static_cast<double>(bytes_between_uses), c.l2_share * static_cast<double>(device.l2_bytes));
  const double latency = c.l2_latency_cycles + in_dram * (c.dram_latency_cycles - c.l2_latency_cycles);
  return c.launch_us + latency / (device.sm_clock_khz * 1e-3) +
         norm({moved * in_dram / c.dram_gb_per_s * 1e-3, moved / c.l2_gb_per_s * 1e-3}, c.memory_sharpness);
}

}  // namespace softmax_dispatch::sim
