/* Quicksort (median of three, insertion sort below 16) of 20,000 integers in random order. */
#include "suite.h"
#include <stdlib.h>
#include <string.h>

enum { N = 20000 };
static uint32_t *input, *values;

static void prepare(void) {
    uint64_t state = 5;
    input = malloc(N * sizeof *input);
    values = malloc(N * sizeof *values);
    for (size_t i = 0; i < N; i++) input[i] = (uint32_t)(next_random(&state) >> 32);
}

static void swap(uint32_t *x, uint32_t *y) { uint32_t t = *x; *x = *y; *y = t; }

static void quicksort(uint32_t *v, ptrdiff_t low, ptrdiff_t high) {
    while (high - low > 16) {
        ptrdiff_t middle = low + (high - low) / 2, i = low, j = high;
        if (v[middle] < v[low]) swap(v + middle, v + low);
        if (v[high] < v[low]) swap(v + high, v + low);
        if (v[high] < v[middle]) swap(v + high, v + middle);
        uint32_t pivot = v[middle];
        while (i <= j) {
            while (v[i] < pivot) i++;
            while (pivot < v[j]) j--;
            if (i <= j) swap(v + i++, v + j--);
        }
        if (j - low < high - i) { quicksort(v, low, j); low = i; }
        else { quicksort(v, i, high); high = j; }
    }
    for (ptrdiff_t i = low + 1; i <= high; i++) {
        uint32_t x = v[i];
        ptrdiff_t j = i;
        while (j > low && x < v[j - 1]) { v[j] = v[j - 1]; j--; }
        v[j] = x;
    }
}

static double run(void) {
    memcpy(values, input, N * sizeof *values);
    quicksort(values, 0, N - 1);
    return (double)values[N / 2];
}

const benchmark sort_benchmark = {"sort", prepare, run};
