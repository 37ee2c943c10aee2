/* SPDX-License-Identifier: Apache-2.0 */
/* Edit distance with transpositions of neighbours counted as one, since that is the commonest slip. Words here are
 * short; longer ones are never near anything. */
#include "cli/suggest.h"

#include <string.h>

enum { LONGEST = 40 };

static size_t least(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

static size_t distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t rows[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= a_size; i++) rows[i][0] = i;
    for (size_t j = 0; j <= b_size; j++) rows[0][j] = j;
    for (size_t i = 1; i <= a_size; i++)
        for (size_t j = 1; j <= b_size; j++) {
            size_t changed = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            rows[i][j] = least(rows[i - 1][j] + 1, rows[i][j - 1] + 1, changed);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && rows[i - 2][j - 2] + 1 < rows[i][j])
                rows[i][j] = rows[i - 2][j - 2] + 1;
        }
    return rows[a_size][b_size];
}

void cli_suggestion_init(cli_suggestion *suggestion, const char *wanted)
{
    *suggestion = (cli_suggestion){.wanted = wanted, .distance = LONGEST};
}

void cli_suggestion_offer(cli_suggestion *suggestion, const char *word)
{
    size_t wanted_size = strlen(suggestion->wanted), word_size = strlen(word);
    if (!wanted_size || wanted_size > LONGEST || word_size > LONGEST) return;
    size_t d = distance(suggestion->wanted, wanted_size, word, word_size);
    size_t enough = 1 + word_size / 4;
    /* A word cut short is meant too: "--max-mem", "val". */
    if (wanted_size >= 3 && !strncmp(suggestion->wanted, word, wanted_size)) d = 1;
    /* The word itself is no other, and of one where every letter is changed nothing is left. */
    if (d == 0 || d >= word_size || d > enough || d >= suggestion->distance) return;
    suggestion->distance = d;
    suggestion->best = word;
}
