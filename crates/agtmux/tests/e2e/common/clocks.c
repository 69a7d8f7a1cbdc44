/* Moves the clocks of a process, by as many nanoseconds as two numbers in a file say: the wall clock, and the one that stands still
 * during a suspend. The boot clock is left alone: agtmux asks the kernel for it, not the C library. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *moved;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("MOVED_CLOCKS");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *map = file >= 0 ? mmap(NULL, 16, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
    moved = map == MAP_FAILED ? NULL : map;
    if (file >= 0) close(file);
}

int clock_gettime(clockid_t id, struct timespec *now) {
    int failed = (int)syscall(SYS_clock_gettime, id, now);
    if (failed || !moved || (id != CLOCK_REALTIME && id != CLOCK_MONOTONIC)) return failed;
    int64_t ns = now->tv_sec * INT64_C(1000000000) + now->tv_nsec + moved[id == CLOCK_MONOTONIC];
    now->tv_sec = ns / INT64_C(1000000000);
    now->tv_nsec = ns % INT64_C(1000000000);
    return 0;
}
