#include "gpu/planted/mutations.hpp"

#include <algorithm>
#include <set>

#include "gpu/planted/traps.hpp"
#include "support/error.hpp"

namespace softmax_dispatch::planted {
namespace {

// A circumstance: every warp but the first is late where it reads a result from shared memory.
constexpr Edit kLateTree{"const float result = shared[0];",
                         SOFTMAX_DISPATCH_LATE_WARPS "const float result = shared[0];"};
constexpr Edit kLateMerge{"s.m = shared.m[0];\n", SOFTMAX_DISPATCH_LATE_WARPS "s.m = shared.m[0];\n"};
constexpr Edit kLateCopies{"Row run(x, y,", SOFTMAX_DISPATCH_LATE_WARPS "Row run(x, y,"};

// Another circumstance: a merge that takes a state with the row's maximum as it is. Then nothing but finish() turns a
// row with +inf into NaN.
constexpr Edit kExactMerge{
    "r.d = a.d * expf(a.m - r.m) + b.d * expf(b.m - r.m);",
    "r.d = (a.m == r.m ? a.d : a.d * expf(a.m - r.m)) + (b.m == r.m ? b.d : b.d * expf(b.m - r.m));"};
constexpr Edit kExactRescale{"block_reduce<SumOp>(s.d * expf(s.m - m), sums)",
                             "block_reduce<SumOp>(s.m == m ? s.d : s.d * expf(s.m - m), sums)"};

std::vector<Trap> shared_memory_traps() {
  return {
      {"result_of_another_thread",
       {"v1 THREADS=64"},
       {{"= shared[0];", "= shared[threadIdx.x];"}},
       Effect::fails,
       kWrong},
      {"late_warps", {"v1 THREADS=64"}, {kLateTree}, Effect::passes, ""},
      {"no_barrier_between_phases",
       {"v1 THREADS=64"},
       {{"const float result = shared[0];\n  __syncthreads();", "const float result = shared[0];"}, kLateTree},
       Effect::fails,
       kWrong},
      {"late_warps", {"v9 GRID=3 THREADS=64 VEC_ITEMS=2"}, {kLateMerge}, Effect::passes, ""},
      {"no_barrier_between_rows",
       {"v9 GRID=3 THREADS=64 VEC_ITEMS=2"},
       {{"__syncthreads();  // every thread has read the row's state", "//"}, kLateMerge},
       Effect::fails,
       kWrong},
      {"entries_of_no_warp_read",
       {"v2 THREADS=64"},
       {{"lane_id() < kWarps ? shared[lane_id()] : Op::kIdentity", "shared[lane_id()]"}},
       Effect::fails,
       kWrong},
      {"entries_of_no_warp_read",
       {"v5 THREADS=64"},
       {{"if (lane_id() < kWarps) {", "if (true) {"}},
       Effect::fails,
       kWrong},
  };
}

std::vector<Trap> special_value_traps() {
  return {
      {"empty_state_at_minus_inf",
       {"v4 THREADS=64", "v4_branchy THREADS=64", "v4_opt THREADS=64", "v5 THREADS=64", "v6 THREADS=64 VEC_ITEMS=2",
        "v6_double THREADS=64 VEC_ITEMS=2", "v6_fetch THREADS=64 VEC_ITEMS=2", "v7 THREADS=64 VEC_ITEMS=2",
        "v8 THREADS=64", "v9 GRID=3 THREADS=64 VEC_ITEMS=2", "v10 THREADS=64 VEC_ITEMS=2"},
       {{"struct State {\n  float m = -kFloatMax;", "struct State {\n  float m = -__int_as_float(0x7f800000);"}},
       Effect::fails,
       kGotNan},
      {"empty_state_at_minus_inf",
       {"unbounded THREADS=64"},
       {{"float m = -kFloatMax;\n  float d = 0.0f;\n  float error",
         "float m = -__int_as_float(0x7f800000);\n  float d = 0.0f;\n  float error"}},
       Effect::fails,
       kGotNan},
      {"exact_merge", {"v5 THREADS=64", "v8 THREADS=64"}, {kExactMerge}, Effect::passes, ""},
      {"exact_merge_of_plus_inf",
       {"v5 THREADS=64", "v8 THREADS=64"},
       {kExactMerge, {"s.d += s.m - s.m;", ""}},
       Effect::fails,
       kExpectedNan},
      {"exact_rescale", {"v4_opt THREADS=64"}, {kExactRescale}, Effect::passes, ""},
      {"exact_rescale_of_plus_inf",
       {"v4_opt THREADS=64"},
       {kExactRescale, {"s.d += s.m - s.m;", ""}},
       Effect::fails,
       kExpectedNan},
  };
}

std::vector<Trap> vector_traps() {
  const std::vector<std::string_view> both_scans{"v6_double THREADS=64 VEC_ITEMS=2", "v6_fetch THREADS=64 VEC_ITEMS=2",
                                                 "v7 THREADS=64 VEC_ITEMS=2", "v9 GRID=3 THREADS=64 VEC_ITEMS=2",
                                                 "v10 THREADS=64 VEC_ITEMS=2"};
  const std::string_view guard = "is_vector_aligned(in) && is_vector_aligned(out)";
  return {
      {"rows_taken_for_aligned",
       {"v6 THREADS=64 VEC_ITEMS=2"},
       {{"is_vector_aligned(in) ?", "true ?"}},
       Effect::fails,
       kMisaligned},
      {"rows_taken_for_aligned", both_scans, {{guard, "true"}}, Effect::fails, kMisaligned},
      {"output_taken_for_aligned", both_scans, {{guard, "is_vector_aligned(in)"}}, Effect::fails, kMisaligned},
      {"output_taken_for_aligned",
       {"unbounded THREADS=64"},
       {{"if ((reinterpret_cast<unsigned long long>(body_out) & 15) == 0) {", "if (true) {"}},
       Effect::fails,
       kMisaligned},
      {"tid_times_four",
       {"v6_double THREADS=64 VEC_ITEMS=2"},
       {{"reinterpret_cast<const float4*>(row)[k]", "reinterpret_cast<const float4*>(row)[4 * k]"}},
       Effect::fails,
       "got|ILLEGAL_ADDRESS"},
      {"scalars_counted_as_vectors",
       {"v6_double THREADS=64 VEC_ITEMS=4"},
       {{"i < ITEMS;", "i < ITEMS / 4;"}},
       Effect::fails,
       kWrong},
      {"tail_forgotten",
       {"v6 THREADS=64 VEC_ITEMS=2", "v7 THREADS=64 VEC_ITEMS=2"},
       {{"if (i < n) f(i);", ""}},
       Effect::fails,
       kWrong},
      {"not_unrolled",
       {"v3 ITEMS=16 THREADS=256", "v7 THREADS=256 VEC_ITEMS=4", "v10 THREADS=256 VEC_ITEMS=4"},
       {{"#pragma unroll\n", "#pragma unroll 1\n"}},
       Effect::local_memory,
       ""},
  };
}

std::vector<Trap> row_traps() {
  return {
      {"rows_out_of_range",
       {"v8 THREADS=128", "v10 THREADS=128 VEC_ITEMS=2"},
       {{"if (row >= M) return;", ""}},
       Effect::fails,
       kPastTheEnd},
      {"merged_across_warps",
       {"v8 THREADS=128"},
       {{"s = warp_merge_broadcast(s);", "__shared__ SharedStates shared;\n  s = block_merge(s, shared);"}},
       Effect::fails,
       kWrong},
      {"first_round_alone",
       {"v9 GRID=3 THREADS=64 VEC_ITEMS=2"},
       {{"row += gridDim.x", "row += M"}},
       Effect::fails,
       kNotWritten},
      {"sum_not_compensated", {"unbounded THREADS=32"}, {{"s.d = d + error;", "s.d = d;"}}, Effect::fails, kDrift},
  };
}

/// Of the kernel that takes rows as one run of vectors.
std::vector<Trap> tile_traps() {
  const std::string_view tile = "tile ITEMS=10 LANES=8 STREAM=0 THREADS=64 TILE_ROWS=11";
  const std::string_view tile_f16 = "tile f16 ITEMS=10 LANES=8 STREAM=1 THREADS=64 TILE_ROWS=11";
  const std::string_view of_lanes = "tile ITEMS=6 LANES=1 STREAM=0 THREADS=64 TILE_ROWS=150";
  const std::string_view of_lanes_bf16 = "tile bf16 ITEMS=6 LANES=1 STREAM=1 THREADS=64 TILE_ROWS=150";
  return {
      {"neighbours_not_masked",
       {tile, tile_f16},
       {{" && position(i) + kPerWord <= end", ""}},
       Effect::fails,
       "got|sums to|uninitialised|out of bounds|ILLEGAL_ADDRESS"},
      {"shorter_rows_taken_for_whole",
       {of_lanes, of_lanes_bf16},
       {{"return WHOLE || i < n;", "return true;"}},
       Effect::fails,
       "got|sums to|race|uninitialised|out of bounds|past the end"},
      {"elements_of_a_lane_not_stored",
       {of_lanes, of_lanes_bf16},
       {{"if (holds(i)) first[i] = Type::store(v[i]);", "if (holds(i) && i > 0) first[i] = Type::store(v[i]);"}},
       Effect::fails,
       "got|sums to"},
      {"last_rows_of_a_tile_not_computed",
       {of_lanes},
       {{"row / kGroups * kGroups < TILE_ROWS", "row / kGroups * kGroups + kGroups < TILE_ROWS"}},
       Effect::fails,
       "got|sums to"},
      {"neighbours_overwritten",
       {tile},
       {{"if (same_skew && whole(at)) {", "if (same_skew) {"}},
       Effect::fails,
       kNeighbours},
      {"output_vectors_taken_for_aligned",
       {tile},
       {{"if (same_skew && whole(at)) {", "if (whole(at)) {"}},
       Effect::fails,
       kMisaligned},
      {"rows_past_the_end_computed",
       {tile},
       {{"left > 0 ? static_cast<int>(N) * within : 0", "static_cast<int>(N) * (within > 0 ? within : 1)"},
        {"left >= rows ? rows : static_cast<int>(left)", "true ? rows : 0"}},
       Effect::fails,
       "past the end|out of bounds"},
      {"late_copies", {tile}, {kLateCopies}, Effect::passes, ""},
      {"no_barrier_after_copies",
       {tile},
       {{"wait_for_copies();\n  __syncthreads();", "wait_for_copies();"}, kLateCopies},
       Effect::fails,
       kRace},
  };
}

/// The kernel's text with its headers in place: edits reach both.
std::string flattened(const jit::Sources& sources, std::string_view id) {
  std::set<std::string, std::less<>> included;
  std::string text = sources.text(id);
  constexpr std::string_view kInclude = "#include \"";
  for (std::size_t at; (at = text.find(kInclude)) != std::string::npos;) {
    const std::size_t name_begin = at + kInclude.size();
    const std::size_t name_end = text.find('"', name_begin);
    const std::string name = text.substr(name_begin, name_end - name_begin);
    std::string header;
    for (const jit::Header& candidate : sources.headers()) {
      if (candidate.name == name && included.insert(name).second) header = candidate.text;
    }
    text.replace(at, name_end + 1 - at, header);
  }
  constexpr std::string_view kOnce = "#pragma once";
  for (std::size_t at; (at = text.find(kOnce)) != std::string::npos;) text.erase(at, kOnce.size());
  return text;
}

}  // namespace

const std::vector<Mutation>& mutations() {
  static const std::vector<Mutation> all = [] {
    std::vector<Mutation> made;
    for (const auto& traps : {shared_memory_traps(), special_value_traps(), vector_traps(), row_traps(), tile_traps(),
                              lanes_traps(), held_row_traps(), part_traps()}) {
      for (const Trap& trap : traps) {
        for (const std::string_view text : trap.configs) {
          Config config = parse_config(text);
          const std::string type = config.dtype == DType::f32 ? "" : fmt::format("_{}", to_string(config.dtype));
          std::string name = fmt::format("{}{}_{}", config.variant, type, trap.name);
          made.push_back({std::move(name), std::move(config), trap.edits, trap.effect, trap.words});
        }
      }
    }
    return made;
  }();
  return all;
}

const Mutation& mutation(std::string_view name) {
  const auto found =
      std::find_if(mutations().begin(), mutations().end(), [&](const Mutation& m) { return m.name == name; });
  if (found == mutations().end()) throw_error(StatusCode::invalid_argument, "there is no mutation '{}'", name);
  return *found;
}

jit::Sources mutated(const Mutation& mutation) {
  std::string text = flattened(jit::Sources::product(), mutation.config.variant);
  for (const Edit& edit : mutation.edits) {
    std::size_t at = text.find(edit.from);
    if (at == std::string::npos) {
      throw_error(StatusCode::internal, "mutation {}: the kernel no longer has the text '{}'", mutation.name,
                  edit.from);
    }
    for (; at != std::string::npos; at = text.find(edit.from, at + edit.to.size())) {
      text.replace(at, edit.from.size(), edit.to);
    }
  }
  jit::Sources sources = jit::Sources::product();
  sources.add(mutation.config.variant, std::move(text));
  return sources;
}

}  // namespace softmax_dispatch::planted
