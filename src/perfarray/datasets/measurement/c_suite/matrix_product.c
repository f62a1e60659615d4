/* Product of two 120 x 120 matrices of doubles, the plain three loops in i, k, j order. */
#include "suite.h"
#include <stdlib.h>
#include <string.h>

enum { N = 120 };
static double *a, *b, *c;

static void prepare(void) {
    uint64_t state = 3;
    a = malloc(N * N * sizeof *a);
    b = malloc(N * N * sizeof *b);
    c = malloc(N * N * sizeof *c);
    for (size_t i = 0; i < N * N; i++) {
        a[i] = (double)(next_random(&state) >> 40);
        b[i] = (double)(next_random(&state) >> 40);
    }
}

static double run(void) {
    memset(c, 0, N * N * sizeof *c);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < N; k++) {
            double x = a[i * N + k];
            for (size_t j = 0; j < N; j++) c[i * N + j] += x * b[k * N + j];
        }
    return c[N + 7];
}

const benchmark matrix_product_benchmark = {"matrix_product", prepare, run};
