// The output of one group of four elements.
#pragma once

__device__ inline float4 normalize(float4 v, float m, float scale) {
  return make_float4(expf(v.x - m) * scale, expf(v.y - m) * scale, expf(v.z - m) * scale, expf(v.w - m) * scale);
}
