/* The C interface, for any language with a foreign-function interface. */
#include <cuda_runtime_api.h>
#include <softmax_dispatch/c_api.h>
#include <stdio.h>

int main(void) {
  const int64_t M = 2, N = 4;
  const float host[8] = {1, 2, 3, 4, 0, 0, 0, 0};
  float result[8];
  void* x = NULL;
  if (cudaMalloc(&x, sizeof host) != cudaSuccess) {
    fprintf(stderr, "no device memory: is there a GPU?\n");
    return 1;
  }
  cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);

  /* In place: y may be x. */
  if (smd_dispatch(x, x, M, N, SMD_F32, NULL) != SMD_OK) {
    fprintf(stderr, "softmax_dispatch %s: %s\n", smd_version(), smd_last_error());
    return 1;
  }
  cudaMemcpy(result, x, sizeof result, cudaMemcpyDeviceToHost);
  printf("%.4f %.4f %.4f %.4f\n", (double)result[0], (double)result[1], (double)result[2], (double)result[3]);
  printf("%.4f %.4f %.4f %.4f\n", (double)result[4], (double)result[5], (double)result[6], (double)result[7]);
  cudaFree(x);
  return 0;
}
