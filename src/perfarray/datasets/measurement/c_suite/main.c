/* suite BENCHMARK ITERATIONS: one process = one execution; prints the seconds of each iteration, a line each. */
#define _POSIX_C_SOURCE 199309L
#include "suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    const benchmark *all[] = {&fft_benchmark, &hash_table_benchmark, &matrix_product_benchmark,
                              &string_search_benchmark, &sort_benchmark};
    if (argc != 3) return 2;
    int iterations = atoi(argv[2]);
    double *seconds = malloc((size_t)iterations * sizeof *seconds), checksum = 0.0;
    for (size_t b = 0; b < sizeof all / sizeof *all; b++) {
        if (strcmp(all[b]->name, argv[1])) continue;
        all[b]->prepare();
        for (int i = 0; i < iterations; i++) {
            double start = now();
            checksum += all[b]->run();
            seconds[i] = now() - start;
        }
        for (int i = 0; i < iterations; i++) printf("%.9f\n", seconds[i]);
        fprintf(stderr, "%g\n", checksum);
        return 0;
    }
    return 2;
}
