/* Open-addressing hash table: insert 20,000 keys, look 60,000 up (a third of them absent), into 64 Ki slots. */
#include "suite.h"
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 16, KEYS = 20000, LOOKUPS = 60000 };
static uint64_t *slots, *keys, *lookups;

static void prepare(void) {
    uint64_t state = 2;
    slots = malloc(SLOTS * sizeof *slots);
    keys = malloc(KEYS * sizeof *keys);
    lookups = malloc(LOOKUPS * sizeof *lookups);
    for (size_t i = 0; i < KEYS; i++) keys[i] = next_random(&state) | 1;
    for (size_t i = 0; i < LOOKUPS; i++) lookups[i] = i % 3 ? keys[next_random(&state) % KEYS] : (next_random(&state) | 1);
}

static size_t slot_of(uint64_t key) { return (size_t)((key * UINT64_C(11400714819323198485)) >> 48); }

static double run(void) {
    uint64_t found = 0;
    memset(slots, 0, SLOTS * sizeof *slots);
    for (size_t i = 0; i < KEYS; i++) {
        size_t s = slot_of(keys[i]);
        while (slots[s] && slots[s] != keys[i]) s = (s + 1) & (SLOTS - 1);
        slots[s] = keys[i];
    }
    for (size_t i = 0; i < LOOKUPS; i++) {
        size_t s = slot_of(lookups[i]);
        while (slots[s] && slots[s] != lookups[i]) s = (s + 1) & (SLOTS - 1);
        found += slots[s] != 0;
    }
    return (double)found;
}

const benchmark hash_table_benchmark = {"hash_table", prepare, run};
