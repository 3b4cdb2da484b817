/* fake_gpu.c: a stand-in for the one function of libcuda.so.1, or of libamdhip64.so.6, that choir
 * asks.
 *
 * What lies in fake_gpu_device is device memory; so is what lies in fake_gpu_managed, but the host
 * may use it. */
char fake_gpu_device[1 << 16] __attribute__((aligned(4096)));
char fake_gpu_managed[1 << 16] __attribute__((aligned(4096)));
int fake_gpu_questions;

static int inside(const char* memory, unsigned long long pointer) {
  return pointer >= (unsigned long long)memory && pointer < (unsigned long long)memory + (1 << 16);
}

static int attributes(unsigned count, const int* wanted, void** values,
                      unsigned long long pointer) {
  const int managed = inside(fake_gpu_managed, pointer);
  ++fake_gpu_questions;
  for (unsigned i = 0; i < count; ++i) {
    if (wanted[i] == 2) *(unsigned*)values[i] = managed || inside(fake_gpu_device, pointer) ? 2 : 0;
    if (wanted[i] == 8) *(unsigned*)values[i] = (unsigned)managed;
  }
  return 0;
}

int cuPointerGetAttributes(unsigned count, int* wanted, void** values, unsigned long long pointer) {
  return attributes(count, wanted, values, pointer);
}

int hipDrvPointerGetAttributes(unsigned count, int* wanted, void** values,
                               unsigned long long pointer) {
  return attributes(count, wanted, values, pointer);
}
