/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_MESSAGE_H
#define TW_CLI_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>

#include "tensorwasm/status.h"

/* What the program says about itself. All of it goes to stderr but the JSON form, which is the command's output. */

/* "tensor-wasm: message", one line. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A mistake in the command line: the message and where to look; gives CLI_EXIT_USAGE. command may be NULL. */
int cli_usage_error(bool json, const char *command, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A failure that the library told, about `subject` (a module, a file; NULL = none). Gives CLI_EXIT_FAILURE. */
int cli_failure(bool json, const char *subject, const tw_error *error);

/* {"status", "function", "offset", "message"}; a place that the error doesn't have is null. A new reference. */
json_t *cli_json_error(const tw_error *error);
/* A JSON string of text that may be anything. A new reference; NULL when out of memory. */
json_t *cli_json_text(const char *text);
/* Prints root and gives the reference back. NULL says "out of memory". */
void cli_print_json(json_t *root);

#endif
