/* One benchmark: prepare once per process, then run once per iteration.
   Every run returns a checksum, so that no compiler can drop the work. */
#ifndef SUITE_H
#define SUITE_H
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char *name;
    void (*prepare)(void);
    double (*run)(void);
} benchmark;

extern const benchmark fft_benchmark, hash_table_benchmark, matrix_product_benchmark, string_search_benchmark,
    sort_benchmark;

/* A small fixed generator (xorshift64*): the same input in every process. */
static inline uint64_t next_random(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}
#endif
