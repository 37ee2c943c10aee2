/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

static json_t *error_object(const char *status, const tw_error *error)
{
    return json_pack("{s:s, s:o, s:o, s:o}", "status", status, "function", place(error->function, TW_NO_FUNCTION),
                     "offset", place(error->offset, TW_NO_OFFSET), "message", cli_json_text(error->message));
}

json_t *cli_json_error(const tw_error *error)
{
    return error_object(tw_status_name(error->status), error);
}

/* " in function 3 at 0x2f", as far as it is known and not in the message already. */
static void write_place(char *text, size_t room, const tw_error *error)
{
    char offset[32];
    size_t used = 0;
    text[0] = 0;
    if (error->function != TW_NO_FUNCTION && !strstr(error->message, "function "))
        used = (size_t)snprintf(text, room, " in function %u", (unsigned)error->function);
    if (error->offset == TW_NO_OFFSET) return;
    snprintf(offset, sizeof offset, "0x%llx", (unsigned long long)error->offset);
    if (!strstr(error->message, offset)) snprintf(text + used, room - used, " at %s", offset);
}

int cli_usage_error(bool json, const char *command, const char *format, ...)
{
    tw_error error = {.function = TW_NO_FUNCTION, .offset = TW_NO_OFFSET};
    va_list args;
    va_start(args, format);
    vsnprintf(error.message, sizeof error.message, format, args);
    va_end(args);
    if (json) {
        cli_print_json(json_pack("{s:o}", "error", error_object("usage", &error)));
        return CLI_EXIT_USAGE;
    }
    cli_say("%s", error.message);
    fprintf(stderr, "See '%s%s%s --help'.\n", CLI_PROGRAM, command ? " " : "", command ? command : "");
    return CLI_EXIT_USAGE;
}

int cli_failure(bool json, const char *subject, const tw_error *error)
{
    char where[64];
    write_place(where, sizeof where, error);
    if (json && subject)
        cli_print_json(json_pack("{s:o, s:o}", "module", cli_json_text(subject), "error", cli_json_error(error)));
    else if (json) cli_print_json(json_pack("{s:o}", "error", cli_json_error(error)));
    else if (subject) cli_say("%s: %s%s", subject, error->message, where);
    else cli_say("%s%s", error->message, where);
    return CLI_EXIT_FAILURE;
}
