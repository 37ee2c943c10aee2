/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DISPATCH_OVERLAP_H
#define TW_DISPATCH_OVERLAP_H

/* Can a sum of bounded integers times coefficients come to lie in an interval? Two accesses touch a common byte when the
 * difference of their addresses lies in (-width, width), and that difference is such a sum over loop counters. */

#include <stdbool.h>
#include <stdint.h>

enum { TW_OVERLAP_TERMS = 32 };

typedef struct tw_overlap_term { /* coef · x, low ≤ x ≤ high, low ≤ 0 ≤ high; nonzero: but not x = 0 */
    __int128 coef;
    int64_t low, high;
    bool nonzero;
} tw_overlap_term;

typedef struct tw_overlap {
    __int128 start;         /* start + Σ coef · x … */
    int64_t least, most;    /* … lies in [least, most]? */
    tw_overlap_term terms[TW_OVERLAP_TERMS];
    uint32_t count;
} tw_overlap;

/* False: never. True: for some x, or it would have taken more than *budget steps to tell, or numbers too large. What was
 * used is taken off *budget. Rearranges the terms. */
bool tw_overlap_possible(tw_overlap *overlap, uint32_t *budget);

#endif
