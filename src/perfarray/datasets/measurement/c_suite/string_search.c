/* Boyer-Moore-Horspool search for eight patterns in 400 kB of text over a four-letter alphabet. */
#include "suite.h"
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 400000, PATTERN = 12, PATTERNS = 8 };
static unsigned char *text, patterns[PATTERNS][PATTERN];

static void prepare(void) {
    uint64_t state = 4;
    text = malloc(LENGTH);
    for (size_t i = 0; i < LENGTH; i++) text[i] = (unsigned char)"acgt"[next_random(&state) >> 62];
    for (size_t p = 0; p < PATTERNS; p++) memcpy(patterns[p], text + next_random(&state) % (LENGTH - PATTERN), PATTERN);
}

static size_t occurrences(const unsigned char *pattern) {
    size_t skip[256], count = 0;
    for (size_t i = 0; i < 256; i++) skip[i] = PATTERN;
    for (size_t i = 0; i + 1 < PATTERN; i++) skip[pattern[i]] = PATTERN - 1 - i;
    for (size_t i = 0; i + PATTERN <= LENGTH; i += skip[text[i + PATTERN - 1]]) {
        size_t j = PATTERN;
        while (j && text[i + j - 1] == pattern[j - 1]) j--;
        count += j == 0;
    }
    return count;
}

static double run(void) {
    size_t count = 0;
    for (size_t p = 0; p < PATTERNS; p++) count += occurrences(patterns[p]);
    return (double)count;
}

const benchmark string_search_benchmark = {"string_search", prepare, run};
