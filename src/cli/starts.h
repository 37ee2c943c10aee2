/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_STARTS_H
#define TW_CLI_STARTS_H

/* Many starts of one guest, by one thread or several, with the time that each part took:
 *
 *     start   an instance is made, or taken from the pool; its start function and _initialize run
 *     call    each call of the function
 *     end     the instance is freed, or given back to the pool, which resets it
 *
 * Each thread warms up first, for a while and one start at least, which isn't counted. The first guest that fails ends it all. */

#include <stdbool.h>
#include <stdint.h>

#include "cli/invoke.h"
#include "cli/latency.h"
#include "tensorwasm/tensorwasm.h"

typedef enum cli_part { CLI_PART_START, CLI_PART_CALL, CLI_PART_END, CLI_PARTS } cli_part;

typedef struct cli_starts_options {
    tw_module *module;
    tw_instance_pool *pool;            /* NULL: each instance is a new one */
    const tw_spawn_options *spawn;     /* of those */
    const cli_invocation *invocation;  /* name NULL: nothing is called */
    uint64_t most;                     /* starts of all threads together; 0 = no limit */
    uint64_t duration_ns;              /* 0 = no limit; of the two there is one at least */
    uint64_t warm_up_ns;
    uint32_t calls;                    /* in each instance */
    uint32_t threads;
    size_t stack;                      /* bytes of each thread's */
    /* Called now and then while it goes on, on the calling thread; NULL = nobody wants to know. */
    void (*progress)(void *context, uint64_t starts, uint64_t ns);
    void *context;
} cli_starts_options;

typedef struct cli_starts {
    uint64_t starts, calls, exits; /* exits: guests that left through exit code 0 */
    uint64_t wall_ns;              /* the counted part */
    uint64_t cpu_ns;               /* of the process meanwhile */
    bool interrupted;              /* SIGINT or SIGTERM came */
    bool given_up;                 /* … and some thread didn't end: the process should, without freeing anything that it uses */
    tw_status status;              /* of the guest that failed; TW_OK = none */
    int32_t exit_code;             /* TW_EXIT */
    tw_error error;
    cli_latency parts[CLI_PARTS];
} cli_starts;

/* TW_NO_MEMORY, or TW_IO where a thread can't be started; else *out says what came of it. While it runs, SIGINT and SIGTERM end it;
 * a second one ends the process. One at a time. */
tw_status cli_starts_run(const cli_starts_options *options, cli_starts *out, tw_error *error);

#endif
