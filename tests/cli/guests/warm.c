/* SPDX-License-Identifier: Apache-2.0 */
/* A reactor with an expensive beginning: a sieve on the heap, a tree of words, a table of functions that init chooses. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(name)))

enum { LIMIT = 20000 };
static uint8_t *composite;
static int prime_count, calls;
static double sum;

typedef struct node {
    struct node *left, *right;
    uint32_t key;
} node;
static node *root;

static int twice(int x) { return 2 * x; }
static int square(int x) { return x * x; }
static int (*chosen[2])(int);

__attribute__((constructor)) static void begin(void) { calls = 1000; }

static void insert(uint32_t key)
{
    node **at = &root;
    while (*at) at = key < (*at)->key ? &(*at)->left : &(*at)->right;
    *at = calloc(1, sizeof **at);
    (*at)->key = key;
}

EXPORT("init") void init(void)
{
    composite = calloc(LIMIT, 1);
    for (int i = 2; i < LIMIT; i++) {
        if (composite[i]) continue;
        prime_count++;
        for (int k = 2 * i; k < LIMIT; k += i) composite[k] = 1;
    }
    for (uint32_t i = 1, key = 1; i < 3000; i++, key = key * 1664525 + 1013904223) insert(key >> 8);
    chosen[0] = twice;
    chosen[1] = square;
}

EXPORT("primes") int primes(void) { return prime_count; }

/* Every call changes what the next one finds. */
EXPORT("step") int step(int x)
{
    calls++;
    insert((uint32_t)x * 2654435761u);
    sum += x / 3.0;
    if (calls % 3 == 0) free(calloc(1, (size_t)x % 1000 + 1));
    return chosen[calls & 1](x) + !composite[(uint32_t)x % LIMIT];
}

EXPORT("depth") int depth(int x)
{
    int deep = 0;
    for (node *at = root; at; at = (uint32_t)x < at->key ? at->left : at->right) deep++;
    return deep + calls;
}

EXPORT("total") double total(void) { return sum; }
EXPORT("say") void say(int x)
{
    printf("%d of %d calls\n", x, calls);
    fflush(stdout);
}
