/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/message.h"

#include <stdarg.h>
#include <stdio.h>

#include "cli/command.h"

void cli_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs(CLI_PROGRAM ": ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

/* A place that the error doesn't have is null. */
static json_t *place(uint64_t value, uint64_t none)
{
    return value == none ? json_null() : json_integer((json_int_t)value);
}

/* File names and messages may be anything; JSON must be UTF-8. */
json_t *cli_json_text(const char *text)
{
    json_t *string = json_string(text);
    return string ? string : json_string("(not UTF-8)");
}

void cli_print_json(json_t *root)
{
    if (!root) {
        cli_say("out of memory");
        return;
    }
    json_dumpf(root, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    putchar('\n');
    json_decref(root);
}

static void print_json(const char *subject, const char *status, const tw_error *error)
{
    json_t *detail =
        json_pack("{s:s, s:o, s:o, s:o}", "status", status, "function", place(error->function, TW_NO_FUNCTION),
                  "offset", place(error->offset, TW_NO_OFFSET), "message", cli_json_text(error->message));
    cli_print_json(subject ? json_pack("{s:o, s:o}", "module", cli_json_text(subject), "error", detail)
                           : json_pack("{s:o}", "error", detail));
}

int cli_usage_error(bool json, const char *command, const char *format, ...)
{
    tw_error error = {.function = TW_NO_FUNCTION, .offset = TW_NO_OFFSET};
    va_list args;
    va_start(args, format);
    vsnprintf(error.message, sizeof error.message, format, args);
    va_end(args);
    if (json) {
        print_json(NULL, "usage", &error);
        return CLI_EXIT_USAGE;
    }
    cli_say("%s", error.message);
    fprintf(stderr, "See '%s%s%s --help'.\n", CLI_PROGRAM, command ? " " : "", command ? command : "");
    return CLI_EXIT_USAGE;
}

int cli_failure(bool json, const char *subject, const tw_error *error)
{
    if (json)
        print_json(subject, tw_status_name(error->status), error);
    else if (subject)
        cli_say("%s: %s", subject, error->message);
    else
        cli_say("%s", error->message);
    return CLI_EXIT_FAILURE;
}
