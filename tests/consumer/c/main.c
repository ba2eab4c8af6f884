/* The C interface: versions, errors, and prewarm() on the device. `consumer_c --expect-no-device` succeeds on a machine
 * without a GPU, and only there, if prewarm() says that there is no device. `consumer_c --host-memory` computes on a
 * simulated GPU. */
#include <softmax_dispatch/c_api.h>
#include <softmax_dispatch/version.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect(int condition, const char* what) {
  if (!condition) {
    printf("failed: %s (last error: %s)\n", what, smd_last_error());
    ++failures;
  }
}

static void in_host_memory(void) {
  const float x[8] = {1, 2, 3, 4, 0, 0, 0, 0};
  const float expected[8] = {0.0320586f, 0.0871443f, 0.2368828f, 0.6439143f, 0.25f, 0.25f, 0.25f, 0.25f};
  float y[8] = {0};
  int i;
  expect(smd_dispatch(x, y, 2, 4, SMD_F32, NULL) == SMD_OK, "dispatch");
  for (i = 0; i < 8; ++i) expect(y[i] > expected[i] - 1e-6f && y[i] < expected[i] + 1e-6f, "values");
  expect(smd_select_device("cuda") == SMD_INVALID_ARGUMENT, "a device is selected before the first dispatch");
}

int main(int argc, char** argv) {
  const int expect_no_device = argc > 1 && strcmp(argv[1], "--expect-no-device") == 0;
  const int host_memory = argc > 1 && strcmp(argv[1], "--host-memory") == 0;
  smd_status status;
  expect(strcmp(smd_version(), SOFTMAX_DISPATCH_VERSION) == 0, "header and library have one version");
  expect(strcmp(smd_last_error(), "") == 0, "no error yet");
  if (host_memory) expect(smd_select_device("sim:sm_75") == SMD_OK, "select the device");
  expect(smd_dispatch(NULL, NULL, 0, 257, SMD_F32, NULL) == SMD_OK, "nothing to do succeeds");
  expect(smd_dispatch(NULL, NULL, 1025, 257, SMD_F32, NULL) == SMD_INVALID_ARGUMENT, "null pointers are refused");
  expect(strstr(smd_last_error(), "f32:1025x257") != NULL, "the message names the problem");
  expect(smd_dispatch(NULL, NULL, 4, 4, SMD_BF16, NULL) == SMD_INVALID_ARGUMENT, "bf16 is served, null is refused");

  status = smd_prewarm(1025, 257, SMD_F32);
  expect(status == (expect_no_device ? SMD_NO_DEVICE : SMD_OK), "prewarm");
  printf("prewarm: %d %s\n", status, status == SMD_OK ? "" : smd_last_error());
  if (host_memory) in_host_memory();
  return failures == 0 ? 0 : 1;
}
