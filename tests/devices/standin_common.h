/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_STANDIN_COMMON_H
#define TW_TEST_STANDIN_COMMON_H

/* Log, injected failures and counts of a stand-in; included by each of them once. */

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

static pthread_mutex_t standin_lock = PTHREAD_MUTEX_INITIALIZER; /* held in every call */
static char standin_text[1 << 16];
static size_t standin_length;
static int standin_mistakes;
static struct {
    char function[64];
    int nth, code;
} standin_failures[8];

static __attribute__((format(printf, 1, 2))) void note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t room = sizeof standin_text - standin_length;
    int length = vsnprintf(standin_text + standin_length, room, format, args);
    if (length > 0 && (size_t)length < room) standin_length += (size_t)length;
    va_end(args);
}

/* Counts a mistake of the caller's; on stderr too, since the log may be full. */
#define WRONG(...)                                                                                                     \
    (standin_mistakes++, note("WRONG " __VA_ARGS__), note("\n"), fprintf(stderr, "WRONG " __VA_ARGS__),                \
     fprintf(stderr, "\n"))

static void standin_reset(void)
{
    pthread_mutex_lock(&standin_lock);
    standin_length = 0;
    standin_text[0] = 0;
    memset(standin_failures, 0, sizeof standin_failures);
    pthread_mutex_unlock(&standin_lock);
}

static void standin_fail(const char *function, int nth, int code)
{
    pthread_mutex_lock(&standin_lock);
    for (size_t i = 0; i < sizeof standin_failures / sizeof *standin_failures; i++) {
        if (standin_failures[i].nth > 0) continue;
        snprintf(standin_failures[i].function, sizeof standin_failures[i].function, "%s", function);
        standin_failures[i].nth = nth;
        standin_failures[i].code = code;
        break;
    }
    pthread_mutex_unlock(&standin_lock);
}

/* The code that this call shall fail with, or 0. */
static inline int injected(const char *function)
{
    for (size_t i = 0; i < sizeof standin_failures / sizeof *standin_failures; i++)
        if (standin_failures[i].nth > 0 && !strcmp(standin_failures[i].function, function) &&
            --standin_failures[i].nth == 0)
            return standin_failures[i].code;
    return 0;
}

static const char *standin_log(void)
{
    return standin_text;
}

static int standin_wrong(void)
{
    return standin_mistakes;
}

/* STANDIN_FAIL="cuInit:100" fails the first call of a function in a process whose test can't ask. */
static __attribute__((constructor)) void standin_begin(void)
{
    const char *given = getenv("STANDIN_FAIL"), *colon = given ? strchr(given, ':') : NULL;
    char function[64];
    if (!colon) return;
    snprintf(function, sizeof function, "%.*s", (int)(colon - given), given);
    standin_fail(function, 1, atoi(colon + 1));
}

#endif
