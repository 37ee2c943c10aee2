/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_SUGGEST_H
#define TW_CLI_SUGGEST_H

#include <stddef.h>

/* The nearest of several words to one that isn't among them: offer each, then look at `best`. */
typedef struct cli_suggestion {
    const char *wanted;
    const char *best; /* NULL = nothing near enough to be meant */
    size_t distance;
} cli_suggestion;

void cli_suggestion_init(cli_suggestion *suggestion, const char *wanted);
/* word must live as long as `best` is used. */
void cli_suggestion_offer(cli_suggestion *suggestion, const char *word);

#endif
