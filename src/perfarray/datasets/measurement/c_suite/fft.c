/* In-place radix-2 fast Fourier transform of 2^14 complex numbers, forward. */
#include "suite.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 14 };
static double *real, *imaginary, *real_input, *imaginary_input, *cosine, *sine;

static void prepare(void) {
    uint64_t state = 1;
    real = malloc(N * sizeof *real);
    imaginary = malloc(N * sizeof *imaginary);
    real_input = malloc(N * sizeof *real_input);
    imaginary_input = malloc(N * sizeof *imaginary_input);
    cosine = malloc(N / 2 * sizeof *cosine);
    sine = malloc(N / 2 * sizeof *sine);
    for (size_t i = 0; i < N; i++) {
        real_input[i] = (double)(next_random(&state) >> 11) / 9007199254740992.0;
        imaginary_input[i] = 0.0;
    }
    for (size_t i = 0; i < N / 2; i++) {
        double angle = -2.0 * 3.14159265358979323846 * (double)i / N;
        cosine[i] = cos(angle);
        sine[i] = sin(angle);
    }
}

static void transform(double *re, double *im) {
    for (size_t i = 1, j = 0; i < N; i++) {
        size_t bit = N >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) {
            double t = re[i]; re[i] = re[j]; re[j] = t;
            t = im[i]; im[i] = im[j]; im[j] = t;
        }
    }
    for (size_t length = 2; length <= N; length <<= 1) {
        size_t half = length >> 1, step = N / length;
        for (size_t start = 0; start < N; start += length) {
            for (size_t k = 0; k < half; k++) {
                double c = cosine[k * step], s = sine[k * step];
                double *ar = re + start + k, *ai = im + start + k;
                double xr = ar[half] * c - ai[half] * s, xi = ar[half] * s + ai[half] * c;
                ar[half] = *ar - xr; ai[half] = *ai - xi;
                *ar += xr; *ai += xi;
            }
        }
    }
}

static double run(void) {
    double sum = 0.0;
    for (int repeat = 0; repeat < 3; repeat++) {
        memcpy(real, real_input, N * sizeof *real);
        memcpy(imaginary, imaginary_input, N * sizeof *imaginary);
        transform(real, imaginary);
        sum += real[1] + imaginary[N / 3];
    }
    return sum;
}

const benchmark fft_benchmark = {"fft", prepare, run};
